"""Views from drawn boards and recorded turns, as the tests of traits use them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from pydantic import Field

from behaviours import RECENT_TURNS, Answer, Behaviour, View, VoteError, Votes
from sim.board import BoardError, draw, parse
from sim.game import NORTH, STAY, WEST, equal
from sim.rules import step
from tests.support.recorded import record, states_of
from vindibot.games.files.recording import RecordingError
from vindibot.testing import favourites, view, votes

BOARD = """
    |  @1@2|
    |  ##  |
    |    $-|
"""


class Coward(Behaviour):
    """Step away from enemies next to us."""

    fear: float = Field(1.0, ge=0, le=10)

    def vote(self, view: View) -> Votes:
        return {move: -self.fear * len(view.enemies_beside(view.landing(move))) for move in view.moves}


class Counting(Behaviour):
    """An anytime trait that votes for one direction after the other, `last` of them, or for ever."""

    last: int = 3

    def vote(self, view: View) -> Iterator[Votes]:
        number = 0
        while number != self.last:
            yield number % 5
            number += 1


class Silent(Behaviour):
    """No opinion, or an answer that is none."""

    wrong: bool = False

    def vote(self, view: View) -> Answer:
        return "north" if self.wrong else None  # type: ignore[return-value]


def test_what_traits_say() -> None:
    here = view(BOARD)
    assert here.moves == (STAY, WEST)
    assert favourites(Coward(), here) == {WEST}
    assert votes(Coward(fear=2), here).tolist() == [-2, 0, 0, 0, 0]
    assert votes(Counting(), here).tolist() == [0, 0, 1, 0, 0]
    assert votes(Counting(last=-1), here) is not None
    assert votes(Counting(last=0), here) is None
    # South is a wall: votes for it do not make it a favourite.
    assert favourites(Counting(), here) == {STAY, WEST}
    assert votes(Silent(), here) is None
    assert favourites(Silent(), here) == set()
    with pytest.raises(VoteError):
        votes(Silent(wrong=True), here)


def test_the_turn_is_moved_on_until_it_is_ours() -> None:
    assert (view(BOARD).me, view(BOARD).turn) == (0, 0)
    assert (view(BOARD, me=1).me, view(BOARD, me=1).turn) == (1, 1)
    late = BOARD + "turn 41 of 400\n@2 life 7"
    assert (view(late).me, view(late).turn, view(late).life) == (1, 41, 7)
    assert (view(late, me=0).me, view(late, me=0).turn, view(late, me=0).life) == (0, 44, 100)
    assert (view(BOARD, turn=17).me, view(BOARD, 17).turn) == (1, 17)
    assert view(BOARD, turn=16, me=0).moves_left == 296
    # Heroes who are not drawn are passed over.
    assert (view(BOARD + "turn 2").me, view(BOARD + "turn 2").turn) == (0, 4)


def test_what_cannot_be_is_refused() -> None:
    with pytest.raises(ValueError, match="on turn 17, hero 2 moves, not hero 1"):
        view(BOARD, turn=17, me=0)
    with pytest.raises(ValueError, match=r"no hero with the index 2 \(@3\)"):
        view(BOARD, me=2)
    with pytest.raises(ValueError, match="no hero that can move"):
        view(BOARD, turn=18)
    with pytest.raises(ValueError, match="past the end"):
        view(BOARD + "turn 1199 of 1200", me=0)
    with pytest.raises(BoardError):
        view("@1?!")


def test_a_game_is_copied_and_seen_as_it_is() -> None:
    games = parse(BOARD)
    here = view(games, me=1, seed=7, nodes=None)
    assert (here.turn, games[0]["turn"]) == (1, 0)
    assert (here.seed, here.budget.nodes) == (7, None)
    assert view(draw(games)).budget.nodes == 10_000


def test_the_history_of_a_drawn_board() -> None:
    here = view(BOARD, turn=20, recent=[BOARD, "|@1  @2|\n|  ##  |\n|    $-|"])
    assert here.recent["turn"].tolist() == [12, 16]
    assert here.recent[1]["hero"][0]["pos"] != here.pos


def test_a_recorded_turn(tmp_path: Path) -> None:
    states = states_of(4)
    recording = record(tmp_path, states, 3)
    for source in (recording, recording.path, str(recording.path)):
        here = view(source, turn=42)
        assert (here.me, here.turn, here.seed) == (2, 42, recording.header.seed)
        assert equal(here.games, states[42])
        assert equal(here.recent, np.concatenate(states[2:42:4][-RECENT_TURNS:]))
    step(here.games, 0, NORTH)
    assert equal(view(recording, 42).games, states[42])
    assert view(recording, 42, me=2, seed=5).seed == 5
    for arguments, message in [
        ({}, "a recording needs a turn"),
        ({"turn": 42, "me": 1}, "is of hero 3"),
        ({"turn": 42, "recent": [BOARD]}, "its own history"),
    ]:
        with pytest.raises(ValueError, match=message):
            view(recording, **arguments)
    with pytest.raises(RecordingError, match="nearest are 38 and 42"):
        view(recording, 40)
