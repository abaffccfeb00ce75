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

from behaviours.route.distances import make_rows
from sim.game import BEER_COST, BEER_HEALS, MAX_LIFE, MINE_COST
from sim.kernels import kernel

#: Mines that a tour may take, and squares beside taverns; of more the nearest ones are considered.
MOST_MINES, MOST_DRINKS = 64, 64
#: Stops of a tour.
MOST_STOPS = 128
#: Mines count as hard to get if an enemy takes them this many rounds after us or sooner.
_HURRY = 4
EPSILON = 1e-9
NEVER = -1e18
HEADS = 1 << 14
_MIX_1, _MIX_2 = np.uint64(0x9E3779B97F4A7C15), np.uint64(0xD6E8FEB86659FD93)
ONE = np.uint64(1)


class Terms(NamedTuple):
    """What stops cost and are worth.

    `floor` is the least life for attacking a mine, `least` the smallest weight. `pace` guesses the moves from a mine to the
    next one, `detour` those for a beer on the way; only the order of tours depends on them.
    """

    weights: Any
    deadlines: Any
    pay: Any
    plies: int
    floor: int
    late: float
    least: float
    home: float
    pace: float
    detour: float


class Sheet(NamedTuple):
    """Tours, one per row: where and when they end, with what, what they are worth, and the tour that they go on from.

    `count` mines have been taken, `target` is the last stop (a mine's number, -1 for a beer). `bound` is what no tour that goes
    on from it can exceed, `hope` what one may well come to. `link` chains tours that end alike.
    """

    place: Any
    time: Any
    life: Any
    gold: Any
    count: Any
    target: Any
    taken: Any
    value: Any
    bound: Any
    hope: Any
    parent: Any
    link: Any


@kernel
def make_sheet(rows):
    return Sheet(
        np.empty(rows, np.int16),
        np.empty(rows, np.int32),
        np.empty(rows, np.int16),
        np.empty(rows, np.int32),
        np.empty(rows, np.int16),
        np.empty(rows, np.int16),
        np.empty(rows, np.uint64),
        np.empty(rows),
        np.empty(rows),
        np.empty(rows),
        np.empty(rows, np.int32),
        np.empty(rows, np.int32),
    )


@kernel
def worth_of(terms, mine, ply):
    """What taking a mine with our ply number `ply` (1 is the present one) is worth."""
    worth = terms.weights[mine] * terms.pay[terms.plies - ply + 1]
    return worth * terms.late if ply > terms.deadlines[mine] else worth


@kernel
def bound_of(terms, rows, count, taken, time, life, value):
    """No tour that goes on from here is worth more than the first number; the second is a guess at the best one.

    The k-th mine from here cannot be taken sooner than its rank in the order of distances allows, nor sooner than k plies,
    and one for each beer that life makes necessary, after the nearest one. Those plies are counted for the least weight;
    whatever a mine has above it, is counted as if we went there straight. Fewer mines with fewer beers may be better. The
    guess has us take them in the order of distances at a usual pace.
    """
    above, ranked, best, hope = 0.0, 0.0, 0.0, 0.0
    first, order, rank, drunk = np.int64(0), 0, 0, np.int64(0)
    for place in range(count):
        moves, mine = np.int64(rows[place, 0]), np.int64(rows[place, 2])
        if taken >> np.uint64(mine) & ONE:
            continue
        if time + moves > terms.plies:
            break
        taken |= ONE << np.uint64(mine)
        weight = terms.weights[mine]
        if time + moves > terms.deadlines[mine]:
            weight *= terms.late
        if order == 0:
            first = moves
        guess = first + terms.pace * order
        thirsty = terms.floor + MINE_COST * order + guess - 1.0 - life
        if thirsty > 0.0:
            drinks = np.int64(thirsty / BEER_HEALS) + 1
            guess += drinks * terms.detour
            if drinks > drunk:
                hope -= BEER_COST * (drinks - drunk)
                drunk = drinks
        ply = time + max(moves, np.int64(guess))
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
def final_of(terms, chart, place, time, value):
    """What a tour is worth that ends here with a mine: going home is charged for, as far as there is time."""
    if chart.bar_counts[place] == 0:
        return value
    return value - terms.home * min(np.int64(chart.bars[place, 0, 0]) - 1, terms.plies - time)


@kernel
def _slot(taken, place):
    return np.int64(((taken * _MIX_1) ^ (np.uint64(place) * _MIX_2)) * _MIX_1 >> np.uint64(50))


