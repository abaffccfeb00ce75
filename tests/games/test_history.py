"""Histories of games: the same states, moves and events, wherever a game comes from and however it is read."""

from __future__ import annotations

import random
import re
from itertools import pairwise
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from behaviours.base import SearchInfo
from behaviours.notes import Note
from sim.board import draw
from sim.events import CRASHED
from sim.game import ALL_CRASHED, CRASH, NO_DIRECTION, NORTH, RUNNING, STAY, Games, equal, square
from sim.generator import generate
from sim.rules import step
from tests.support.recorded import HEADER, NAMES_OF_FOUR, PLAYERS, raw, record, record_of, states_of
from tests.support.reviewed import HISTORY, REVIEW, TURNS, WORST
from vindibot.games.ballot import Ballot, BallotEntry
from vindibot.games.files.recording import Recorder, read_recording
from vindibot.games.files.review import Review
from vindibot.games.game_record import dumps, loads
from vindibot.games.history import GameHistory, Player
from vindibot.games.notes import GameNote
from vindibot.games.position import moves_between
from vindibot.games.protocol import read_game


def moves_in(states: list[Games]) -> list[int]:
    found = [moves_between(one, two) for one, two in pairwise(states)]
    return [moves[0] for moves, _ in filter(None, found)]


def seen(states: list[Games], numbers: list[int]) -> GameHistory:
    history = GameHistory("abcd1234", PLAYERS)
    for number in numbers:
        history.append(states[number])
    return history


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 2**32), st.sampled_from([0.0, 0.02]), st.booleans())
def test_all_sources_give_the_same_states(seed: int, crashes: float, training: bool) -> None:
    states = states_of(seed, 80, crashes, training=training)
    moves = moves_in(states)
    at_once, step_by_step = GameHistory(first=states[0]), GameHistory(first=states[0])
    assert at_once.play_all(moves) == len(moves)
    assert all(map(step_by_step.play, moves))
    every = seen(states, list(range(len(states))))
    some = seen(states, [*range(0, len(states) - 1, 4), len(states) - 1])
    for history in (at_once, step_by_step, every, some):
        assert len(history) == len(moves) == len(states) - 1
        assert history.moves == moves
        assert not history.gaps
        assert equal(history.first, states[0])
        assert equal(history.last, states[-1])
        assert all(map(equal, history.states(), states))
        assert [history.turn(number) for number in range(len(states))] == [int(state[0]["turn"]) for state in states]
        for ply, (before, after) in zip(history, pairwise(states), strict=True):
            assert equal(ply.before, before)
            assert equal(ply.after, after)
            assert (ply.mover, ply.move) == (int(before[0]["turn"]) % 4, moves[ply.number])


def test_states_are_read_in_any_order_and_are_copies() -> None:
    states = states_of(5, 120)
    history = seen(states, [*range(1, 60, 4), *range(77, 120, 4)])
    numbers = list(range(len(history) + 1))
    random.Random(1).shuffle(numbers)
    for number in numbers:
        games = history.state(number)
        assert equal(games, states[history.turn(number)])
        games[0]["turn"] = 999
    assert equal(history.state(-1), states[117])
    assert equal(history[-1].after, states[117])
    assert equal(history[0].before, states[0])
    assert [int(games[0]["turn"]) for games in history.states(every=20)][:3] == [0, 20, 40]
    for number in (len(history) + 1, -len(history) - 2):
        with pytest.raises(IndexError):
            history.state(number)
    with pytest.raises(IndexError):
        history[len(history)]


def test_a_gap_is_a_ply_without_a_move() -> None:
    states = states_of(5, 120)
    history = seen(states, [0, 4, 20, 24])
    assert history.gaps == [4]
    gap = history[4]
    assert (gap.gap, gap.mover, gap.move, gap.turn, len(gap.events)) == (True, None, None, 20, 0)
    assert equal(gap.before, states[4])
    assert equal(gap.after, states[20])
    assert history.moves == [*moves_in(states)[:4], NO_DIRECTION, *moves_in(states)[20:24]]
    assert [history.at_turn(turn) for turn in (3, 4, 5, 20, 21, 99)] == [3, 4, 5, 5, 6, 9]
    assert "turns 0 to 24, 9 plies, 1 of them lost" in repr(history)


@pytest.mark.parametrize("numbers", [list(range(101)), [0, 3, 7, 40, 44, 90, 94]])
def test_the_events_of_all_plies(numbers: list[int]) -> None:
    states = states_of(7, 100, 0.01)
    history = seen(states, [number for number in numbers if number < len(states)])
    found, ends = history.events()
    assert len(ends) == len(history)
    assert ends.tolist() == np.cumsum([len(ply.events) for ply in history]).tolist()
    assert found.tobytes() == b"".join(ply.events.tobytes() for ply in history)
    assert len(found) > 5


