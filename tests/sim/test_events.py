"""The events that the rules list are those that a second implementation finds, in recorded and in random games."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from sim import events
from sim.board import parse
from sim.game import CRASH, EAST, RUNNING, STAY, Games, equal
from sim.generator import generate
from sim.replay import events_of, moves_of, play_moves
from sim.rules import step
from tests.support.oracle import MOVES, first_state, read_games
from tests.support.reference import Event, reference
from tests.support.worlds import ORACLE, SAMPLE, moves as any_moves, odd_games
from vindibot.games.protocol import ProtocolError


def listed(found: events.Events) -> list[Event]:
    return [(int(event["kind"]), *(int(event[name]) for name in ("hero", "other", "square", "to", "amount"))) for event in found]


def compare(start: Games, moves: list[int]) -> Counter[int]:
    """Every ply of a game compared; returns how many events of each kind there were."""
    first = start.copy()
    found, ends = events_of(start, moves)
    assert equal(start, first), "the game is left alone"
    kinds: Counter[int] = Counter()
    games, second, begin = start.copy(), reference(start), 0
    for move, end in zip(moves, ends.tolist(), strict=False):
        second.play(move)
        assert listed(found[begin:end]) == second.events
        kinds.update(event[0] for event in second.events)
        assert step(games, 0, move)
        begin = end
    assert len(ends) == len(moves) or games[0]["status"] != RUNNING
    assert begin == len(found)
    again = start.copy()
    assert play_moves(again, 0, moves_of(moves)) == len(ends)
    assert equal(again, games)
    return kinds


@pytest.mark.slow
@settings(max_examples=300, deadline=None)
@given(odd_games(), st.lists(any_moves, max_size=60))
def test_odd_games(games: Games, moves: list[int]) -> None:
    games[0]["status"] = RUNNING
    compare(games, moves)


@settings(max_examples=20, deadline=None)
@given(st.integers(0, 2**32), st.sampled_from([0.0, 0.01]), st.sampled_from([8, 12]))
def test_random_games(seed: int, crashes: float, size: int) -> None:
    rng = np.random.default_rng(seed)
    moves = np.where(rng.random(600) < crashes, CRASH, rng.integers(0, 5, 600)).tolist()
    kinds = compare(generate(seed, size=size).new_game(600), moves)
    assert kinds[events.MOVED] > (0 if crashes else 50)  # heroes that crash early move less


def recorded(name: str) -> Iterator[tuple[Games, list[int]]]:
    path = SAMPLE if name == "sample" else ORACLE / f"{name}.jsonl.gz"
    if not path.exists():
        pytest.skip("the games recorded from the original server are not here")
    for game in read_games(path):
        try:
            yield first_state(game), [MOVES[move] for move in game["moves"]]
        except ProtocolError:  # a board that is not square
            continue


@pytest.mark.parametrize("name", ["sample", "generated", "handmade", "scenario", "odd"])
def test_recorded_games(name: str) -> None:
    kinds: Counter[int] = Counter()
    for start, moves in recorded(name):
        kinds += compare(start, moves)
    if name == "sample":
        assert set(kinds) == set(range(len(events.KINDS)))


def test_plies_end_with_the_game_or_with_what_is_no_move() -> None:
    games = parse("@1    \n      \n      \nturn 0 of 100 training\n@1 life 70 gold 5 mines 0 spawn 0,0 last Stay\n")
    for moves, played in (([EAST, STAY, CRASH, STAY], 3), ([EAST, 6, STAY], 1), ([-1], 0), ([], 0)):
        found, ends = events_of(games, moves)
        assert len(ends) == played
        assert len(found) == (ends[-1] if played else 0)
        assert play_moves(games.copy(), 0, moves_of(moves)) == played
