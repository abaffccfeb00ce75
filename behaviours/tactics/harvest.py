"""Harvest: the cheapest route over mines, with a tavern at its end.

A **route** takes foreign mines one after the other while life lasts. A mine costs 20 life, a move costs 1 life, and the hero must
have more than 20 life before it takes a mine. After the last mine the route goes to the nearest tavern. The cost of a move is 5
minus the number of mines taken before the move, so a route that takes mines early costs less. The best route is the route with
the least cost.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numba import types
from numpy.typing import NDArray
from pydantic import Field

from behaviours.base import Behaviour, View, Votes
from behaviours.common.combat_map import danger
from behaviours.common.targets import directions_in, first_steps, foreign_mines, is_broke, tile_beside
from sim.game import AIR, CELLS, GAMES, HERO_SHIFT, MINE, MINE_COST, OFFSET, STAY, TILE_BITS, Games
from sim.kernel_types import BYTES, INT64S, GameRecord, int64
from sim.kernels import entry, kernel
from sim.paths import FAR, flood, spread

#: Cost of a move before the first mine. A hero with 100 life can take at most four mines, so every move costs at least 1.
STEP_COST = 5
MAX_MINES = 4
#: One computation of the distances from a square counts as this number of nodes.
_FLOOD_NODES = 32
_NONE = 1 << 40


@kernel
def _list_legs(
    shut: NDArray[np.uint8],
    source: NDArray[np.int64],
    target_of: NDArray[np.int64],
    legs: NDArray[np.int16],
    distances: NDArray[np.int16],
    queue: NDArray[np.int16],
) -> int:
    """List all ways from the square ``source[0]`` to a mine, over squares that are not `shut`. Return their number.

    `legs` gets rows (moves to walk, square beside the mine, mine number), nearest first.
    """
    count = 0
    for place in range(flood(shut, source, 1, FAR, FAR, distances, queue)):
        square = int64(queue[place])
        for direction in range(1, 5):
            target = target_of[square + OFFSET[direction]]
            if target >= 0 and count < len(legs):
                legs[count, 0], legs[count, 1], legs[count, 2] = distances[square], square, target
                count += 1
    return count


@kernel
def _mines_by_life(life: int) -> int:
    """Return the largest number of mines that a hero with this life can take. Taking a mine costs 21 life, thirst included."""
    return life // (MINE_COST + 1)


@kernel
def _best_route(
    shut: NDArray[np.uint8], pos: int, life: int, target_of: NDArray[np.int64], targets: int, home: NDArray[np.int16], limit: int
) -> tuple[int, int, NDArray[np.int64]]:
    """Return the best route: its cost, the number of nodes visited, and the squares as int64[2, `MAX_MINES`].

    The two rows of this array are the waypoints (squares beside the mines) and the indices of the mines, in order (-1: none).
    `home` holds, for each square, the number of moves to the nearest tavern.

    The search is depth first, nearest mine first. It leaves out routes that cannot be better than the best route so far. After
    `limit` nodes, it ends as soon as there is a complete route.
    """
    sides = min(4 * targets, 2 * CELLS)
    listed, known = np.full(CELLS, -1, np.int64), 0
    legs, counts = np.empty((min(CELLS, sides + 1), sides, 3), np.int16), np.empty(min(CELLS, sides + 1), np.int64)
    distances, queue, source = np.empty(CELLS, np.int16), np.empty(CELLS, np.int16), np.empty(1, np.int64)
    used = np.zeros(targets + 1, np.uint8)
    levels = MAX_MINES + 1
    squares, lives, costs = np.empty(levels, np.int64), np.empty(levels, np.int64), np.empty(levels, np.int64)
    cursor, mined, extended = np.zeros(levels, np.int64), np.full(levels, -1, np.int64), np.zeros(levels, np.uint8)
    best, nodes = _NONE, 0
    route = np.full((2, MAX_MINES), -1, np.int64)
    level = 0
    squares[0], lives[0], costs[0] = pos, life, 0
    while level >= 0:
        square = squares[level]
        if listed[square] < 0:
            listed[square] = known
            source[0] = square
            counts[known] = _list_legs(shut, source, target_of, legs[known], distances, queue)
            known += 1
            nodes += _FLOOD_NODES
        row, place = listed[square], cursor[level]
        price = STEP_COST - level
        late = nodes > limit and best < _NONE
        if late or place >= counts[row] or legs[row, place, 0] > lives[level] - MINE_COST - 1:
            cost = costs[level] + (home[square] * price if home[square] < FAR else 0)
            if not late and not extended[level] and cost < best:
                # No more mines: the route goes to the tavern, and it is the best so far.
                best = cost
                route[:, :] = -1
                for place in range(level):
                    route[0, place], route[1, place] = squares[place + 1], mined[place + 1]
            if level > 0:
                used[mined[level]] = 0
            level -= 1
            continue
        cursor[level] += 1
        steps, there, target = int64(legs[row, place, 0]), int64(legs[row, place, 1]), int64(legs[row, place, 2])
        if used[target]:
            continue
        extended[level] = 1
        cost, left = costs[level] + (steps + 1) * price, lives[level] - steps - MINE_COST - 1
        if cost >= best:
            cursor[level] = counts[row]  # all later mines are farther
            continue
        cheapest = price - 1 - _mines_by_life(left)
        if home[there] < FAR and cost + home[there] * cheapest >= best:
            continue
        nodes += 1
        used[target] = 1
        level += 1
        squares[level], lives[level], costs[level], mined[level] = there, left, cost, target
        cursor[level], extended[level] = 0, 0
    return best, nodes, route


@kernel
def _steps_to(shut: NDArray[np.uint8], pos: int, distances: NDArray[np.int16]) -> int:
    """Return the first steps (bit d is direction d) of shortest ways from `pos` to a square where `distances` are 0."""
    nearest, mask = int64(FAR), 0
    for direction in range(1, 5):
        square = pos + OFFSET[direction]
        if not shut[square]:
            nearest = min(nearest, int64(distances[square]))
    for direction in range(1, 5):
        square = pos + OFFSET[direction]
        if not shut[square] and distances[square] == nearest and nearest < FAR:
            mask |= 1 << direction
    return mask


@entry(INT64S(GAMES, types.int64, types.int64, types.int64, INT64S, INT64S, BYTES, types.int64))
def _plan(
    games: Games,
    index: int,
    me: int,
    life: int,
    mines: NDArray[np.int64],
    taverns: NDArray[np.int64],
    blocked: NDArray[np.uint8],
    limit: int,
) -> NDArray[np.int64]:
    """Return the result of `plan` as numbers: int64[4 + 2 x `MAX_MINES`].

    The first four numbers are the cost, the nodes, the set of first steps, and whether the route ends at a tavern. The others are
    the waypoint and the square of each mine, in order (-1: none).
    """
    game: GameRecord = games[index]
    pos = int64(game.hero[me].pos)
    shut = np.ones(CELLS, np.uint8)
    for square in range(CELLS):
        hero = int64(game.cell[square]) >> HERO_SHIFT
        free = (int64(game.cell[square]) & TILE_BITS) == AIR and (hero == 0 or hero == me + 1)
        if free and not blocked[square]:
            shut[square] = AIR
    target_of = np.full(CELLS, -1, np.int64)
    for number in range(len(mines)):
        target_of[mines[number]] = number
    home, queue = np.empty(CELLS, np.int16), np.empty(CELLS, np.int16)
    spread(game.cell, taverns, shut, True, home, queue)
    cost, nodes, route = _best_route(shut, pos, life, target_of, len(mines), home, limit)
    result = np.full(4 + 2 * MAX_MINES, -1, np.int64)
    result[0], result[1], result[3] = cost, nodes, home[pos] < FAR
    for place in range(MAX_MINES):
        if route[1, place] >= 0:
            result[4 + 2 * place], result[5 + 2 * place] = route[0, place], mines[route[1, place]]
    if route[1, 0] < 0:
        result[2] = _steps_to(shut, pos, home) if home[pos] > 1 else 0
    elif route[0, 0] != pos:
        distances = np.empty(CELLS, np.int16)
        flood(shut, route[0], 1, FAR, FAR, distances, queue)
        result[2] = _steps_to(shut, pos, distances)
    else:
        result[2] = 0
        for direction in range(1, 5):
            if pos + OFFSET[direction] == result[5]:
                result[2] = 1 << direction
    return result


@dataclass(frozen=True)
class HarvestRoute:
    """A route: the squares of its `mines` in order, and its `waypoints`, the squares from which the hero takes these mines.

    `first_steps` are the directions that begin the route. If there is no mine to take, `first_steps` is empty in two cases: our
    hero is beside a tavern, or it can reach no tavern. `cost` is the cost of the route, `nodes` the number of nodes searched.
    `complete` is true if all routes were considered.
    """

    mines: tuple[int, ...]
    waypoints: tuple[int, ...]
    ends_at_tavern: bool
    first_steps: tuple[int, ...]
    cost: int
    nodes: int
    complete: bool


def plan(
    games: Games,
    me: int,
    mines: NDArray[np.int64],
    taverns: NDArray[np.int64],
    blocked: NDArray[np.uint8],
    *,
    life: int,
    nodes: int,
    index: int = 0,
) -> HarvestRoute:
    """Return the route of least cost for hero `me` (0..3) with this `life` (1..100) in ``games[index]``.

    `mines` and `taverns` are squares. The route avoids squares that are `blocked` (uint8[1024], 1 = keep out) or have another
    hero on them. The search ends after about `nodes` nodes, and returns the best route so far. The game does not change.
    """
    numbers = _plan(games, index, me, life, np.array(mines, np.int64), np.array(taverns, np.int64), blocked, nodes).tolist()
    count = sum(mine >= 0 for mine in numbers[5::2])
    return HarvestRoute(
        mines=tuple(numbers[5::2][:count]),
        waypoints=tuple(numbers[4::2][:count]),
        ends_at_tavern=bool(numbers[3]),
        first_steps=tuple(directions_in(numbers[2])),
        cost=numbers[0],
        nodes=numbers[1],
        complete=numbers[1] <= nodes,
    )


class Harvest(Behaviour):
    """Take mines along the best route (see the module).

    - Beside a foreign mine: vote `take` for taking it if we have more than 20 life and no enemy is within two moves. Otherwise
      vote -`refuse` against taking it.
    - Elsewhere: vote 1 for each first step of a shortest way to the first waypoint of the best route. The way avoids squares with
      a negative value in `behaviours.common.combat_map` with `duel`.
    - Beside a tavern, if the best route takes no mine: vote 1 for Stay.

    A death costs nothing if our hero has no mine and no gold for a beer. So with `when_broke`, it then attacks the nearest mine
    even if the mine kills it.
    """

    take: float = Field(15, ge=0, le=1000, description="vote for taking a mine beside us")
    refuse: float = Field(100, ge=0, le=1000, description="vote against a mine beside us that is too dangerous now")
    nodes: int = Field(5000, ge=100, le=1_000_000, description="largest number of nodes of the search for routes")
    when_broke: bool = Field(True, description="attack mines with any life if we have no mine and no gold for a beer")

    def vote(self, view: View) -> Votes:
        """Return votes for or against mines beside us, or 1 for first steps, or None."""
        broke = self.when_broke and is_broke(view)
        beside = [move for move in view.moves if move != STAY and tile_beside(view, move) >= MINE]
        if beside:
            safe = view.life > MINE_COST and not _enemy_within_two(view)
            dying_is_free = broke and view.life <= MINE_COST
            return dict.fromkeys(beside, self.take if safe or dying_is_free else -self.refuse)
        mines, taverns, blocked = foreign_mines(view), view.map.taverns, danger(view)
        route = plan(view.games, view.me, mines, taverns, blocked, life=view.life, nodes=self.nodes)
        if not route.mines and broke:
            return dict.fromkeys(first_steps(view, mines, blocked), 1.0) or None
        if not route.mines and route.ends_at_tavern and not route.first_steps:
            return STAY
        return dict.fromkeys(route.first_steps, 1.0) or None


def _enemy_within_two(view: View) -> bool:
    """Return whether an enemy is beside us, or can be beside us after one step."""
    places = view.games["hero"]["pos"][0].tolist()
    enemies = {places[enemy] for enemy in view.enemies}
    for direction in range(1, 5):
        near = view.pos + int(OFFSET[direction])
        if near in enemies:
            return True
        if tile_beside(view, direction) == AIR and any(near + int(offset) in enemies for offset in OFFSET[1:]):
            return True
    return False
