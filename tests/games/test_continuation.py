"""Turns from which games go on: saved answers and streams of events, openings, and turns that do not exist."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from sim.game import Games, equal
from sim.generator import generate
from tests.support.recorded import raw, record, record_of, states_of
from vindibot.base.errors import UsageError
from vindibot.games import game_record
from vindibot.games.files.game_files import kind_of
from vindibot.games.files.recorded_turn import Continuation
from vindibot.games.history import GameHistory
from vindibot.viewer.events import event


def answer(games: Games, hero: int) -> dict[str, Any]:
    """Return the answer of a server to the player of `hero` (1..4)."""
    game = raw(games)
    return {"game": game, "hero": game["heroes"][hero - 1], "token": "s3cret", "viewUrl": "", "playUrl": ""}


def stream(states: list[Games]) -> bytes:
    """Return the text of the stream ``/events/GAME`` of our server, which has no state before the first ply."""
    return b"".join(event(int(one["turn"].item(0)), json.dumps(raw(one)).encode()) for one in states[1:])


@pytest.fixture
def states() -> list[Games]:
    return states_of(4, plies=40)


@pytest.mark.parametrize("whole", [True, False])
def test_a_saved_answer_is_read(tmp_path: Path, states: list[Games], whole: bool) -> None:
    path = tmp_path / "state.json"
    path.write_text(json.dumps(answer(states[13], 2), indent=2) if whole else json.dumps(raw(states[13])))
    assert kind_of(path) == "states"
    start = Continuation.read(path, None)
    assert (start.turn, start.hero, start.rounds) == (13, 1, 7)
    assert start.gold is None
    assert equal(start.first(), states[13])
    assert Continuation.read(path, 13, hero=3).hero == 3
    with pytest.raises(UsageError, match="there is no turn 12: the file has only turn 13"):
        Continuation.read(path, 12)


LAYOUTS = {
    "as our server sends it": stream,
    "as the original server sent it": lambda states: b"".join(
        b"data: %b\n\n" % json.dumps(raw(one)).encode() for one in states[1:]
    ),
    "with comments and another line end": lambda states: b": hello\r\nretry: 10\r\n\r\n" + stream(states).replace(b"\n", b"\r\n"),
    "a state per line": lambda states: b"".join(json.dumps(raw(one)).encode() + b"\n" for one in states),
    "an answer per line": lambda states: b"".join(json.dumps(answer(one, 3)).encode() + b"\n" for one in states),
    "a list": lambda states: json.dumps([raw(one) for one in states], indent=1).encode(),
    "received twice": lambda states: stream(states[:20]) + stream(states),
}


@pytest.mark.parametrize("layout", LAYOUTS)
def test_a_saved_stream_of_events_is_read(tmp_path: Path, states: list[Games], layout: str) -> None:
    path = tmp_path / "events.txt"
    path.write_bytes(LAYOUTS[layout](states))
    start = Continuation.read(path, 21)
    assert equal(start.first(), states[21])
    assert not start.history.gaps
    assert start.hero == (2 if layout == "an answer per line" else 1)
    assert start.gold == tuple(states[-1]["hero"]["gold"][0].tolist())
    assert [int(one["turn"].item(0)) for one in start.opening.turns_of(0)] == [0, 4, 8, 12, 16, 20]
    with pytest.raises(UsageError, match="choose a turn of the game with --turn: the file has the turns 0 to 40"):
        Continuation.read(path, None)


def test_a_file_with_states_of_several_games_needs_a_choice(tmp_path: Path, states: list[Games]) -> None:
    path = tmp_path / "events.txt"
    other = stream(states).replace(b"abcd1234", b"other123")
    path.write_bytes(stream(states) + other)
    with pytest.raises(UsageError, match=r"has states of 2 games: choose one with --game \(abcd1234, other123\)"):
        Continuation.read(path, 8)
    assert Continuation.read(path, 8, game="other123").history.id == "other123"
    with pytest.raises(UsageError, match="has no states of the game 'third'"):
        Continuation.read(path, 8, game="third")


def broken(states: list[Games], **changes: Any) -> bytes:
    return json.dumps(raw(states[3]) | changes).encode()


def test_a_file_without_a_game_or_with_a_faulty_one_is_refused(tmp_path: Path, states: list[Games]) -> None:
    path = tmp_path / "what.json"
    for content, message in (
        (b"hello\n", "this is no game"),
        (b"", "this is no game"),
        (b"id: 4\n\n", "there is no state of a game in it"),
        (b"data: {}\n\n", r"line 1: this is no state of a game"),
        (b"data: {\n\n", r"line 1: this is no state"),
        (broken(states, turn="3"), r"what\.json: turn: "),
        (broken(states, turn=50), r"turn 50: game\.turn: turn 50 of a game that ends with turn 40"),
        (broken(states, board={"size": 3, "tiles": "##"}), r"board"),
    ):
        path.write_bytes(content)
        with pytest.raises(UsageError, match=message):
            Continuation.read(path, 3)
    with pytest.raises(UsageError, match="cannot be read"):
        Continuation.read(tmp_path / "nothing.json", 3)
    (tmp_path / "x.gz").write_bytes(b"no gzip")
    with pytest.raises(UsageError, match="damaged"):
        Continuation.read(tmp_path / "x.gz", 3)


def test_turns_that_do_not_exist_are_refused(tmp_path: Path) -> None:
    states = states_of(4, plies=40)
    recording = record(tmp_path, states, 1, without=frozenset({12, 16}))
    with pytest.raises(UsageError, match="there is no turn 77: the file has the turns 0 to 40"):
        Continuation.read(recording.path, 77)
    with pytest.raises(UsageError, match="turn 14 is missing: the nearest turns are 8 and 20"):
        Continuation.read(recording.path, 14)
    with pytest.raises(UsageError, match="the game is over on turn 40"):
        Continuation.read(recording.path, 40)
    late = Continuation.read(recording.path, 24)
    assert late.hero == 0
    assert [int(one["turn"].item(0)) for one in late.opening.turns_of(0)] == [20], "what is before the gap is not known"


def test_a_crashed_hero_cannot_go_on(tmp_path: Path) -> None:
    moves = [1] * 5 + [5] + [0] * 10  # hero 2 crashes on turn 5
    path = tmp_path / "cup.games.jsonl"
    path.write_bytes(game_record.dumps(record_of(generate(3, size=10), moves)))
    with pytest.raises(UsageError, match="hero 2 has crashed before turn 9: --hero chooses another hero"):
        Continuation.read(path, 9)
    start = Continuation.read(path, 9, hero=2)
    assert start.others == (3, 0, 1)
    assert [start.crashed(hero) for hero in range(4)] == [False, True, False, False]


def test_an_opening_leads_to_each_state_of_a_game(tmp_path: Path) -> None:
    history = GameHistory.of(record(tmp_path, states_of(7, plies=80, crashes=0.02), 1))
    for number in range(0, len(history), 5):
        assert equal(history.position(number).last(), history.state(number))
