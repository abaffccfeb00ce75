"""Tours: in which order to take mines and to drink, so that most gold is there at the end of the game.

A **stop** takes a mine or drinks a beer; a **tour** is a sequence of stops. Ways between stops are the map's distances, so a
stop costs no search; on the way to the first stop heroes and whatever else is blocked are walked around. All that the
rules charge is counted: a life for every move, 20 for a mine and more than that before it, 2 gold for a beer that heals 50
up to 100 (twice where he waits for the second), and the time that is left.

**What a tour is worth**: every mine pays ``pay[n]``, n being our plies from the one that takes it to the end, times its
weight, times `late` if an enemy can be there before us; every beer costs 2; and each move from the last mine to the next
tavern costs `home`. Beers after the last mine are not part of a tour.

**The search** (`behaviours.route.search`) is repeated with more and more width, until nothing was left out.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numba import types
from numpy.typing import NDArray

from behaviours.route.distances import distance, make_chart, make_rows, usual_moves
from behaviours.route.search import (
    HEADS,
    MOST_DRINKS,
    MOST_MINES,
    MOST_STOPS,
    NEVER,
    ONE,
    Terms,
    beer_next,
    final_of,
    make_sheet,
    mine_next,
    search,
    worth_of,
)
from sim.game import GAMES, MINE, STAY, TILE_BITS, Game, Games
from sim.kernels import entry, kernel

_INT64S = types.Array(types.int64, 1, "C")
_FLOATS = types.Array(types.float64, 1, "C")
_BYTES = types.Array(types.uint8, 1, "C")
_TABLE = types.Array(types.int16, 2, "C")
_STOPS = types.Array(types.int16, 3, "C")


@kernel
def _write_down(sheet, row, tour):
    """Write the first `MOST_STOPS` stops of a tour into `tour`, rows (place, mine or -1 for a beer); returns their number."""
    count, here = 0, row
    while here > 0:
        count += 1
        here = np.int64(sheet.parent[here])
    here = row
    for stop in range(count - 1, -1, -1):
        if stop < MOST_STOPS:
            tour[stop, 0], tour[stop, 1] = sheet.place[here], sheet.target[here]
        here = np.int64(sheet.parent[here])
    return min(count, MOST_STOPS)


@kernel
def _follow(terms, chart, sheet, tour, count, owned):
    """Make the stops of another start's tour from the one in row 0, as far as it goes; returns the best worth and its stops.

    Uses rows 1 and 2. Mines that are taken already are left out, and so are the stops for them.
    """
    best, best_count, parent, done = NEVER, 0, 0, 0
    for stop in range(count):
        place, mine = np.int64(tour[stop, 0]), np.int64(tour[stop, 1])
        if mine >= 0 and sheet.taken[parent] >> np.uint64(mine) & ONE:
            continue
        row = 2 if parent == 1 else 1
        moves = distance(chart, sheet.place[parent], place) + 1
        if sheet.time[parent] + moves > terms.plies:
            break
        if mine < 0:
            if not beer_next(terms, sheet, row, parent, moves, place, 0, owned):
                break
        elif not mine_next(terms, sheet, row, parent, moves, place, mine, owned):
            break
        tour[done, 0], tour[done, 1] = place, mine
        done, parent = done + 1, row
        if mine >= 0:
            if chart.bar_counts[place] < 0:
                make_rows(chart, place)
            final = final_of(terms, chart, place, np.int64(sheet.time[row]), sheet.value[row])
            if final > best:
                best, best_count = final, done
    return best, best_count


@kernel
def _start(terms, chart, sheet, before, after, me, number, mines):
    """Write the tour without stops after the direction `number` into row 0; returns the mines owned there but for those taken.

    Mines won or lost with this move, and the beer drunk, are in its value.
    """
    was, hero = before.hero[me], after.hero[me]
    taken, gained, worth = np.uint64(0), 0, 0.0
    for mine in range(len(mines)):
        if (np.int64(after.cell[mines[mine]]) & TILE_BITS) == MINE + 1 + me:
            taken |= ONE << np.uint64(mine)
            gained += 1
            worth += worth_of(terms, mine, 1)
    lost = np.int64(was.mines) + gained - np.int64(hero.mines)
    worth -= lost * terms.pay[terms.plies]
    worth += np.int64(hero.gold) - np.int64(was.gold) - np.int64(hero.mines)
    place = chart.known + number
    sheet.place[0], sheet.time[0], sheet.life[0], sheet.gold[0] = place, 1, hero.life, hero.gold
    sheet.count[0], sheet.target[0], sheet.parent[0], sheet.taken[0] = gained, -1, -1, taken
    sheet.value[0] = worth
    make_rows(chart, place)
    # What is in the way before the first stop may not be so after it, so the ways from here bound nothing.
    sheet.bound[0] = -NEVER
    return np.int64(hero.mines) - gained


@kernel
def _follow_all(terms, chart, sheet, before, afters, me, directions, mines, values, tours, lengths):
    """Let every start try the tours of all others: what was found for one is mostly good for all."""
    tour = np.empty((MOST_STOPS, 2), np.int16)
    for number in range(5):
        if not directions >> number & 1:
            continue
        owned = _start(terms, chart, sheet, before, afters[number], me, number, mines)
        none = final_of(terms, chart, chart.known + number, 1, sheet.value[0])
        if lengths[number] < 0 or none > values[number]:
            values[number], lengths[number] = none, 0
        for other in range(5):
            if lengths[other] > 0 and other != number:
                tour[:] = tours[other]
                worth, count = _follow(terms, chart, sheet, tour, lengths[other], owned)
                if worth > values[number]:
                    values[number], lengths[number] = worth, count
                    tours[number] = tour


@entry(
    types.UniTuple(types.int64, 2)(
        GAMES, GAMES, types.int64, types.int64, types.int64, _INT64S, _INT64S, _BYTES, _TABLE, _FLOATS, _INT64S, _FLOATS,
        types.int64, types.float64, types.float64, types.float64, types.int64, types.int64, types.int64, types.int64,
        _FLOATS, _STOPS, _INT64S, _INT64S,
    )
)  # fmt: skip
def _improve(
    games, afters, me, directions, wanted, mines, drinks, blocked, table, weights, deadlines, pay, floor,
    late, home, close, width, fan, bars, limit, values, tours, lengths, stop,
):  # fmt: skip
    """One search of every start in the set `wanted`; see `plans`. Returns the nodes, and the set of those left to search."""
    least = 1e9
    for weight in weights:
        least = min(least, weight)
    pace, detour = usual_moves(table, mines, drinks)
    terms = Terms(weights, deadlines, pay, len(pay) - 1, floor, late, least, home, pace, detour)
    chart = make_chart(afters, me, directions, mines, drinks, blocked, table)
    rows = limit + 8 * (MOST_MINES + MOST_DRINKS)
    sheet, heads, chosen = make_sheet(rows), np.empty(HEADS, np.int32), np.empty(rows, np.int64)
    best, nodes, left, still = NEVER, 0, 0, 0
    for number in range(5):
        best = max(best, values[number])
        left += wanted >> number & 1
    for number in range(5):
        if not wanted >> number & 1:
            continue
        owned = _start(terms, chart, sheet, games[0], afters[number], me, number, mines)
        known = max(values[number], final_of(terms, chart, chart.known + number, 1, sheet.value[0]))
        share = (limit - nodes) // left
        spent, whole, row = search(terms, chart, sheet, heads, chosen, owned, known, best - close, width, fan, bars, share, stop)
        nodes, left = nodes + spent, left - 1
        if row >= 0:
            lengths[number] = _write_down(sheet, row, tours[number])
            values[number] = final_of(terms, chart, np.int64(sheet.place[row]), np.int64(sheet.time[row]), sheet.value[row])
            best = max(best, values[number])
        if not whole:
            still |= 1 << number
    _follow_all(terms, chart, sheet, games[0], afters, me, directions, mines, values, tours, lengths)
    return nodes, still


#: Width, fan and bars of the searches, one after the other, and whether every direction is searched: at first only Stay is,
#: and the others follow its tour.
_STAGES = (
    (1, 4, 1, False),
    (4, 5, 2, False),
    (16, 6, 2, False),
    (64, 8, 4, False),
    (16, 6, 2, True),
    (128, 10, 4, True),
    (1024, 16, 8, True),
    (1 << 30, 4 * MOST_MINES, MOST_DRINKS, True),
)


@dataclass(frozen=True)
class Task:
    """What a plan is made for.

    `games` is the game, `me` the hero 0..3, `afters` the games after each of its five directions and `directions`
    the set of those that count (bit d is direction d). `mines` are the squares of mines worth taking (at most `MOST_MINES`),
    with the `weights` of a gold from each and its `deadlines`: with our ply of this number (1 is the present one) we are still
    before every enemy. `drinks` are squares of air beside taverns (at most `MOST_DRINKS`). `blocked` squares (uint8[1024], 1 =
    keep out) are not entered before the first stop; `distances` are those of the map. ``pay[n]`` is what a mine pays in n
    plies, and ``len(pay) - 1`` our plies to the end, the present one included. A mine is attacked with `floor` life or more. A
    mine that an enemy reaches first is worth `late` as much; a move home costs `home` gold.
    """

    games: Game
    me: int
    afters: Games
    directions: int
    mines: NDArray[np.int64]
    weights: NDArray[np.float64]
    deadlines: NDArray[np.int64]
    drinks: NDArray[np.int64]
    blocked: NDArray[np.uint8]
    distances: NDArray[np.int16]
    pay: NDArray[np.float64]
    floor: int = 21
    late: float = 1.0
    home: float = 0.0


@dataclass(frozen=True)
class Plan:
    """What is known about every direction: the worth of the best tour that begins with it, in gold (``-inf``: not asked).

    `direction` is the best of them (the first of equals); what it takes itself is not among its `stops`, which are the mines of
    its tour in order, as numbers in `Task.mines`, and -1 for a beer. `nodes` are those of all searches so far; `complete` tells
    whether no tour was left out that could be better.
    """

    values: tuple[float, ...]
    direction: int
    stops: tuple[int, ...]
    nodes: int
    complete: bool


def plans(task: Task, nodes: int, close: float, stop: NDArray[np.int64]) -> Iterator[Plan]:
    """Better and better plans, the first one at once; about `nodes` nodes are searched altogether, or until `stop` is set.

    Worths that are more than `close` below the best one are only known to be so. Deterministic but for `stop` (an int64 array
    of one word); nothing is changed.
    """
    values, lengths = np.full(5, -np.inf), np.full(5, -1, np.int64)
    tours = np.empty((5, MOST_STOPS, 2), np.int16)
    open_ones, spent = task.directions, 0
    for width, fan, bars, everywhere in _STAGES:
        wanted = open_ones if everywhere else 1 << STAY
        found, left = _improve(
            task.games, task.afters, task.me, task.directions, wanted, task.mines, task.drinks, task.blocked, task.distances,
            task.weights, task.deadlines, task.pay, task.floor, task.late, task.home, close, width, fan, bars,
            max(0, nodes - spent), values, tours, lengths, stop,
        )  # fmt: skip
        spent += found
        open_ones = left if everywhere else open_ones
        best = int(values.argmax())
        stops = tuple(tours[best, : max(0, lengths[best]), 1].tolist())
        yield Plan(tuple(values.tolist()), best, stops, spent, not open_ones)
        if not open_ones or spent >= nodes or stop[0]:
            return
