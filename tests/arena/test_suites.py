"""Suites of positions: the file, the games that begin in a position, the shipped suites, and the command."""

from __future__ import annotations

from collections import Counter
from itertools import pairwise
from pathlib import Path

import pytest

from sim.board import draw
from sim.game import equal
from tests.support.arenabots import line_bot, schedule, web_bot
from tests.support.commands import invoke
from tests.support.recorded import states_of
from vindibot.arena.games import play_task
from vindibot.arena.results import read_results
from vindibot.arena.schedule import Schedule
from vindibot.arena.suites import SuitePosition, read_suite, write_suite
from vindibot.base.errors import UsageError
from vindibot.games import game_record
from vindibot.games.files.game_files import read_records
from vindibot.games.history import GameHistory
from vindibot.games.position import moves_between

SHIPPED = ("standard", "standard-end")


def position(number: int, turn: int = 12, **changes: object) -> SuitePosition:
    games = states_of(number, plies=60)[turn]
    values = {"id": f"p{number}", "size": int(games["size"].item(0)), "gold": (1, 2, 3, 4), "start": draw(games)}
    return SuitePosition.model_validate(values | changes)


@pytest.fixture
def suite(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "mine.jsonl"
    write_suite(path, [position(1), position(2)])
    return path


def with_suite(suite: Path, *bots: str, **settings: object) -> Schedule:
    plain = schedule(*bots, **settings)
    return Schedule(plain.settings, plain.entrants, plain.maps, plain.seed, read_suite(str(suite)))


def test_a_block_is_a_position_with_all_seatings(suite: Path) -> None:
    found = with_suite(suite, "stay", "random", format="ab", blocks=3, rounds=5)
    tasks = list(found.tasks())
    assert [task.block for task in tasks] == [0] * 6 + [1] * 6 + [2] * 6
    assert [task.map_name for task in tasks[::6]] == ["p1", "p2", "p1"], "after the last position comes the first"
    assert len({task.seed for task in tasks}) == 18
    assert Counter(tuple(seat.entrant.label for seat in task.seats) for task in tasks[:6]).most_common()[0][1] == 1
    before = states_of(1, plies=60)[12]
    played = play_task(tasks[0])
    history = GameHistory.of(game_record.loads(played.record))
    first = before.copy()
    first["max_turns"] = 12 + 4 * 5
    assert equal(history.first, first)
    assert (len(history), played.line.plies, played.line.rounds) == (20, 20, 5)
    assert played.line.map.name == "p1"
    assert found.digest() != schedule("stay", "random", format="ab", blocks=3, rounds=5).digest()


@pytest.mark.parametrize("bot", [line_bot(), web_bot()])
def test_programs_play_from_a_position(suite: Path, bot: str) -> None:
    task = next(with_suite(suite, bot, "stay", format="ab", rounds=3).tasks())
    played = play_task(task)
    assert played.line.plies == 12
    assert not played.line.has_forfeits, played.line.seats
    assert GameHistory.of(game_record.loads(played.record)).turn(0) == 12


def test_the_command_plays_and_resumes(suite: Path) -> None:
    words = ["--match", "stay", "random", "--positions", suite.name, "--rounds", "5", "--seed", "1"]
    elsewhere = suite.parent / "elsewhere"
    elsewhere.mkdir()
    for folder, command in (
        (suite.parent, [*words, "--results", "cup.jsonl", "--no-report", "--blocks", "1"]),
        (elsewhere, ["--resume", "../cup.jsonl"]),
        (suite.parent, [*words, "--resume", "cup.jsonl", "--no-report", "--blocks", "2"]),
    ):
        code, printed = invoke(folder, "arena", *command)
        assert code == 0, printed
    lines = read_results(suite.parent / "cup.jsonl")
    assert Counter(line.map.name for line in lines) == {"p1": 6, "p2": 6}
    assert {record.max_turns for record in read_records(suite.parent / "cup.games.jsonl")} == {32}


def test_suites_that_cannot_be_used_are_refused(suite: Path) -> None:
    def refused(*words: str) -> str:
        code, printed = invoke(suite.parent, "arena", "--match", "stay", "random", "--blocks", "1", "--no-report", *words)
        assert code == 2, printed
        return printed

    assert "a suite that comes with vindibot: standard, standard-end" in refused("--positions", "nowhere")
    for option, value in (("--map", "m1"), ("--size", "10")):
        assert "does not go with a suite of positions" in refused("--positions", suite.name, option, value)
    for content, message in (
        ("{}\n", "line 1: this is no position of a suite"),
        ("", "there is no position in it"),
        (2 * (position(1).model_dump_json() + "\n"), "line 2: the position p1 is there twice"),
        (position(1, turn=13).model_dump_json(), "is at the start of a round, and turn 13 is not"),
        (position(1, turn=60).model_dump_json(), "the game is over"),
        (position(1, start="@1  \n    ").model_dump_json(), "a hero is missing"),
        (position(1, start="what").model_dump_json(), "start: "),
    ):
        suite.write_text(content)
        assert message in refused("--positions", suite.name)


def test_a_suite_replaces_only_suites(tmp_path: Path) -> None:
    path = tmp_path / "notes.jsonl"
    path.write_text("mine\n")
    with pytest.raises(UsageError, match=r"notes\.jsonl"):
        write_suite(path, [position(1)])
    assert path.read_text() == "mine\n"


def test_a_position_may_have_a_history(suite: Path) -> None:
    states = states_of(1, plies=60)
    found = [moves_between(one, two) for one, two in pairwise(states[8:13])]
    moves = [move for moves, _ in filter(None, found) for move in moves]
    write_suite(suite, [position(1, 8, moves=moves)])
    task = next(iter(with_suite(suite, "stay", "random", rounds=5).tasks()))
    record = game_record.loads(play_task(task).record)
    history = GameHistory.of(record)
    assert record.moves[:4] == tuple(moves)
    assert (history.state(4)["hero"] == states[12]["hero"]).all()
    assert (len(history), record.max_turns) == (24, 12 + 4 * 5)


def test_the_shipped_suites_have_all_phases_and_sizes_and_share_no_game() -> None:
    suites = [read_suite(name) for name in SHIPPED]
    games = [{position.source.rpartition(",")[0] for position in suite.positions} for suite in suites]
    assert not games[0] & games[1]
    for suite in suites:
        assert len({position.start for position in suite.positions}) == len(suite.positions) >= 30
        assert {position.phase for position in suite.positions} == {"first third", "second third", "last third"}
        assert {position.size for position in suite.positions} == set(range(10, 29, 2))
        assert all(max(position.gold) - min(position.gold) <= 60 for position in suite.positions)
