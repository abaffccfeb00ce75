"""The search for tours: longer and longer ones, the best of each length, nothing twice.

It goes from tours of k mines to those of k + 1, with beers in between. It keeps the `width` most promising of each length and
looks at the `fan` nearest mines and the `bars` nearest taverns of each, first at *the hardest*: mines that an enemy will soon
reach if we do not. Cut off are

- what life, gold or time do not allow;
- what cannot beat the best tour, even if the mines that are left were as near to one another as can be (`bound_of`);
- equal stops: of two tours that took the same mines and stand on the same square, the one that is later, has less life, less
  gold and less value.

Where nothing was left out for lack of width or fan, the best tour found is the best there is.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from behaviours.common.kernel_types import int64, uint64
from behaviours.route.distances import DistanceTable, make_rows
from sim.game import BEER_COST, BEER_HEALS, MAX_LIFE, MINE_COST
from sim.kernels import kernel

#: Mines that a tour may take, and squares beside taverns; of more the nearest ones are considered.
MOST_MINES, MOST_DRINKS = 64, 64
#: Stops of a tour.
MAX_WAYPOINTS = 128
#: Mines count as hard to get if an enemy takes them this many rounds after us or sooner.
_HURRY = 4
EPSILON = 1e-9
NEVER = -1e18
HEADS = 1 << 14
_MIX_1, _MIX_2 = uint64(0x9E3779B97F4A7C15), uint64(0xD6E8FEB86659FD93)
ONE = uint64(1)


class Terms(NamedTuple):
    """What stops cost and are worth.

    `floor` is the least life for attacking a mine, `least` the smallest weight. `pace` guesses the moves from a mine to the
    next one, `detour` those for a beer on the way; only the order of tours depends on them.
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
    """How much is searched.

    The `width` most promising tours of each length are gone on from, to the `fan` nearest mines and the `bars` nearest taverns
    of each. Ends after about `limit` nodes. A tour that cannot be worth more than `least` is of no interest.
    """

    width: int
    fan: int
    bars: int
    limit: int
    least: float


#: One tour: where and when it ends, with what, what it is worth, and the tour that it goes on from (`parent`). `mines` is the
#: number of mines taken, `target` the last stop (a mine's number, -1 for a beer). `bound` is what no tour that goes on from it
#: can exceed, `hope` what one may well come to. `link` chains tours that end alike.
TOUR = np.dtype(
    (
        np.record,
        [
            ("value", "f8"),
            ("bound", "f8"),
            ("hope", "f8"),
            ("taken", "u8"),
            ("time", "i4"),
            ("gold", "i4"),
            ("parent", "i4"),
            ("link", "i4"),
            ("place", "i2"),
            ("life", "i2"),
            ("mines", "i2"),
            ("target", "i2"),
        ],
    )
)
#: One record of `TOUR`.
TourRecord = Any


class Tables(NamedTuple):
    """The tours so far. `heads` are the first ones of the chains of tours that end alike, `chosen` those to go on from."""

    routes: NDArray[np.void]
    heads: NDArray[np.int32]
    chosen: NDArray[np.int64]


@kernel
def make_table(rows: int) -> Tables:
    """A sheet with room for this number of tours."""
    return Tables(np.empty(rows, TOUR), np.empty(HEADS, np.int32), np.empty(rows, np.int64))


@kernel
def worth_of(terms: Terms, mine: int, ply: int) -> float:
    """What taking a mine with our ply number `ply` (1 is the present one) is worth."""
    worth: float = terms.weights[mine] * terms.pay[terms.plies - ply + 1]
    return worth * terms.late if ply > terms.deadlines[mine] else worth


@kernel
def bound_of(terms: Terms, rows: NDArray[np.int16], count: int, route: TourRecord) -> tuple[float, float]:
    """What no tour that goes on from this one can exceed, and a guess at the best one. `rows` are the ways from its end.

    The k-th mine from here cannot be taken sooner than its rank by distance allows, nor sooner than k plies, and one for each
    beer that life makes necessary, after the nearest one. Those plies are counted for the least weight; what a mine has above it
    is counted as if we went there straight. Fewer mines with fewer beers may be better. The guess takes the mines in the order
    of distances at a usual pace.
    """
    taken, time, life, value = route.taken, int64(route.time), int64(route.life), float(route.value)
    above, ranked, best, hope = 0.0, 0.0, 0.0, 0.0
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
            drinks = int64(thirsty / BEER_HEALS) + 1
            guess += drinks * terms.detour
            if drinks > drunk:
                hope -= BEER_COST * (drinks - drunk)
                drunk = drinks
        ply = time + max(moves, int64(guess))
        if ply <= terms.plies:
            hope += weight * terms.pay[terms.plies - ply + 1]
        order += 1
        straight = terms.pay[terms.plies - time - moves + 1]
        if weight < terms.least:
            above += weight * straight
            continue
        above += (weight - terms.least) * straight
        # Life cannot go below 1 by thirst, so beyond the first beer only what the mines cost is sure.
        short = terms.floor + MINE_COST * rank - life
        beers = (short + BEER_HEALS - 1) // BEER_HEALS if short > 0 else 0
        if beers == 0 and short + max(moves, first + rank) - 1 > 0:
            beers = 1
        ply = time + max(moves, first + rank + beers)
        if ply <= terms.plies:
            ranked += terms.least * terms.pay[terms.plies - ply + 1]
            best = max(best, ranked - BEER_COST * beers)
        rank += 1
    return value + above + best, value + hope


