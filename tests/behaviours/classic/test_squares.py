"""The traits that judge squares: spawn avoider, trap avoidance, movement premium; and random."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given, settings

from behaviours.classic.premium import MovementPremium
from behaviours.classic.random import Random
from behaviours.classic.spawn import SpawnAvoider
from behaviours.classic.trap import TrapAvoidance, trap_map
from sim.game import AIR, EAST, NORTH, OFFSET, SOUTH, STAY, TAVERN, WEST, Games
from sim.maps import Map, map_of
from tests.support.worlds import odd_games
from vindibot.testing import view

# ---- Spawn avoider ----

SPAWNS = """
    |        |
    |  @1    |
    |      @2|
    |@3      |
"""


def test_squares_on_and_beside_an_enemys_spawn() -> None:
    facts = "@2 spawn 0,2\n@3 spawn 2,1"
    # North of us is beside @2's spawn, east too; south of us is @3's spawn, and we are beside it.
    assert SpawnAvoider().vote(view(SPAWNS + facts)) == {STAY: -0.1, NORTH: -0.1, SOUTH: -1, EAST: -0.1}
    assert SpawnAvoider(ratio=0.5).vote(view(SPAWNS + "@2 spawn 1,2\n@3 spawn away")) == {STAY: -0.5, EAST: -1}


def test_death_leads_to_our_own_spawn() -> None:
    here = view("""
        |@1$-    |
        |##    @2|
        @1 life 9 spawn 1,1
        @2 spawn 1,2
    """)
    assert SpawnAvoider().vote(here) == {EAST: -0.1}


# ---- Movement premium ----


def test_room_around_the_square_where_we_would_stand() -> None:
    here = view("""
        |##      |
        |  @1  ##|
        |##  @2  |
        |        |
    """)
    # Our own square counts as empty once we have left it; @2's never does.
    assert MovementPremium().vote(here) == {STAY: 4, NORTH: 2, SOUTH: 2, EAST: 2, WEST: 1}


# ---- Trap avoidance ----


def test_votes_against_traps() -> None:
    here = view("""
        |##  ####  |
        |##@1      |
        |##        |
        |          |
        |##        |
    """)
    # North is a dead end; we are in front of it: blocked to the west, and towards the trap.
    assert TrapAvoidance().vote(here) == {STAY: -0.1, NORTH: -0.5}
    assert TrapAvoidance(trap=2, half_trap=1).vote(here) == {STAY: -1, NORTH: -2}


def slow_sides(where: Map) -> dict[int, int]:
    """The definition, in another order: all squares at once, round after round."""
    steps = [int(offset) for offset in OFFSET[1:]]
    cells, places = where.cells, [int(place) for place in where.open]
    havens = {place for place in places if any(cells[place + step] == TAVERN for step in steps)}
    blocked: dict[int, set[int]] = {place: set() for place in places}
    while True:
        traps = {place for place in places if len(blocked[place]) >= 3 and place not in havens}
        after = {
            place: {
                step for step in steps if cells[place + step] != AIR or (place + step in traps and step in blocked[place + step])
            }
            for place in places
        }
        if after == blocked:
            return {place: 0 if place in havens else len(blocked[place]) for place in places}
        blocked = after


@given(odd_games())
@settings(max_examples=60)
def test_the_trap_map_equals_its_definition(games: Games) -> None:
    where = map_of(games)
    counts, expected = trap_map(where), slow_sides(where)
    assert {int(place): int(counts[place]) for place in where.open} == expected
    assert counts.sum() == sum(expected.values())


# ---- Random ----


@pytest.mark.slow
def test_random_goes_anywhere_and_bumps_are_stay() -> None:
    board = """
        |##    |
        |  @1$1|
        |  []  |
    """
    drawn = Counter(Random().vote(view(board, seed=seed)) for seed in range(2000))
    assert set(drawn) == {NORTH, WEST, STAY}, "the mine is ours, and there is no gold for the tavern"
    assert 400 < drawn[NORTH] < 600
    assert 400 < drawn[WEST] < 600
