"""Reviews in files: lines, headers, thresholds, and the readers of games that meet them."""

from __future__ import annotations

from pathlib import Path

import pytest

from sim.generator import generate
from sim.replay import events_of
from tests.support.paths import DATA
from tests.support.recorded import record_of
from vindibot.games.files.game_files import read_game_file, read_records
from vindibot.games.files.recording import read_recording
from vindibot.games.files.review import (
    BotLosses,
    Losses,
    MoveValue,
    ReviewedTurn,
    ReviewError,
    ReviewHeader,
    Thresholds,
    losses_by_bot,
    parse_review,
    read_review,
    write_review_line,
)
from vindibot.games.game_record import dumps
from vindibot.games.history import GameHistory

SAMPLE = DATA / "reviewed.review.jsonl"
HEADER = ReviewHeader(game="g", heroes=(1,), bot="strong", nodes=1000)
GOLD = 10.0, 20.0, 30.0, 40.0


def turn(
    number: int, loss: float, error: float = 0.1, hero: int = 1, kind: str = "stalled", choice: tuple[str, ...] = ()
) -> ReviewedTurn:
    """Return a reviewed turn on which North was best and Stay was played."""
    values = tuple(
        MoveValue(move=move, gold=GOLD, gold_error=GOLD, less=less, less_error=error)
        for move, less in (("Stay", loss), ("North", 0.0))
    )
    return ReviewedTurn(
        turn=number, hero=hero, move="Stay", best="North", loss=loss, loss_error=error, kind=kind, choice=choice, values=values
    )


def numbered(*lines: ReviewHeader | ReviewedTurn) -> list[tuple[int, bytes]]:
    return list(enumerate(map(write_review_line, lines), 1))


def test_a_review_is_read_as_it_was_written() -> None:
    (review,) = parse_review(numbered(HEADER, turn(4, 6), turn(0, 30)), "file")
    assert review.header == HEADER
    assert [(one.turn, one.mark, one.counts) for one in review.turns] == [(0, "blunder", True), (4, "inaccuracy", True)]
    assert [one.turn for one in review.worst(1)] == [0]
    assert review.at(4) == review.turns[1]
    assert review.at(8) is None
    assert review.of(1) == ()
    assert review.turns[0].value("North").less == 0
    with pytest.raises(KeyError):
        review.turns[0].value("East")


def test_the_last_header_counts_and_gives_the_classes() -> None:
    later = HEADER.model_copy(update={"heroes": (1, 2), "thresholds": Thresholds(inaccuracy=7, mistake=8, blunder=9)})
    (review,) = parse_review(numbered(HEADER, turn(0, 6), turn(4, 8.5), later, turn(1, 30, hero=2)), "file")
    assert review.header.heroes == (1, 2)
    assert [one.mark for one in review.turns] == ["", "blunder", "mistake"]


@pytest.mark.parametrize(
    ("loss", "error", "choice", "mark"),
    [
        (30, 11, (), ""),
        (30, 10, (), "blunder"),
        (4.9, 0, (), ""),
        (5, 0, (), "inaccuracy"),
        (0, 0, (), ""),
        (30, 1, ("Stay",), ""),
    ],
)
def test_a_loss_counts_if_it_is_large_and_certain_and_no_choice_of_the_reviewer(
    loss: float, error: float, choice: tuple[str, ...], mark: str
) -> None:
    assert Thresholds().mark_of(turn(0, loss, error, choice=choice)) == mark


def test_faulty_lines_have_a_place() -> None:
    lines = numbered(HEADER, turn(0, 6), turn(4, 6))
    lines[-1] = 3, lines[-1][1][:50]
    with pytest.raises(ReviewError, match="file, line 3: this is no JSON"):
        parse_review(lines, "file")
    with pytest.raises(ReviewError, match="file, line 1: a reviewed turn comes before the header"):
        parse_review(numbered(turn(0, 6)), "file")


def test_a_recording_and_its_history_have_their_review() -> None:
    recording = read_recording(SAMPLE)
    assert recording.outcome is not None
    assert recording.review is not None
    history = GameHistory.of(recording)
    assert history.review == recording.review == read_review(SAMPLE)
    assert len(recording.review.turns) == len(recording.turns)
    assert read_review(SAMPLE, "another") is None
    for one in recording.review.turns:
        games = history.state(history.at_turn(one.turn))
        for move, line in ((one.best, one.best_line), (one.move, one.played_line)):
            assert ".NSEW".index(line[0]) == ("Stay", "North", "South", "East", "West").index(move)
            assert len(events_of(games, [".NSEW".index(letter) for letter in line])[1]) == len(line), "the rules allow all plies"


def test_records_with_reviews_are_read_as_records(tmp_path: Path) -> None:
    path = tmp_path / "games.jsonl"
    record = record_of(generate(3, size=10), [0, 1, 2, 3, 4] * 4)
    path.write_bytes(b"\n".join([dumps(record), write_review_line(HEADER.model_copy(update={"game": record.id})), b""]))
    assert list(read_records(path)) == [record]
    assert read_game_file(path) == record
    history = GameHistory.read(path)
    assert history.review is not None
    assert history.review.turns == ()


def test_losses_are_counted_by_kind_class_and_phase() -> None:
    (review,) = parse_review(numbered(HEADER, turn(0, 6), turn(4, 2), turn(40, 30, kind=""), turn(100, 14)), "file")
    losses = Losses.of(review.turns, 120)
    assert losses.moves == 4
    assert losses.gold == 50
    assert losses.per_move() == 12.5
    assert losses.per_move("stalled") == 5
    assert losses.kinds["other"] == 30
    assert losses.marks == {"inaccuracy": 1, "mistake": 1, "blunder": 1}
    assert losses.phases == [(2, 6.0), (1, 30.0), (1, 14.0)]


def test_intervals_come_from_blocks() -> None:
    (review,) = parse_review(numbered(HEADER, turn(0, 6), turn(1, 30, hero=2)), "file")
    names = "a", "b", "a", "c"
    bots = losses_by_bot([(block, names, review.turns, 120) for block in (0, 0, 1)])
    assert list(bots) == ["a", "b"], "the smallest losses first"
    assert bots["a"].total.moves == 3
    assert bots["a"].interval() is None, "two blocks are too few"
    same = BotLosses({block: Losses.of(review.turns[:1], 120) for block in range(5)})
    low, high = same.interval() or (0, 0)
    assert 0 < low < 6 < high < 20, "equal blocks give an interval with a width"
    mixed = BotLosses({**same.blocks, 5: Losses.of(review.turns[1:], 120)})
    low, high = mixed.interval() or (0, 0)
    assert low < mixed.total.per_move() < high
