"""Harvest: the best route over mines, against trying every route; and what it votes."""

from __future__ import annotations

from collections import deque

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from behaviours import View
from behaviours.common.targets import foreign_mines
from behaviours.tactics.harvest import Harvest, HarvestRoute, plan
from sim.board import parse
from sim.game import AIR, CELLS, EAST, HERO_SHIFT, OFFSET, SOUTH, STAY, TILE_BITS, WEST, Games, mover
from tests.support.worlds import odd_games
from vindibot.testing import view

NOTHING = np.zeros(CELLS, np.uint8)


def route(board: str | Games, life: int = 100, *, nodes: int = 10**9, blocked: np.ndarray = NOTHING) -> HarvestRoute:
    """The route of the hero to move."""
    here = view(board)
    return plan(here.games, here.me, foreign_mines(here), here.map.taverns, blocked, life=life, nodes=nodes)


# ---- The route ----


def test_blocked_squares_and_enemies_are_walked_around() -> None:
    board = """
        |@1@2    |
        |      $-|
        |        |
    """
    assert route(board).first_steps == (SOUTH,)
    shut = NOTHING.copy()
    shut[parse("|  |\n|@1|")[0]["hero"][0]["pos"]] = 1
    assert route(board, blocked=shut).mines == ()
    assert route(board, blocked=shut).first_steps == ()


def cheapest(games: Games, me: int, blocked: np.ndarray, life: int) -> int:
    """The cost of the best route, by trying every route."""
    cell, steps = games[0]["cell"], [int(offset) for offset in OFFSET[1:]]
    free = {
        place for place in range(CELLS)
        if cell[place] & TILE_BITS == AIR and int(cell[place]) >> HERO_SHIFT in (0, me + 1) and not blocked[place]
    }  # fmt: skip
    here = View(games, me)
    mines, taverns = set(foreign_mines(here).tolist()), set(here.map.taverns.tolist())

    def moves_from(source: int) -> dict[int, int]:
        moves, queue = {source: 0}, deque([source])
        while queue:
            place = queue.popleft()
            for near in (place + step for step in steps):
                if near in free and near not in moves:
                    moves[near] = moves[place] + 1
                    queue.append(near)
        return moves

    def best(pos: int, taken: frozenset[int], life: int, cost: int) -> int:
        price, moves = 5 - len(taken), moves_from(pos)
        onward = [
            best(place, taken | {place + step}, life - walk - 21, cost + (walk + 1) * price)
            for place, walk in moves.items()
            for step in steps
            if place + step in mines - taken and life - walk > 20
        ]
        home = [walk + 1 for place, walk in moves.items() for step in steps if place + step in taverns]
        return min(onward) if onward else cost + (min(home) * price if home else 0)

    return best(int(games[0]["hero"][me]["pos"]), frozenset(), life, 0)


@given(odd_games(), st.integers(0, 2**32), st.sampled_from([1, 20, 21, 43, 62, 75, 100]))
@settings(max_examples=60)
def test_it_equals_trying_every_route(games: Games, seed: int, life: int) -> None:
    me = mover(games)
    here = View(games, me)
    mines = foreign_mines(here)[:7]
    for mine in foreign_mines(here)[7:]:
        games[0]["cell"][mine] = 1
    blocked = (np.random.default_rng(seed).random(CELLS) < 0.05).astype(np.uint8)
    found = plan(games, me, mines, here.map.taverns, blocked, life=life, nodes=10**9)
    assert found.complete
    assert found.cost == cheapest(games, me, blocked, life)


def test_a_bound_gives_a_whole_route_and_says_so() -> None:
    board = "\n".join(["|" + "  $-  " * 5 + "|", "|" + "      " * 5 + "|"] * 7).replace("      ", "@1    ", 1)
    full, cut = route(board), route(board, nodes=0)
    assert full.complete
    assert not cut.complete
    assert len(cut.mines) == 4
    assert full.cost <= cut.cost
    assert cut.nodes < 400


# ---- The votes ----


def test_a_mine_beside_us_is_taken() -> None:
    board = """
        |$-@1$2  |
        |  $1    |
        |########|
    """
    assert Harvest().vote(view(board)) == {WEST: 15, EAST: 15}
    assert Harvest().vote(view(board + "@1 life 21")) == {WEST: 15, EAST: 15}
    assert Harvest(refuse=7).vote(view(board + "@1 life 20")) == {WEST: -7, EAST: -7}


@pytest.mark.parametrize(
    ("board", "near"),
    [
        ("|$-@1@2  |", True),
        ("|$-@1  @2|", True),
        ("|$-@1##@2|", False),
        ("|$-@1    @2|", False),
        ("|$-@1  |\n|##  @2|", True),
        ("|$-@1##|\n|####@2|", False),
    ],
)
def test_not_with_an_enemy_within_two_moves(board: str, near: bool) -> None:
    assert Harvest().vote(view(board)) == {WEST: -100 if near else 15}


def test_a_broke_hero_attacks_any_mine() -> None:
    board = """
        |  @1$-|
        |      |
    """
    assert Harvest().vote(view(board + "@1 life 5")) == {EAST: 15}
    assert Harvest().vote(view(board + "@1 life 5 gold 2")) == {EAST: -100}
    assert Harvest(when_broke=False).vote(view(board + "@1 life 5")) == {EAST: -100}
    assert Harvest().vote(view("|@1  $-[]|\n|########|\n@1 life 5")) == {EAST: 1}
    assert Harvest(when_broke=False).vote(view("|@1  $-[]|\n|########|\n@1 life 5")) is None


def test_with_nothing_to_take_it_goes_home_and_waits() -> None:
    assert Harvest().vote(view("|[]    @1$1|")) == {WEST: 1}
    assert Harvest().vote(view("|[]@1    $1|")) == STAY
    assert Harvest().vote(view("|  @1    $1|")) is None


def test_danger_is_avoided() -> None:
    board = """
        |@1      $-|
        |  ##  ####|
        |  ##@2##$2|
        |  ########|
        |      $-  |
        @1 life 60
    """
    assert Harvest().vote(view(board)) == {SOUTH: 1}
    assert Harvest().vote(view(board.replace("@1 life 60", "@2 life 20"))) == {EAST: 1}
