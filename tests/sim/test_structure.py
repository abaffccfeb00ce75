"""Choke points and dead ends, on boards a person can read and against the definitions tried out square by square."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from sim.board import parse
from sim.game import AIR, CELLS, OFFSET, STRIDE, TAVERN, Games
from sim.maps import Map, map_of, parse_map
from tests.support.worlds import odd_games


def shown(board: str) -> tuple[list[str], list[str]]:
    """Both as pictures: `*` for choke points; the depth of dead ends; `.` elsewhere."""
    games = parse(board)
    here, size = map_of(games), int(games[0]["size"])
    choke = here.choke.reshape(STRIDE, STRIDE)[1 : size + 1, 1 : size + 1].tolist()
    depth = here.dead_end.reshape(STRIDE, STRIDE)[1 : size + 1, 1 : size + 1].tolist()
    return (
        ["".join("*" if value else "." for value in row) for row in choke],
        ["".join(str(value) if value else "." for value in row) for row in depth],
    )


def test_a_tavern_keeps_an_end_open() -> None:
    choke, depth = shown("""
        |      ##########|
        |            []##|
        |      ##########|
        |      ####    ##|
        |              ##|
        |##########    ##|
        |################|
        |@1##############|
    """)
    assert choke[1] == "..***..."
    assert depth[1] == "........"
    # A room with one door is a dead end as well, although one can run in a circle there.
    assert choke[4] == "..****.."
    assert depth[3:6] == [".....45.", "...1234.", ".....45."]


def component(air: set[int], start: int) -> dict[int, int]:
    """The squares that can be walked to from one, with their distances."""
    found, ring = {start: 0}, [start]
    while ring:
        beside = {here + int(step) for here in ring for step in OFFSET[1:]}
        ring = [there for there in beside if there in air and there not in found]
        distance = max(found.values()) + 1
        found.update(dict.fromkeys(ring, distance))
    return found


def by_definition(here: Map) -> tuple[list[int], list[int]]:
    """Take every square away and look what is left."""
    choke, dead_end, size_of = [0] * CELLS, [0] * CELLS, [0] * CELLS
    air = set(here.open.tolist())
    for square in air:
        whole = component(air, square)
        rest = set(whole) - {square}
        branches = []
        while rest:
            branches.append(set(component(rest, min(rest))))
            rest -= branches[-1]
        if len(branches) < 2:
            continue
        choke[square] = 1
        for branch in branches:
            thirsty = not any(here.cells[inside + int(step)] == TAVERN for inside in branch for step in OFFSET[1:])
            for inside in branch if thirsty and 2 * len(branch) < len(whole) else ():
                assert len(branch) != size_of[inside], "one outermost mouth"
                if len(branch) > size_of[inside]:
                    dead_end[inside], size_of[inside] = min(255, whole[inside]), len(branch)
    return choke, dead_end


def agrees(here: Map) -> None:
    assert (here.choke.tolist(), here.dead_end.tolist()) == by_definition(here)


@settings(max_examples=30)
@given(odd_games(), st.integers(0, 2**32))
def test_it_equals_its_definition_on_odd_boards(games: Games, seed: int) -> None:
    agrees(map_of(games))
    size = int(np.random.default_rng(seed).integers(2, 13))
    tiles = np.random.default_rng(seed).choice([0, 1, 2], (size, size), p=[0.7, 0.27, 0.03]).astype(np.uint8)
    agrees(Map(tiles, [None] * 4, [None] * 4))


@pytest.mark.parametrize("size", [16, pytest.param(28, marks=pytest.mark.slow)])
def test_the_deepest_end_there_can_be(size: int) -> None:
    """A passage that winds through the whole board, mouth in the middle."""
    rows = ["  " * size if row % 2 == 0 else "##" * size for row in range(size)]
    for row in range(1, size - 1, 2):
        rows[row] = "  " + rows[row][2:] if row % 4 == 3 else rows[row][:-2] + "  "
    rows[0] = "@1@2@3@4" + rows[0][8:]
    winding = parse_map("\n".join(rows))
    assert len(winding.open) == size // 2 * size + size // 2 - 1
    assert int(winding.choke.sum()) == len(winding.open) - 2
    assert int(winding.dead_end.max()) == (len(winding.open) - 1) // 2
    assert (winding.cells[winding.dead_end > 0] == AIR).all()
    agrees(winding)