@kernel
def final_of(terms: Terms, distances: DistanceTable, route: TourRecord) -> float:
    """What a tour is worth that ends here with a mine: going home is charged for, as far as there is time."""
    value, place = float(route.value), int64(route.place)
    if distances.bar_counts[place] == 0:
        return value
    return value - terms.home * min(int64(distances.bars[place, 0, 0]) - 1, terms.plies - int64(route.time))


@kernel
def _slot(taken: int, place: int) -> int:
    return int64(((taken * _MIX_1) ^ (uint64(place) * _MIX_2)) * _MIX_1 >> uint64(50))


@kernel
def _is_new(terms: Terms, table: Tables, slot: int, row: int) -> bool:
    """Whether no tour that took the same mines and ends on the same square is as good; those that are worse are put out."""
    route, other = table.routes[row], table.heads[slot]
    while other >= 0:
        rival = table.routes[other]
        if rival.taken == route.taken and rival.place == route.place:
            # More gold than three beers for each mine that may be left is of no use on the way.
            enough = 3 * BEER_COST * (MOST_MINES + 1 - int64(route.mines))
            gold, other_gold = min(int64(route.gold), enough), min(int64(rival.gold), enough)
            sooner, later = route.time <= rival.time, route.time >= rival.time
            stronger, weaker = route.life >= rival.life, route.life <= rival.life
            # A tour that ends later has a shorter way home to be charged for.
            worth = route.value + terms.home * route.time
            other_worth = rival.value + terms.home * rival.time
            if later and weaker and gold <= other_gold and worth <= other_worth:
                return False
            if sooner and stronger and gold >= other_gold and worth >= other_worth:
                rival.bound = NEVER
        other = rival.link
    return True


@kernel
def _keep(terms: Terms, distances: DistanceTable, table: Tables, row: int, least: float) -> bool:
    """Whether the tour just written into a row can be worth more than `least` and is not another one's equal; link it."""
    route = table.routes[row]
    place = int64(route.place)
    slot = _slot(route.taken, place)
    if not _is_new(terms, table, slot, row):
        return False
    if distances.leg_counts[place] < 0:
        make_rows(distances, place)
    route.bound, route.hope = bound_of(terms, distances.legs[place], distances.leg_counts[place], route)
    if route.bound <= least + EPSILON:
        return False
    route.link, table.heads[slot] = table.heads[slot], row
    return True


@kernel
def mine_next(terms: Terms, table: Tables, row: int, parent: int, moves: int, place: int, mine: int, owned: int) -> bool:
    """Write into a row the tour that goes on from `parent` by taking a mine; False if it cannot."""
    route, last = table.routes[row], table.routes[parent]
    time, life = last.time + moves, max(1, int64(last.life) - moves + 1)
    if life < terms.floor:
        return False
    gain: float = worth_of(terms, mine, time)
    route.place, route.time, route.life = place, time, max(1, life - MINE_COST - 1)
    route.gold = last.gold + moves * (owned + last.mines) + 1
    route.mines, route.target, route.parent = last.mines + 1, mine, parent
    route.taken = last.taken | ONE << uint64(mine)
    route.value = last.value + gain
    return gain > 0.0


