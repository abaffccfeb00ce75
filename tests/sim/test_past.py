"""The past of a game that a player counts from the states on its own turns, against the events of all plies."""

from __future__ import annotations

import numpy as np
from hypothesis import assume, example, given, settings, strategies as st

from sim import events
from sim.game import GAME, MINE, RUNNING, TAVERN, Games, copy_of
from sim.generator import generate
from sim.past import NOBODY, PAST, Past, no_past, observe, past_of
from sim.replay import events_of
from sim.rules import step
from tests.support.worlds import odd_games

AROUND = (-32, 1, 32, -1)


def owners(games: Games) -> dict[int, int]:
    """The owner of each mine: 0..3, or `NOBODY`."""
    tiles = games["cell"][0] & 15
    owner = {square: int(tiles[square]) - MINE - 1 for square in np.flatnonzero(tiles >= MINE).tolist()}
    return {square: hero if 0 <= hero < 4 else NOBODY for square, hero in owner.items()}


def counted(first: Games, moves: list[int], me: int) -> tuple[Past, list[Games]]:
    """Count in plain Python, ply by ply, what happens between the first and the last turn of `me`. Return the states too."""
    games, past, seen = copy_of(first), no_past(), list[Games]()
    one, until = past[0], no_past()
    before: dict[int, int] = {}

    def pass_on(square: int, old: int, new: int) -> None:
        if old != NOBODY:
            before[square] = old
            one["before"][square] = old + 1
            one["changes"][square] += new != NOBODY
        one["held"][square] = 0

    for move in moves:
        if games[0]["status"] != RUNNING:
            break
        if int(games[0]["turn"]) % 4 == me:
            if seen:
                one["rounds"] += 1
                for square, owner in owners(games).items():
                    one["owned"][square] += owner != NOBODY
                    one["held"][square] = one["held"][square] + 1 if owner != NOBODY else 0
                for hero in range(4):
                    pos = int(games[0]["hero"][hero]["pos"])
                    one["near_tavern"][hero] += any(int(games[0]["cell"][pos + way]) & 15 == TAVERN for way in AROUND)
            seen.append(copy_of(games))
            until = past.copy()
        found, _ = events_of(games, [move])
        was = owners(games)
        step(games, 0, move)
        if not seen:
            continue
        for event in found:
            hero, other, square = int(event["hero"]), int(event["other"]), int(event["square"])
            match int(event["kind"]):
                case events.DRANK:
                    one["beers"][hero] += 1
                case events.STRUCK:
                    one["blows"][hero, other] += 1
                case events.KILLED | events.KILLED_ON_SPAWN:
                    one["kills"][hero, other] += 1
                case events.RESPAWNED:
                    one["deaths"][hero] += 1
                case events.TOOK_MINE:
                    one["taken"][hero, other if other >= 0 else NOBODY] += 1
                    one["takes"][hero, square] += 1
                    one["retaken"][hero, other] += other >= 0 and before.get(square) == hero
                    pass_on(square, was[square], hero)
                    was[square] = hero
        for square, owner in owners(games).items():
            if owner != was[square]:
                pass_on(square, was[square], owner)
    return until, seen


def equal(one: Past, other: Past) -> None:
    for name in PAST.names or ():
        np.testing.assert_array_equal(one[name], other[name], name)


@settings(max_examples=12, deadline=None)
@example(1406, 2, 8)
@example(2405, 1, 8)
@given(st.integers(0, 2**32), st.integers(0, 3), st.sampled_from([8, 10]))
def test_a_player_counts_what_happened(seed: int, me: int, size: int) -> None:
    """In the examples, a mine has three owners in one ply: its taker kills a hero on whose spawn it stands, and dies there."""
    moves = np.random.default_rng(seed).integers(0, 5, 300).tolist()
    expected, seen = counted(generate(seed, size=size, walls=10, mines=9).new_game(), moves, me)
    found = past_of(np.concatenate(seen))
    assert found["unclear"][0] == 0
    assume(expected["taken"].sum() > 0)
    equal(found, expected)


@settings(max_examples=40, deadline=None)
@given(odd_games(), st.lists(st.integers(0, 4), max_size=40), st.integers(0, 3))
def test_on_odd_boards_nothing_is_counted_twice(first: Games, moves: list[int], me: int) -> None:
    first[0]["status"] = RUNNING
    expected, seen = counted(first, moves, me)
    found = past_of(np.concatenate([np.zeros(0, GAME), *seen]))
    if found["unclear"][0] == 0:
        equal(found, expected)


def test_missing_turns_are_counted_as_unclear() -> None:
    moves = np.random.default_rng(5).integers(0, 5, 400).tolist()
    _, seen = counted(generate(5, size=8, walls=10, mines=9).new_game(), moves, 0)
    found = past_of(np.concatenate([seen[10], seen[13], seen[14]]))
    assert (found["rounds"][0], found["unclear"][0]) == (4, 1)


def test_the_states_stay_as_they_are() -> None:
    moves = np.random.default_rng(6).integers(0, 5, 40).tolist()
    _, seen = counted(generate(6, size=8).new_game(), moves, 1)
    states = np.concatenate(seen)
    before = states.tobytes()
    observe(no_past(), states, 0, states, 1)
    assert states.tobytes() == before