def test_a_crash_ends_a_game_of_unknown_mode() -> None:
    states = states_of(3, 40, training=True)[:8]
    last = states[-1].copy()
    step(last, 0, CRASH)
    assert last[0]["status"] == ALL_CRASHED
    history = GameHistory()
    for state in [*states[3:], last]:
        history.append(read_game(raw(state)))
    assert history.moves[-1] == CRASH
    assert (history.turn(-2), history.turn(-1)) == (7, 7)
    assert history.last[0]["status"] == ALL_CRASHED
    assert equal(history[-1].after, history.last)
    assert history[-1].events["kind"].tolist() == [CRASHED]
    assert history.state(-2)[0]["status"] == RUNNING
    assert history.names == tuple(player.name for player in PLAYERS)


def test_a_history_can_grow_while_it_is_read() -> None:
    history = GameHistory(first=generate(1, size=8).new_game(40))
    history.play_all([1, 2])
    turns = []
    for ply in history.plies(1):
        turns.append(ply.turn)
        history.play(0)
    assert turns == list(range(2, 41))
    assert not history.play(0)
    assert history.play_all([0, 1]) == 0


def test_numbers_that_are_no_moves() -> None:
    history = GameHistory(first=generate(1, size=8).new_game(40))
    assert history.play_all([1, 7, 2]) == 1
    assert history.play(7)
    assert history.moves == [1, 0]


def test_the_text_of_a_history() -> None:
    nothing = GameHistory("x")
    assert not nothing
    assert (len(nothing), nothing.at_turn(3), nothing.gaps, list(nothing)) == (0, 0, [], [])
    assert repr(nothing) == str(nothing) == "<GameHistory x: no states>"
    with pytest.raises(IndexError):
        nothing.first  # noqa: B018
    record = record_of(generate(1, size=8), [1, 2, CRASH, 0])
    history = GameHistory.of(record)
    assert history.players == tuple(Player(name) for name in NAMES_OF_FOUR)
    assert repr(history).startswith("<GameHistory abcd1234: turns 0 to 4, 4 plies; @1 seed 0, @2 ")
    assert repr(history).endswith("; ended: interrupted>")
    assert str(history) == draw(history.last)


def test_a_notebook_shows_the_board_and_the_gold(tmp_path: Path) -> None:
    history = GameHistory.of(record(tmp_path, states_of(2), 1))
    shown = history._repr_html_()
    board, curves = re.findall(r"<svg.*?</svg>", shown, re.DOTALL)
    assert "turn 120 of 120" in board
    lines = [line.get("points", "").split() for line in ElementTree.fromstring(curves).iter("polyline")]
    assert [len(points) for points in lines] == [121] * 4
    highest = [min(float(point.split(",")[1]) for point in points) for points in lines]
    gold = history.last["hero"]["gold"][0].tolist()
    assert min(range(4), key=lambda hero: highest[hero]) == gold.index(max(gold))
    assert "&lt;GameHistory abcd1234" in shown
    assert GameHistory("<b>")._repr_html_() == "&lt;GameHistory &lt;b&gt;: no states&gt;"


def test_a_notebook_shows_a_review() -> None:
    shown = REVIEW._repr_html_()
    assert f"{len(TURNS)} turns, {len(WORST)} bad moves" in shown
    losses = [float(loss) for loss in re.findall(r"<td>([\d.]+) ± [\d.]+</td>", shown)]
    assert losses == [round(one.loss, 1) for one in WORST[:10]]
    assert shown.count("<polyline") == 4
    assert shown in HISTORY._repr_html_()
    assert "<svg" not in Review(REVIEW.header)._repr_html_()


def test_what_heroes_said_belongs_to_their_turn_wherever_it_was_stored(tmp_path: Path) -> None:
    info = SearchInfo((0, 1, 0, 0, 0), 3, 1.5, 700, (NORTH, STAY), square(2, 3))
    entry = BallotEntry("search", 1, [0, 1, 0, 0, 0], 2.5, info=info, notes=(Note("a mine", square(1, 2)), Note("all")))
    with Recorder(tmp_path, HEADER.model_copy(update={"hero": 2})) as recorder:
        recorder.turn(raw(states_of(5, 40)[5]), Ballot([entry]))
    assert recorder.path is not None
    recording = read_recording(recorder.path)
    assert recording.turns[0].ballot.entries == [entry]
    notes = [GameNote(5, 2, "search", "a mine", (1, 2)), GameNote(5, 2, "search", "all")]
    assert GameHistory.of(recording).notes == {(0, 1): notes}
    record = loads(dumps(record_of(generate(1, size=8), [0] * 8, notes=tuple(notes))))
    assert GameHistory.of(record).notes == {(5, 1): notes}