@kernel
def beer_next(terms: Terms, table: Tables, row: int, parent: int, moves: int, place: int, before: int, owned: int) -> bool:
    """The same for a beer, waiting until it can be paid. False also if it is no better than one at the tavern passed."""
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
def _expand(
    terms: Terms, distances: DistanceTable, table: Tables, effort: Effort, parent: int, size: int, owned: int, best: float
) -> tuple[int, int, bool, float, int]:
    """Write all tours of one mine more behind the `size` that there are.

    Returns the new size, the rows that were looked at, whether mines were left out, and the best tour (its worth, its row).
    """
    last = table.routes[parent]
    place, time, taken = int64(last.place), int64(last.time), last.taken
    rows, looked, best_at = distances.legs[place], 0, -1
    left_out, tried = False, 0
    for hard in (True, False):
        for leg in range(distances.leg_counts[place]):
            moves, there, mine = int64(rows[leg, 0]), int64(rows[leg, 1]), int64(rows[leg, 2])
            slack = terms.deadlines[mine] - time - moves
            if time + moves > terms.plies:
                break
            if taken >> uint64(mine) & ONE or (0 <= slack and slack < _HURRY) != hard:
                continue
            if tried >= effort.fan:
                left_out = True
                break
            if not mine_next(terms, table, size, parent, moves, there, mine, owned):
                continue
            looked, tried = looked + 1, tried + 1
            if _keep(terms, distances, table, size, max(best, effort.least)):
                final = final_of(terms, distances, table.routes[size])
                if final > best:
                    best, best_at = final, size
                size += 1
    return size, looked, left_out, best, best_at


@kernel
def _expand_beers(
    terms: Terms, distances: DistanceTable, table: Tables, effort: Effort, parent: int, size: int, owned: int, best: float
) -> tuple[int, int, bool]:
    """The same for a beer; `looked` and `left_out` as there. With few `bars` no beer is half wasted, and a second one is had
    where the first was."""
    last = table.routes[parent]
    place, looked, left_out = int64(last.place), 0, False
    few, second = effort.bars < MOST_DRINKS, last.target < 0 and last.parent >= 0
    for bar in range(distances.bar_counts[place]):
        moves, there, before = int64(distances.bars[place, bar, 0]), distances.bars[place, bar, 1], distances.bars[place, bar, 2]
        if not beer_next(terms, table, size, parent, moves, there, int64(before), owned):
            continue
        wasted = table.routes[size].life == MAX_LIFE - 1 and last.life - moves > MAX_LIFE - BEER_HEALS // 2
        if looked >= effort.bars or (few and (wasted or (second and moves > 1))):
            left_out = True
            continue
        looked += 1
        size += _keep(terms, distances, table, size, max(best, effort.least))
    return size, looked, left_out


@kernel
def _select(table: Tables, first: int, size: int, least: float, width: int) -> tuple[int, bool]:
    """Choose the `width` rows of the highest hope (earlier ones first among equals) out of those that can beat `least`.

    Returns how many were chosen, and whether that was all.
    """
    count = 0
    for row in range(first, size):
        if table.routes[row].target >= 0 and table.routes[row].bound > least + EPSILON:
            table.chosen[count] = row
            count += 1
    if count <= width:
        return count, True
    hopes = np.empty(count)
    for place in range(count):
        hopes[place] = table.routes[table.chosen[place]].hope
    limit = np.partition(hopes, count - width)[count - width]
    equals = width
    for place in range(count):
        equals -= hopes[place] > limit
    kept = 0
    for place in range(count):
        if hopes[place] > limit or (hopes[place] == limit and equals > 0):
            equals -= hopes[place] == limit
            table.chosen[kept] = table.chosen[place]
            kept += 1
    return kept, False


@kernel
def search(
    terms: Terms, distances: DistanceTable, table: Tables, effort: Effort, owned: int, best: float, stop: NDArray[np.int64]
) -> tuple[int, bool, int]:
    """Search on from the tour without stops in row 0. Returns the nodes, whether nothing was left out, and the best row.

    `best` is what is known to be possible; the row is -1 if nothing better was found. Ends after about ``effort.limit`` nodes,
    because there are no more rows than these and some, or when ``stop[0]`` is set.
    """
    table.heads[:] = -1
    table.chosen[0] = 0
    living, size, nodes, best_at, whole = 1, 1, 0, -1, True
    for _ in range(MOST_MINES + 1):
        first, number = size, 0
        while number < living:
            parent = table.chosen[number]
            number += 1
            if table.routes[parent].bound <= max(best, effort.least) + EPSILON:
                continue
            if nodes > effort.limit or stop[0]:
                return nodes, False, best_at
            size, looked, fewer_mines, best, found = _expand(terms, distances, table, effort, parent, size, owned, best)
            best_at = found if found >= 0 else best_at
            beers = size
            size, drunk, fewer_beers = _expand_beers(terms, distances, table, effort, parent, size, owned, best)
            # After a beer a tour has as many mines as before, so it goes on among those of its length.
            for row in range(beers, size):
                table.chosen[living] = row
                living += 1
            nodes += 1 + looked + drunk
            whole = whole and not fewer_mines and not fewer_beers
        living, all_kept = _select(table, first, size, max(best, effort.least), effort.width)
        whole = whole and all_kept
        if living == 0:
            return nodes, whole, best_at
    return nodes, False, best_at
