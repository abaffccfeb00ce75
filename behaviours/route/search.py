"""The search for routes. It extends the best routes with k mines to routes with k + 1 mines, for k = 0, 1, 2 and so on.

A route may drink beers between two mines. Of all routes with k mines, the search extends the `width` most promising ones. It
extends a route to the `fan` nearest mines and to the `taverns` nearest squares beside taverns. Urgent mines, which an enemy can
take soon after us, come first. The search drops

- routes that life, gold or time do not allow;
- routes whose upper bound (`bound_and_estimate`) is not above the best value;
- dominated routes. Two routes are compared if they took the same mines and end on the same square. The first one dominates the
  second one if it ends no later and has at least as much life, gold and value.

If no route was left out because of `width`, `fan` or `taverns`, the best route found is optimal.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from behaviours.common.kernel_types import int64, uint64
from behaviours.route.distances import DistanceTable, make_rows
from sim.game import BEER_COST, BEER_HEALS, MAX_LIFE, MINE_COST
from sim.kernels import kernel

#: Largest number of mines, and of squares beside taverns. If there are more, the nearest ones count.
MAX_ROUTE_MINES, MAX_TAVERN_SQUARES = 64, 64
#: Largest number of waypoints that are stored.
MAX_WAYPOINTS = 128
#: A mine is urgent if an enemy can take it fewer than this many rounds after us.
_URGENT_ROUNDS = 4
EPSILON = 1e-9
NEVER = -1e18
CHAINS = 1 << 14
_MULTIPLIER_1, _MULTIPLIER_2 = uint64(0x9E3779B97F4A7C15), uint64(0xD6E8FEB86659FD93)
ONE = uint64(1)


class Terms(NamedTuple):
    """Costs and values of waypoints.

    Most fields are those of `behaviours.route.plan.RouteParams`. `plies` is the number of our plies left, and `least` is the
    smallest weight of a mine. `pace` is the typical number of moves from one mine to the next, and `detour` is the typical number
    of additional moves for a beer. Only estimates depend on `pace` and `detour`.
    """

    weights: NDArray[np.float64]
    deadlines: NDArray[np.int64]
    pay: NDArray[np.float64]
    plies: int
    floor: int
    late: float
    least: float
    home: float
    pace: float
    detour: float


class Effort(NamedTuple):
    """The effort of a search.

    The search extends the `width` most promising routes of each length to the `fan` nearest mines and to the `taverns` nearest
    squares beside taverns. The search ends after about `limit` nodes. It drops routes that cannot be worth more than `least`
    gold.
    """

    width: int
    fan: int
    taverns: int
    limit: int
    least: float


#: One route: its `place`, `time` (plies), `life` and `gold` at its end, its `value` in gold, and the row of the route that it
#: extends (`parent`). `mines` is the number of mines taken, `taken` their set, `target` the last waypoint (a mine, or -1 for a
#: beer). `bound` is an upper bound of the value of the route's extensions, `estimate` a guess of this value. `link` is the row of
#: the next route in its chain.
ROUTE = np.dtype(
    (
        np.record,
        [(name, "f8") for name in ("value", "bound", "estimate")]
        + [("taken", "u8")]
        + [(name, "i4") for name in ("time", "gold", "parent", "link")]
        + [(name, "i2") for name in ("place", "life", "mines", "target")],
    )
)
#: One record of `ROUTE`.
RouteRecord = Any


class RouteTable(NamedTuple):
    """The routes so far, one per row.

    A chain links routes whose mines and last place have the same hash. `heads` holds the first row of each chain (-1: empty),
    `chosen` the rows to extend.
    """

    routes: NDArray[np.void]
    heads: NDArray[np.int32]
    chosen: NDArray[np.int64]


@kernel
def make_table(rows: int) -> RouteTable:
    """Return an empty table with room for `rows` routes."""
    return RouteTable(np.empty(rows, ROUTE), np.empty(CHAINS, np.int32), np.empty(rows, np.int64))


@kernel
def mine_value(terms: Terms, mine: int, ply: int) -> float:
    """Return the value in gold of taking a mine in our ply number `ply` (1: this ply)."""
    value: float = terms.weights[mine] * terms.pay[terms.plies - ply + 1]
    return value * terms.late if ply > terms.deadlines[mine] else value


@kernel
def bound_and_estimate(terms: Terms, rows: NDArray[np.int16], count: int, route: RouteRecord) -> tuple[float, float]:
    """Return an upper bound and an estimate of the value of a route's extensions. `rows` are the mine legs from its end.

    The estimate assumes that the hero takes the mines in the order of distance, at the typical pace.

    The bound is the sum of the route's value and two parts.

    - The first part gives every mine the smallest weight, and takes the mines in the order of distance. Mine number k (0: the
      nearest) is taken as early as possible: not sooner than its distance, and not sooner than k plies after the nearest mine.
      Each beer that the hero's life requires takes one more ply. A route with fewer mines needs fewer beers. So the first part is
      the largest value over all numbers of mines.
    - The second part adds, for each mine, the value of the difference between its weight and the smallest weight. It assumes that
      the hero goes straight to this mine.
    """
    taken, time, life, value = route.taken, int64(route.time), int64(route.life), float(route.value)
    above, ranked, best, estimate = 0.0, 0.0, 0.0, 0.0
    first, order, rank, drunk = int64(0), 0, 0, int64(0)
    for place in range(count):
        moves, mine = int64(rows[place, 0]), int64(rows[place, 2])
        if taken >> uint64(mine) & ONE:
            continue
        if time + moves > terms.plies:
            break
        taken |= ONE << uint64(mine)
        weight = terms.weights[mine]
        if time + moves > terms.deadlines[mine]:
            weight *= terms.late
        if order == 0:
            first = moves
        guess = first + terms.pace * order
        thirsty = terms.floor + MINE_COST * order + guess - 1.0 - life
        if thirsty > 0.0:
            needed = int64(thirsty / BEER_HEALS) + 1
            guess += needed * terms.detour
            if needed > drunk:
                estimate -= BEER_COST * (needed - drunk)
                drunk = needed
        ply = time + max(moves, int64(guess))
        if ply <= terms.plies:
            estimate += weight * terms.pay[terms.plies - ply + 1]
        order += 1
        straight = terms.pay[terms.plies - time - moves + 1]
        if weight < terms.least:
            above += weight * straight
            continue
        above += (weight - terms.least) * straight
        # A hero with 1 life loses nothing to thirst. So after the first beer, it is only certain that the mines cost life.
        short = terms.floor + MINE_COST * rank - life
        beers = (short + BEER_HEALS - 1) // BEER_HEALS if short > 0 else 0
        if beers == 0 and short + max(moves, first + rank) - 1 > 0:
            beers = 1
        ply = time + max(moves, first + rank + beers)
        if ply <= terms.plies:
            ranked += terms.least * terms.pay[terms.plies - ply + 1]
            best = max(best, ranked - BEER_COST * beers)
        rank += 1
    return value + above + best, value + estimate


@kernel
def final_value(terms: Terms, distances: DistanceTable, route: RouteRecord) -> float:
    """Return the value of `route` if it ends now: its value minus `home` for each move to the nearest tavern.

    Moves after the end of the game cost nothing.
    """
    value, place = float(route.value), int64(route.place)
    if distances.tavern_leg_counts[place] == 0:
        return value
    return value - terms.home * min(int64(distances.tavern_legs[place, 0, 0]) - 1, terms.plies - int64(route.time))


@kernel
def _chain_of(taken: int, place: int) -> int:
    return int64(((taken * _MULTIPLIER_1) ^ (uint64(place) * _MULTIPLIER_2)) * _MULTIPLIER_1 >> uint64(50))


@kernel
def _is_new(terms: Terms, table: RouteTable, chain: int, row: int) -> bool:
    """Return False if a route of the chain dominates the new route in `row`, else True.

    Drop the routes of the chain that the new route dominates.
    """
    route, other = table.routes[row], table.heads[chain]
    while other >= 0:
        rival = table.routes[other]
        if rival.taken == route.taken and rival.place == route.place:
            # A route never needs gold for more than three beers per remaining mine.
            enough = 3 * BEER_COST * (MAX_ROUTE_MINES + 1 - int64(route.mines))
            gold, other_gold = min(int64(route.gold), enough), min(int64(rival.gold), enough)
            sooner, later = route.time <= rival.time, route.time >= rival.time
            stronger, weaker = route.life >= rival.life, route.life <= rival.life
            # A route that ends later has less time left, so the way home costs it less.
            value = route.value + terms.home * route.time
            other_value = rival.value + terms.home * rival.time
            if later and weaker and gold <= other_gold and value <= other_value:
                return False
            if sooner and stronger and gold >= other_gold and value >= other_value:
                rival.bound = NEVER
        other = rival.link
    return True


@kernel
def _link(terms: Terms, distances: DistanceTable, table: RouteTable, row: int, least: float) -> bool:
    """Add the new route in `row` to its chain, if it may be worth more than `least` and no route dominates it.

    Return whether the route was added.
    """
    route = table.routes[row]
    place = int64(route.place)
    chain = _chain_of(route.taken, place)
    if not _is_new(terms, table, chain, row):
        return False
    if distances.mine_leg_counts[place] < 0:
        make_rows(distances, place)
    route.bound, route.estimate = bound_and_estimate(terms, distances.mine_legs[place], distances.mine_leg_counts[place], route)
    if route.bound <= least + EPSILON:
        return False
    route.link, table.heads[chain] = table.heads[chain], row
    return True


@kernel
def extend_by_mine(terms: Terms, table: RouteTable, row: int, parent: int, moves: int, place: int, mine: int, owned: int) -> bool:
    """Extend the route `parent` by one mine, and write the new route to `row`.

    `moves` is the number of moves, including the move that takes the mine. `place` is the place beside the mine. `owned` is the
    number of our mines that the route did not take. Return False if the hero has less than `terms.floor` life at the mine, or if
    the mine is worth nothing.
    """
    route, last = table.routes[row], table.routes[parent]
    time, life = last.time + moves, max(1, int64(last.life) - moves + 1)
    if life < terms.floor:
        return False
    gain: float = mine_value(terms, mine, time)
    route.place, route.time, route.life = place, time, max(1, life - MINE_COST - 1)
    route.gold = last.gold + moves * (owned + last.mines) + 1
    route.mines, route.target, route.parent = last.mines + 1, mine, parent
    route.taken = last.taken | ONE << uint64(mine)
    route.value = last.value + gain
    return gain > 0.0


@kernel
def extend_by_beer(
    terms: Terms, table: RouteTable, row: int, parent: int, moves: int, place: int, before: int, owned: int
) -> bool:
    """Extend the route `parent` by one beer, and write the new route to `row`. If the gold is missing, the hero waits for it.

    Return False if there is no gold or no time for the beer, or if the beer heals nothing (99 life or more). `before` is the
    number of moves to another tavern that the way passes (0: none). If a beer there is as good, return False, too.
    """
    route, last = table.routes[row], table.routes[parent]
    earning, gold, life = owned + int64(last.mines), int64(last.gold), int64(last.life)
    on_the_way = life - before + 1 <= MAX_LIFE - BEER_HEALS and life >= moves
    if before > 0 and on_the_way and gold + (before - 1) * earning >= BEER_COST:
        return False
    gold += (moves - 1) * earning
    if gold < BEER_COST:
        if earning <= 0:
            return False
        waits = (BEER_COST - gold + earning - 1) // earning
        gold, moves = gold + waits * earning, moves + waits
    life = max(int64(1), life - moves + 1)
    if life >= MAX_LIFE - 1 or last.time + moves >= terms.plies:
        return False
    route.place, route.time = place, last.time + moves
    route.life, route.gold = min(int64(MAX_LIFE), life + BEER_HEALS) - 1, gold - BEER_COST + earning
    route.mines, route.target, route.parent = last.mines, -1, parent
    route.taken, route.value = last.taken, last.value - BEER_COST
    return True


@kernel
def _expand_mines(
    terms: Terms, distances: DistanceTable, table: RouteTable, effort: Effort, parent: int, size: int, owned: int, best: float
) -> tuple[int, int, bool, float, int]:
    """Append the extensions of `parent` by one mine behind the `size` rows in use.

    Return the new size, the number of routes tried, whether mines were left out, and the best route (its value, its row or -1).
    """
    last = table.routes[parent]
    place, time, taken = int64(last.place), int64(last.time), last.taken
    rows, looked, best_row = distances.mine_legs[place], 0, -1
    left_out, tried = False, 0
    for urgent in (True, False):
        for leg in range(distances.mine_leg_counts[place]):
            moves, there, mine = int64(rows[leg, 0]), int64(rows[leg, 1]), int64(rows[leg, 2])
            slack = terms.deadlines[mine] - time - moves
            if time + moves > terms.plies:
                break
            if taken >> uint64(mine) & ONE or (0 <= slack and slack < _URGENT_ROUNDS) != urgent:
                continue
            if tried >= effort.fan:
                left_out = True
                break
            if not extend_by_mine(terms, table, size, parent, moves, there, mine, owned):
                continue
            looked, tried = looked + 1, tried + 1
            if _link(terms, distances, table, size, max(best, effort.least)):
                final = final_value(terms, distances, table.routes[size])
                if final > best:
                    best, best_row = final, size
                size += 1
    return size, looked, left_out, best, best_row


@kernel
def _expand_beers(
    terms: Terms, distances: DistanceTable, table: RouteTable, effort: Effort, parent: int, size: int, owned: int, best: float
) -> tuple[int, int, bool]:
    """Append the extensions of `parent` by one beer behind the `size` rows in use.

    Return the new size, the number of routes tried, and whether beers were left out. If ``effort.taverns`` is below the maximum,
    the kernel leaves out beers that would waste half their effect. It also leaves out a second beer at another tavern.
    """
    last = table.routes[parent]
    place, looked, left_out = int64(last.place), 0, False
    few, second = effort.taverns < MAX_TAVERN_SQUARES, last.target < 0 and last.parent >= 0
    for leg in range(distances.tavern_leg_counts[place]):
        moves, there, before = (
            int64(distances.tavern_legs[place, leg, 0]),
            distances.tavern_legs[place, leg, 1],
            distances.tavern_legs[place, leg, 2],
        )
        if not extend_by_beer(terms, table, size, parent, moves, there, int64(before), owned):
            continue
        wasted = table.routes[size].life == MAX_LIFE - 1 and last.life - moves > MAX_LIFE - BEER_HEALS // 2
        if looked >= effort.taverns or (few and (wasted or (second and moves > 1))):
            left_out = True
            continue
        looked += 1
        size += _link(terms, distances, table, size, max(best, effort.least))
    return size, looked, left_out


@kernel
def _select(table: RouteTable, first: int, size: int, least: float, width: int) -> tuple[int, bool]:
    """Write the `width` rows with the highest estimates, out of the rows `first` to `size` - 1, into ``table.chosen``.

    Only routes that end with a mine and may be worth more than `least` are candidates. If estimates are equal, the earlier row is
    chosen. Return the number of rows chosen, and whether all candidates were chosen.
    """
    count, estimates = 0, np.empty(size - first)
    for row in range(first, size):
        route = table.routes[row]
        if route.target >= 0 and route.bound > least + EPSILON:
            table.chosen[count], estimates[count] = row, -route.estimate
            count += 1
    if count <= width:
        return count, True
    best = np.sort(np.argsort(estimates[:count], kind="mergesort")[:width])  # a stable sort
    for place in range(width):
        table.chosen[place] = table.chosen[best[place]]
    return width, False


@kernel
def search(
    terms: Terms, distances: DistanceTable, table: RouteTable, effort: Effort, owned: int, best: float, stop: NDArray[np.int64]
) -> tuple[int, bool, int]:
    """Extend the route in row 0, which has no waypoints, to better and longer routes.

    Return the number of nodes, whether nothing was left out, and the row of the best route. This row is -1 if no route is better
    than `best`, the best value known before. Row 0 is a route of one move. `owned` is the number of our mines after this move,
    without a mine that this move took. The search ends after about ``effort.limit`` nodes, or when ``stop[0]`` is set. The table
    must have a row for each node.
    """
    table.heads[:] = -1
    table.chosen[0] = 0
    open_count, size, nodes, best_row, complete = 1, 1, 0, -1, True
    for _ in range(MAX_ROUTE_MINES + 1):
        first, number = size, 0
        while number < open_count:
            parent = table.chosen[number]
            number += 1
            if table.routes[parent].bound <= max(best, effort.least) + EPSILON:
                continue
            if nodes > effort.limit or stop[0]:
                return nodes, False, best_row
            size, looked, fewer_mines, best, found = _expand_mines(terms, distances, table, effort, parent, size, owned, best)
            best_row = found if found >= 0 else best_row
            beers = size
            size, drunk, fewer_beers = _expand_beers(terms, distances, table, effort, parent, size, owned, best)
            # A beer adds no mine. So a route with one more beer is extended in this round, which is for its number of mines.
            for row in range(beers, size):
                table.chosen[open_count] = row
                open_count += 1
            nodes += 1 + looked + drunk
            complete = complete and not fewer_mines and not fewer_beers
        open_count, all_chosen = _select(table, first, size, max(best, effort.least), effort.width)
        complete = complete and all_chosen
        if open_count == 0:
            return nodes, complete, best_row
    return nodes, False, best_row