@kernel
def _is_new(terms, sheet, heads, slot, row):
    """Whether no tour that took the same mines and ends on the same square is as good; those that are worse are put out."""
    other = heads[slot]
    while other >= 0:
        if sheet.taken[other] == sheet.taken[row] and sheet.place[other] == sheet.place[row]:
            # More gold than three beers for each mine that may be left is of no use on the way.
            enough = 3 * BEER_COST * (MOST_MINES + 1 - np.int64(sheet.count[row]))
            mine, his = min(np.int64(sheet.gold[row]), enough), min(np.int64(sheet.gold[other]), enough)
            sooner, later = sheet.time[row] <= sheet.time[other], sheet.time[row] >= sheet.time[other]
            stronger, weaker = sheet.life[row] >= sheet.life[other], sheet.life[row] <= sheet.life[other]
            # Who ends later has a shorter way home to be charged for.
            worth = sheet.value[row] + terms.home * sheet.time[row]
            other_worth = sheet.value[other] + terms.home * sheet.time[other]
            if later and weaker and mine <= his and worth <= other_worth:
                return False
            if sooner and stronger and mine >= his and worth >= other_worth:
                sheet.bound[other] = NEVER
        other = sheet.link[other]
    return True


@kernel
def _keep(terms, chart, sheet, heads, row, least):
    """Whether the tour just written into a row can be worth more than `least` and is not another one's equal; link it."""
    place = np.int64(sheet.place[row])
    slot = _slot(sheet.taken[row], place)
    if not _is_new(terms, sheet, heads, slot, row):
        return False
    if chart.leg_counts[place] < 0:
        make_rows(chart, place)
    time, life, count = np.int64(sheet.time[row]), np.int64(sheet.life[row]), chart.leg_counts[place]
    bound, hope = bound_of(terms, chart.legs[place], count, sheet.taken[row], time, life, sheet.value[row])
    sheet.bound[row], sheet.hope[row] = bound, hope
    if sheet.bound[row] <= least + EPSILON:
        return False
    sheet.link[row], heads[slot] = heads[slot], row
    return True


@kernel
def mine_next(terms, sheet, row, parent, moves, place, mine, owned):
    """Write into a row the tour that goes on from `parent` by taking a mine; False if it cannot."""
    time, life = sheet.time[parent] + moves, max(1, np.int64(sheet.life[parent]) - moves + 1)
    if life < terms.floor:
        return False
    gain = worth_of(terms, mine, time)
    sheet.place[row], sheet.time[row], sheet.life[row] = place, time, max(1, life - MINE_COST - 1)
    sheet.gold[row] = sheet.gold[parent] + moves * (owned + sheet.count[parent]) + 1
    sheet.count[row], sheet.target[row], sheet.parent[row] = sheet.count[parent] + 1, mine, parent
    sheet.taken[row] = sheet.taken[parent] | ONE << np.uint64(mine)
    sheet.value[row] = sheet.value[parent] + gain
    return gain > 0.0


@kernel
def beer_next(terms, sheet, row, parent, moves, place, before, owned):
    """The same for a beer, waiting until it can be paid. False also if it is no better than one at the tavern passed."""
    earning, gold, life = owned + np.int64(sheet.count[parent]), np.int64(sheet.gold[parent]), np.int64(sheet.life[parent])
    on_the_way = life - before + 1 <= MAX_LIFE - BEER_HEALS and life >= moves
    if before > 0 and on_the_way and gold + (before - 1) * earning >= BEER_COST:
        return False
    gold += (moves - 1) * earning
    if gold < BEER_COST:
        if earning <= 0:
            return False
        waits = (BEER_COST - gold + earning - 1) // earning
        gold, moves = gold + waits * earning, moves + waits
    life = max(np.int64(1), life - moves + 1)
    if life >= MAX_LIFE - 1 or sheet.time[parent] + moves >= terms.plies:
        return False
    sheet.place[row], sheet.time[row] = place, sheet.time[parent] + moves
    sheet.life[row], sheet.gold[row] = min(np.int64(MAX_LIFE), life + BEER_HEALS) - 1, gold - BEER_COST + earning
    sheet.count[row], sheet.target[row], sheet.parent[row] = sheet.count[parent], -1, parent
    sheet.taken[row], sheet.value[row] = sheet.taken[parent], sheet.value[parent] - BEER_COST
    return True


