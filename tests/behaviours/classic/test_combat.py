"""Combat: the map around enemies in both versions, and the votes that follow from it."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings, strategies as st

from behaviours.classic.combat import Combat
from behaviours.common.combat_map import combat_map
from behaviours.common.duel import wins
from sim.game import ABSENT, AIR, EAST, NORTH, OFFSET, SOUTH, STAY, TAVERN, TILE_BITS, WEST, Games, mover, row_column
from tests.support.worlds import odd_games
from vindibot.testing import view

OPEN = """
    |            |
    |            |
    |    @2      |
    |            |
    |          @1|
    |        $2  |
"""


def test_votes_are_the_values_where_the_moves_lead() -> None:
    here = view("""
        |  $1      |
        |@1    @2  |
        |      $2  |
        @2 life 60
    """)
    # Stay is three squares away and has no value; East is two away; after the mine it still stands there.
    assert Combat().vote(here) == {EAST: -1}
    assert Combat(duel=True).vote(here) == {EAST: 0}


def test_own_square_counts_for_staying_and_drinking() -> None:
    here = view("""
        |  []  $1|
        |  @1@2  |
        |      $2|
        @1 gold 2 life 70
        @2 life 60
    """)
    # @2 stands in the open and loses; Stay and the beer leave us where we strike it.
    said = Combat().vote(here)
    assert isinstance(said, dict)
    assert said[STAY] == said[NORTH] == 0.5
    assert said[SOUTH] == said[WEST] == -1


def test_the_later_one_does_not_kill_itself() -> None:
    board = """
        |$-    |
        |@1@2  |
        |$1  $2|
        @1 life 20 spawn 0,1
        @2 life 20
    """
    first, later = Combat().vote(view(board)), Combat(duel=True, keep_mines=True).vote(view(board))
    assert isinstance(first, dict)
    assert isinstance(later, dict)
    assert NORTH in first
    assert NORTH not in later
    assert later[STAY] == 0.5


# ---- The slow twin, straight from the description ----


def twin(games: Games, me: int, duel: bool) -> dict[int, float]:
    game = games[0]
    steps = [int(offset) for offset in OFFSET[1:]]

    def tile(place: int) -> int:
        return int(game["cell"][place]) & TILE_BITS

    def at_tavern(place: int) -> bool:
        return any(tile(place + step) == TAVERN for step in steps)

    total: dict[int, float] = {}
    for enemy in range(4):
        pos = int(game["hero"][enemy]["pos"])
        if enemy == me or pos == ABSENT[enemy]:
            continue
        mine, enemy_life = int(game["hero"][me]["life"]), int(game["hero"][enemy]["life"])
        near = {pos + step for step in steps if tile(pos + step) == AIR}
        far = {place + step for place in near for step in steps if tile(place + step) == AIR} - {pos}
        values = {place: 0.0 if duel and not wins(enemy_life, max(1, mine - 1)) else -1.0 for place in far}
        loses = not wins(mine, enemy_life) if duel else mine // 20 <= enemy_life // 20 - 1
        if (at_tavern(pos) and enemy_life > 20) or loses:
            values.update(dict.fromkeys(near, -1.0))
        elif game["hero"][enemy]["mines"] > 0 or enemy_life <= 20:
            values.update(dict.fromkeys(near, 0.5))
        for place, value in values.items():
            safe = at_tavern(place) and mine > (21 if duel else 20)
            total[place] = total.get(place, 0.0) + (max(0.0, value) if safe else value)
    return total


@given(odd_games(), st.booleans())
@settings(max_examples=100)
def test_the_map_equals_its_description(games: Games, duel: bool) -> None:
    me = mover(games)
    values = combat_map(games, me, duel=duel)
    expected = twin(games, me, duel)
    found = {int(place): float(values[place]) for place in np.flatnonzero(~np.isnan(values))}
    assert found == expected, {row_column(place) for place in found.keys() ^ expected.keys()}
