"""Route plans: find the order of mines and beers that leaves the most gold at the end of the game.

At a **waypoint** the hero takes a mine or drinks a beer. A **route** is a sequence of waypoints. The distances between waypoints
come from the map's table, so no path search is needed. Only the way to the first waypoint avoids heroes and other blocked
squares.

A route pays all costs of the rules. A move costs 1 life. A mine costs 20 life, and the hero must have more than 20. A beer costs
2 gold and heals 50 life, up to 100. If the gold for a beer is missing, the hero waits for it. A route ends with the game.

**Value of a route**, in gold: a mine is worth ``pay[n]`` times its weight. Here n is the number of our plies from the ply that
takes the mine to the end of the game. If an enemy can be at the mine before us, the value of this mine is multiplied by `late`. A
beer costs 2. Each move from the last mine to the nearest tavern costs `home`. A route has no beers after its last mine, and no
beers that heal nothing.

**The search** (`behaviours.route.search`) runs several times. Each run considers more routes than the run before. The search ends
after a run that leaves no route out, or when the budget is used up.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numba import types
from numpy.typing import NDArray

from behaviours.common.kernel_types import int64, tuple_of, uint64
from behaviours.route.distances import DistanceTable, distance, make_distances, make_rows, typical_moves
from behaviours.route.search import (
    MAX_ROUTE_MINES,
    MAX_TAVERN_SQUARES,
    MAX_WAYPOINTS,
    NEVER,
    ONE,
    Effort,
    RouteTable,
    Terms,
    extend_by_beer,
    extend_by_mine,
    final_value,
    make_table,
    mine_value,
    search,
)
from sim.game import GAMES, MINE, STAY, TILE_BITS, Game, Games
from sim.kernels import entry, kernel


class RouteParams(NamedTuple):
    """Parameters of the routes of one turn.

    - `games`: the position. `me`: our hero (0..3). `afters`: five positions, one after each direction of our hero.
    - `directions`: the set of directions to plan for (bit d is direction d).
    - `mines`: the squares of at most `MAX_ROUTE_MINES` mines. `weights`: for each mine, the value of one gold that it brings us.
    - `deadlines`: for each mine, the number of our last ply (1: this ply) in which we can take the mine before every enemy.
    - `beside_taverns`: at most `MAX_TAVERN_SQUARES` squares of air beside taverns.
    - `blocked`: the squares that a route does not enter before its first waypoint (uint8[1024], 1: blocked).
    - `distances`: the distance table of the map.
    - `pay`: ``pay[n]`` is the gold that a mine brings in n plies of ours. ``len(pay) - 1`` is the number of our plies left, this
      ply included.
    - `floor`: the least life with which our hero attacks a mine.
    - `late`: the factor of the value of a mine that an enemy reaches first.
    - `home`: the cost in gold per move on the way from the last mine to the nearest tavern.
    """

    games: Game
    me: int
    afters: Games
    directions: int
    mines: NDArray[np.int64]
    weights: NDArray[np.float64]
    deadlines: NDArray[np.int64]
    beside_taverns: NDArray[np.int64]
    blocked: NDArray[np.uint8]
    distances: NDArray[np.int16]
    pay: NDArray[np.float64]
    floor: int = 21
    late: float = 1.0
    home: float = 0.0


class BestRoutes(NamedTuple):
    """The best routes so far, by direction.

    `values` are in gold (-inf: no route). ``routes[direction]`` holds the waypoints, as rows (place, mine or -1 for a beer).
    ``lengths[direction]`` is the number of waypoints (-1: no route).
    """

    values: NDArray[np.float64]
    routes: NDArray[np.int16]
    lengths: NDArray[np.int64]


_INT, _FLOAT = types.int64, types.float64
_INT64S, _FLOATS = types.Array(_INT, 1, "C"), types.Array(_FLOAT, 1, "C")
_PARAMS = tuple_of(
    [
        GAMES, _INT, GAMES, _INT, _INT64S, _FLOATS, _INT64S, _INT64S, types.Array(types.uint8, 1, "C"),
        types.Array(types.int16, 2, "C"), _FLOATS, _INT, _FLOAT, _FLOAT,
    ],
    RouteParams,
)  # fmt: skip
_BEST_ROUTES = tuple_of([_FLOATS, types.Array(types.int16, 3, "C"), _INT64S], BestRoutes)
_EFFORT = tuple_of([_INT, _INT, _INT, _INT, _FLOAT], Effort)


@kernel
def _write_waypoints(table: RouteTable, row: int, route: NDArray[np.int16]) -> int:
    """Write the first `MAX_WAYPOINTS` waypoints of the route in a row into `route`. Return the number of waypoints written."""
    count, here = 0, row
    while here > 0:
        count += 1
        here = int64(table.routes[here].parent)
    here = row
    for place in range(count - 1, -1, -1):
        if place < MAX_WAYPOINTS:
            route[place, 0], route[place, 1] = table.routes[here].place, table.routes[here].target
        here = int64(table.routes[here].parent)
    return min(count, MAX_WAYPOINTS)


@kernel
def _replay(
    terms: Terms, distances: DistanceTable, table: RouteTable, route: NDArray[np.int16], count: int, owned: int
) -> tuple[float, int]:
    """Replay the first `count` waypoints of `route` from the start in row 0. The route was found from another start.

    Return the largest value that the route has if it ends at one of its mines, and the number of waypoints up to this mine. Mines
    that are taken already are removed from `route`. Rows 1 and 2 are overwritten. `owned` is the result of `_write_start`.
    """
    best, best_count, parent, done = NEVER, 0, 0, 0
    for number in range(count):
        last = table.routes[parent]
        place, mine = int64(route[number, 0]), int64(route[number, 1])
        if mine >= 0 and last.taken >> uint64(mine) & ONE:
            continue
        row = 2 if parent == 1 else 1
        moves = distance(distances, last.place, place) + 1
        if last.time + moves > terms.plies:
            break
        if mine < 0:
            if not extend_by_beer(terms, table, row, parent, moves, place, 0, owned):
                break
        elif not extend_by_mine(terms, table, row, parent, moves, place, mine, owned):
            break
        route[done, 0], route[done, 1] = place, mine
        done, parent = done + 1, row
        if mine >= 0:
            if distances.tavern_leg_counts[place] < 0:
                make_rows(distances, place)
            final = final_value(terms, distances, table.routes[row])
            if final > best:
                best, best_count = final, done
    return best, best_count


@kernel
def _write_start(terms: Terms, distances: DistanceTable, table: RouteTable, params: RouteParams, number: int) -> int:
    """Write a route of one move, in direction `number`, into row 0. Return the number of our mines that this move did not take.

    The value of this route includes mines that the move wins or loses, and a beer that it drinks.
    """
    me, mines, after = params.me, params.mines, params.afters[number]
    before, hero = params.games[0].hero[me], after.hero[me]
    taken, gained, value = uint64(0), 0, 0.0
    for mine in range(len(mines)):
        if (int64(after.cell[mines[mine]]) & TILE_BITS) == MINE + 1 + me:
            taken |= ONE << uint64(mine)
            gained += 1
            value += mine_value(terms, mine, 1)
    lost = int64(before.mines) + gained - int64(hero.mines)
    value -= lost * terms.pay[terms.plies]
    value += int64(hero.gold) - int64(before.gold) - int64(hero.mines)
    place, route = distances.known + number, table.routes[0]
    route.place, route.time, route.life, route.gold = place, 1, hero.life, hero.gold
    route.mines, route.target, route.parent, route.taken = gained, -1, -1, taken
    route.value = value
    make_rows(distances, place)
    # Squares that are blocked now are free after the first waypoint, so the legs from here give no upper bound.
    route.bound = -NEVER
    return int64(hero.mines) - gained


@kernel
def _replay_all(terms: Terms, distances: DistanceTable, table: RouteTable, params: RouteParams, found: BestRoutes) -> None:
    """Replay the best route of each start from every other start, because a good route is often good from several starts."""
    values, lengths = found.values, found.lengths
    route = np.empty((MAX_WAYPOINTS, 2), np.int16)
    for number in range(5):
        if not params.directions >> number & 1:
            continue
        owned = _write_start(terms, distances, table, params, number)
        none = final_value(terms, distances, table.routes[0])
        if lengths[number] < 0 or none > values[number]:
            values[number], lengths[number] = none, 0
        for other in range(5):
            if lengths[other] > 0 and other != number:
                route[:] = found.routes[other]
                value, count = _replay(terms, distances, table, route, lengths[other], owned)
                if value > values[number]:
                    values[number], lengths[number] = value, count
                    found.routes[number] = route


@kernel
def _terms_of(params: RouteParams) -> Terms:
    least = 1e9
    for weight in params.weights:
        least = min(least, weight)
    pace, detour = typical_moves(params.distances, params.mines, params.beside_taverns)
    plies = len(params.pay) - 1
    return Terms(params.weights, params.deadlines, params.pay, plies, params.floor, params.late, least, params.home, pace, detour)


@entry(tuple_of([_INT, _INT])(_PARAMS, _INT, _EFFORT, _BEST_ROUTES, _INT64S))
def _improve(params: RouteParams, wanted: int, effort: Effort, found: BestRoutes, stop: NDArray[np.int64]) -> tuple[int, int]:
    """Search from every start in the set `wanted`, and write better routes into `found`.

    Return the number of nodes, and the set of starts whose search left routes out. `effort` is the effort for all starts
    together. ``effort.least`` is relative to the best value.
    """
    values, routes, lengths = found.values, found.routes, found.lengths
    terms = _terms_of(params)
    distances = make_distances(
        params.afters, params.me, params.directions, params.mines, params.beside_taverns, params.blocked, params.distances
    )
    table = make_table(effort.limit + 8 * (MAX_ROUTE_MINES + MAX_TAVERN_SQUARES))
    best, nodes, left, unfinished = NEVER, 0, 0, 0
    for number in range(5):
        best = max(best, values[number])
        left += wanted >> number & 1
    for number in range(5):
        if not wanted >> number & 1:
            continue
        owned = _write_start(terms, distances, table, params, number)
        known = max(values[number], final_value(terms, distances, table.routes[0]))
        share = Effort(effort.width, effort.fan, effort.taverns, (effort.limit - nodes) // left, best + effort.least)
        spent, complete, row = search(terms, distances, table, share, owned, known, stop)
        nodes, left = nodes + spent, left - 1
        if row >= 0:
            lengths[number] = _write_waypoints(table, row, routes[number])
            values[number] = final_value(terms, distances, table.routes[row])
            best = max(best, values[number])
        if not complete:
            unfinished |= 1 << number
    _replay_all(terms, distances, table, params, found)
    return nodes, unfinished


#: The searches in their order: width, fan, taverns (see `Effort`), and whether every direction is searched. The first searches
#: begin with Stay only; the other directions replay the route that these searches find.
_STAGES = (
    (1, 4, 1, False),
    (4, 5, 2, False),
    (16, 6, 2, False),
    (64, 8, 4, False),
    (16, 6, 2, True),
    (128, 10, 4, True),
    (1024, 16, 8, True),
    (1 << 30, 4 * MAX_ROUTE_MINES, MAX_TAVERN_SQUARES, True),
)


@dataclass(frozen=True)
class RoutePlan:
    """The best routes found so far.

    ``values[d]`` is the value in gold of the best route that begins with direction d (``-inf``: not planned for). `direction` is
    the best direction (the lowest if several are equally good). `waypoints` says where the best route in this direction leads
    after its first move: indices into `RouteParams.mines`, or -1 for a beer. `nodes` is the number of nodes searched so far.
    `complete` is true if no better route is possible.
    """

    values: tuple[float, ...]
    direction: int
    waypoints: tuple[int, ...]
    nodes: int
    complete: bool


def plan_routes(params: RouteParams, nodes: int, margin: float, stop: NDArray[np.int64]) -> Iterator[RoutePlan]:
    """Yield better and better plans, the first plan immediately. End after about `nodes` nodes, or when ``stop[0]`` is set.

    Values more than `margin` gold below the best value are not exact. `stop` is int64[1]. If it is never set, equal arguments
    give equal plans. The arguments do not change.
    """
    params = params._replace(late=float(params.late), home=float(params.home))  # kernels tell ints from floats
    found = BestRoutes(np.full(5, -np.inf), np.empty((5, MAX_WAYPOINTS, 2), np.int16), np.full(5, -1, np.int64))
    unfinished, spent = params.directions, 0
    for width, fan, taverns, everywhere in _STAGES:
        wanted = unfinished if everywhere else 1 << STAY
        effort = Effort(width, fan, taverns, max(0, nodes - spent), -float(margin))
        looked, left = _improve(params, wanted, effort, found, stop)
        spent += looked
        unfinished = left if everywhere else unfinished
        best = int(found.values.argmax())
        waypoints = tuple(found.routes[best, : max(0, found.lengths[best]), 1].tolist())
        yield RoutePlan(tuple(found.values.tolist()), best, waypoints, spent, not unfinished)
        if not unfinished or spent >= nodes or stop[0]:
            return
