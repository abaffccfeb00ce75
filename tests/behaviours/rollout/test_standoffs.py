"""Stand-offs: the recorded positions, and the script that measures them."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

from sim.game import MINE, PLIES_PER_ROUND, STRIDE, TILE_BITS
from sim.maps import map_of
from tests.support.standoffs import (
    FAR,
    FILE,
    Standoff,
    beginnings,
    best_far_mine,
    play_on,
    positions_of,
    read_standoffs,
    states_of,
)
from vindibot.arena.referee import SHORTEST, stalled_rounds

STANDOFFS = read_standoffs(FILE)


def test_the_positions_are_of_all_phases_and_of_both_sides() -> None:
    counts = Counter((standoff.phase, standoff.bot == "strong-1") for standoff in STANDOFFS)
    assert sum(counts.values()) >= 30
    assert set(counts) == {(phase, ours) for phase in (1, 2, 3) for ours in (False, True)}


@pytest.mark.parametrize("standoff", STANDOFFS[::6], ids=lambda standoff: standoff.record.id)
def test_a_stand_off_begins_in_its_round(standoff: Standoff) -> None:
    squares = positions_of(states_of(standoff.record), standoff.hero)
    assert standoff.round in list(beginnings(squares))
    assert stalled_rounds(squares[standoff.round :]) >= SHORTEST


def test_runs_begin_where_their_squares_begin_to_fit() -> None:
    walk = [2 * STRIDE + column for column in range(1, 9)]
    squares = [*walk, *[walk[-1]] * SHORTEST, *walk[::-1], *[walk[0], walk[1]] * SHORTEST]
    assert list(beginnings(squares)) == [3, 53]  # the walks within the areas of 5x5 are parts of the runs
    assert list(beginnings(walk)) == []


def test_a_hero_that_leaves_goes_to_the_mine() -> None:
    standoff = next(standoff for standoff in STANDOFFS if standoff.record.id == "standoff-2-ours")
    games, agents = standoff.seats(None, 300)
    mine = best_far_mine(games, map_of(games), standoff.hero)
    assert mine is not None
    square = int(map_of(games).mines[mine])
    here = int(games[0].hero[standoff.hero].pos)
    assert map_of(games).distances[here, square] >= FAR
    assert int(games[0].cell[square]) & TILE_BITS != MINE + 1 + standoff.hero
    before = games.copy()
    after, squares = play_on(games, agents, 4, standoff.hero, mine)
    assert int(after[0].turn) == int(before[0].turn) + 4 * PLIES_PER_ROUND
    assert len(squares) == 4
    distances = map_of(games).distances[np.array(squares), square]
    assert distances[-1] < distances[0]
