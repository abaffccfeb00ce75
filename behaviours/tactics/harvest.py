"""Harvest: the route over mines that pays best, ending at a tavern.

A **route** takes foreign mines one after the other for as long as life lasts (taking one costs 20, every move 1, and more
than 20 must be left before), and then goes to the nearest tavern. A move costs 5 less the number of mines taken so far, so
early mines are worth more; the route with the least cost is the best.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numba import types
from numpy.typing import NDArray
from pydantic import Field

from behaviours.base import Behaviour, View, Votes
from behaviours.common.combat_map import danger
from behaviours.common.kernel_types import GameRecord, int64
from behaviours.common.targets import directions_in, first_steps, foreign_mines, is_broke, tile_beside
from sim.game import AIR, CELLS, GAMES, HERO_SHIFT, MINE, MINE_COST, OFFSET, STAY, TILE_BITS, Games
from sim.kernels import entry, kernel
from sim.paths import FAR, flood, spread

#: What a move costs before the first mine is taken. With 100 life at most four mines are, so no move is free.
STEP_COST = 5
MAX_MINES = 4
#: Nodes charged for the distances from one more square.
_FLOOD_NODES = 32
_NONE = 1 << 40

_INT64S = types.Array(types.int64, 1, "C")
_BYTES = types.Array(types.uint8, 1, "C")


@kernel
def _list_legs(
    shut: NDArray[np.uint8],
    source: NDArray[np.int64],
    target_of: NDArray[np.int64],
    legs: NDArray[np.int16],
    distances: NDArray[np.int16],
    queue: NDArray[np.int16],
) -> int:
    """Every way of taking a mine from the square ``source[0]``, over squares that are not `shut`: rows (moves to walk, square
    beside the mine, mine number), nearest first."""
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
    """How many mines this life can pay for at best (21 each with the day's thirst, and more than 20 before the last)."""
    return life // (MINE_COST + 1)


@kernel
def _best_route(
    shut: NDArray[np.uint8], pos: int, life: int, target_of: NDArray[np.int64], targets: int, home: NDArray[np.int16], limit: int
) -> tuple[int, int, NDArray[np.int64]]:
    """Depth first over the stops, nearest first, cutting off what cannot beat the best route so far.

    `home` holds the moves to the nearest tavern by square. Returns the cost, the nodes looked at (more than `limit`: cut
    short, but never before there is a whole route), and the mines in order: where it stands, and their numbers (-1: none).
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
                # Nothing more can be taken: it goes home to the tavern, and this is the best way so far.
                best = cost
                route[:, :] = -1
                for stop in range(level):
                    route[0, stop], route[1, stop] = squares[stop + 1], mined[stop + 1]
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
            cursor[level] = counts[row]  # all that follow are farther
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
    """The first steps (bit d is direction d) of shortest ways from `pos` down to where `distances` are 0."""
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


@entry(_INT64S(GAMES, types.int64, types.int64, types.int64, _INT64S, _INT64S, _BYTES, types.int64))
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
    """See `plan`. Returns cost, nodes, first steps, whether it ends at a tavern; then where it stands and the mine, in turn."""
    game: GameRecord = games[index]
    pos = int64(game.hero[me].pos)
    shut = np.ones(CELLS, np.uint8)
    for square in range(CELLS):
        standing = int64(game.cell[square]) >> HERO_SHIFT
        free = (int64(game.cell[square]) & TILE_BITS) == AIR and (standing == 0 or standing == me + 1)
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
    for stop in range(MAX_MINES):
        if route[1, stop] >= 0:
            result[4 + 2 * stop], result[5 + 2 * stop] = route[0, stop], mines[route[1, stop]]
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
    """A route: the `mines` in order and where to stand for each (`stands`), squares both; `first_steps` to the first stop.

    `first_steps` is empty where there is nowhere to go, or no need: beside the tavern with nothing to take. `cost` is what
    was minimised, `nodes` the work done, and `complete` tells whether every route was considered.
    """

    mines: tuple[int, ...]
    stands: tuple[int, ...]
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
    """The route of least cost for hero `me` (0..3) with this much `life` (1..100).

    `mines` and `taverns` are squares; squares that are `blocked` (uint8[1024], 1 = keep out) or on which another hero
    stands are not walked over. After about `nodes` nodes the best route so far is taken. Deterministic; the game is not
    changed.
    """
    found = _plan(games, index, me, life, np.array(mines, np.int64), np.array(taverns, np.int64), blocked, nodes).tolist()
    stops = [(stand, mine) for stand, mine in zip(found[4::2], found[5::2], strict=True) if mine >= 0]
    return HarvestRoute(
        mines=tuple(mine for _, mine in stops),
        stands=tuple(stand for stand, _ in stops),
        ends_at_tavern=bool(found[3]),
        first_steps=tuple(directions_in(found[2])),
        cost=found[0],
        nodes=found[1],
        complete=found[1] <= nodes,
    )


class Harvest(Behaviour):
    """Takes mines along the best route.

    Beside a mine that is not ours: votes `take` for taking it with more than 20 life and no enemy within two moves, else
    -`refuse` for each such mine. Elsewhere: votes 1 for every first step of a shortest way to the first stop of the best
    route (see the module), keeping off squares that the later combat map marks below 0. With no mine to take it waits
    beside the tavern. A hero who cannot have a beer any more goes for the nearest mine with any life: he has nothing to
    lose there.
    """

    take: float = Field(15, ge=0, le=1000, description="vote for taking a mine beside us")
    refuse: float = Field(100, ge=0, le=1000, description="vote against a mine beside us that must not be taken now")
    nodes: int = Field(5000, ge=100, le=1_000_000, description="how much of the search for routes is done at most")
    when_broke: bool = Field(True, description="attack mines with any life when there is neither gold nor a mine to lose")

    def vote(self, view: View) -> Votes:
        """For or against mines beside us, or 1 for first steps, or nothing."""
        hopeless = self.when_broke and is_broke(view)
        beside = [move for move in view.moves if move != STAY and tile_beside(view, move) >= MINE]
        if beside:
            safe = view.life > MINE_COST and not _enemy_within_two(view)
            dying_is_free = hopeless and view.life <= MINE_COST
            return dict.fromkeys(beside, self.take if safe or dying_is_free else -self.refuse)
        mines, taverns, blocked = foreign_mines(view), view.map.taverns, danger(view)
        route = plan(view.games, view.me, mines, taverns, blocked, life=view.life, nodes=self.nodes)
        if not route.mines and hopeless:
            return dict.fromkeys(first_steps(view, mines, blocked), 1.0) or None
        if not route.mines and route.ends_at_tavern and not route.first_steps:
            return STAY
        return dict.fromkeys(route.first_steps, 1.0) or None


def _enemy_within_two(view: View) -> bool:
    """Whether an enemy stands beside us, or can with one step."""
    places = view.games["hero"]["pos"][0].tolist()
    enemies = {places[enemy] for enemy in view.enemies}
    for direction in range(1, 5):
        near = view.pos + int(OFFSET[direction])
        if near in enemies:
            return True
        if tile_beside(view, direction) == AIR and any(near + int(offset) in enemies for offset in OFFSET[1:]):
            return True
    return False