@kernel
def _expand(terms, chart, sheet, heads, parent, size, owned, fan, best, least):
    """Write all tours of one mine more behind the `size` that there are.

    Returns the new size, the rows that were looked at, whether mines were left out, and the best tour (its worth, its row).
    """
    place, time, taken = np.int64(sheet.place[parent]), np.int64(sheet.time[parent]), sheet.taken[parent]
    rows, looked, best_at = chart.legs[place], 0, -1
    left_out, tried = False, 0
    for hard in (True, False):
        for leg in range(chart.leg_counts[place]):
            moves, there, mine = np.int64(rows[leg, 0]), np.int64(rows[leg, 1]), np.int64(rows[leg, 2])
            slack = terms.deadlines[mine] - time - moves
            if time + moves > terms.plies:
                break
            if taken >> np.uint64(mine) & ONE or (0 <= slack and slack < _HURRY) != hard:
                continue
            if tried >= fan:
                left_out = True
                break
            if not mine_next(terms, sheet, size, parent, moves, there, mine, owned):
                continue
            looked, tried = looked + 1, tried + 1
            if _keep(terms, chart, sheet, heads, size, max(best, least)):
                final = final_of(terms, chart, there, time + moves, sheet.value[size])
                if final > best:
                    best, best_at = final, size
                size += 1
    return size, looked, left_out, best, best_at


@kernel
def _expand_beers(terms, chart, sheet, heads, parent, size, owned, bars, least):
    """The same for a beer; `looked` and `left_out` as there. With few `bars` no beer is half wasted, and a second one is had
    where the first was."""
    place, looked, left_out = np.int64(sheet.place[parent]), 0, False
    few, second = bars < MOST_DRINKS, sheet.target[parent] < 0 and sheet.parent[parent] >= 0
    for bar in range(chart.bar_counts[place]):
        moves, there, before = np.int64(chart.bars[place, bar, 0]), chart.bars[place, bar, 1], chart.bars[place, bar, 2]
        if not beer_next(terms, sheet, size, parent, moves, there, np.int64(before), owned):
            continue
        wasted = sheet.life[size] == MAX_LIFE - 1 and sheet.life[parent] - moves > MAX_LIFE - BEER_HEALS // 2
        if looked >= bars or (few and (wasted or (second and moves > 1))):
            left_out = True
            continue
        looked += 1
        size += _keep(terms, chart, sheet, heads, size, least)
    return size, looked, left_out


@kernel
def _select(sheet, first, size, least, width, chosen):
    """Choose the `width` rows of the highest hope (earlier ones first among equals) out of those that can beat `least`.

    Returns how many were chosen, and whether that was all.
    """
    count = 0
    for row in range(first, size):
        if sheet.target[row] >= 0 and sheet.bound[row] > least + EPSILON:
            chosen[count] = row
            count += 1
    if count <= width:
        return count, True
    hopes = np.empty(count)
    for place in range(count):
        hopes[place] = sheet.hope[chosen[place]]
    limit = np.partition(hopes, count - width)[count - width]
    equals = width
    for place in range(count):
        equals -= hopes[place] > limit
    kept = 0
    for place in range(count):
        if hopes[place] > limit or (hopes[place] == limit and equals > 0):
            equals -= hopes[place] == limit
            chosen[kept] = chosen[place]
            kept += 1
    return kept, False


@kernel
def search(terms, chart, sheet, heads, chosen, owned, best, least, width, fan, bars, limit, stop):
    """Search on from the tour without stops in row 0. Returns the nodes, whether nothing was left out, and the best row.

    Rows may run out: there are `limit` and some more, and the search ends after about `limit` nodes or when `stop` is set.
    """
    heads[:] = -1
    chosen[0] = 0
    living, size, nodes, best_at, whole = 1, 1, 0, -1, True
    for _ in range(MOST_MINES + 1):
        first, number = size, 0
        while number < living:
            parent = chosen[number]
            number += 1
            if sheet.bound[parent] <= max(best, least) + EPSILON:
                continue
            if nodes > limit or stop[0]:
                return nodes, False, best_at
            size, looked, fewer_mines, best, found = _expand(terms, chart, sheet, heads, parent, size, owned, fan, best, least)
            best_at = found if found >= 0 else best_at
            beers = size
            size, drunk, fewer_beers = _expand_beers(terms, chart, sheet, heads, parent, size, owned, bars, max(best, least))
            # Who drinks has as many mines as before, so he goes on among those of his like.
            for row in range(beers, size):
                chosen[living] = row
                living += 1
            nodes += 1 + looked + drunk
            whole = whole and not fewer_mines and not fewer_beers
        living, all_kept = _select(sheet, first, size, max(best, least), width, chosen)
        whole = whole and all_kept
        if living == 0:
            return nodes, whole, best_at
    return nodes, False, best_at
