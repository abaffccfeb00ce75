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
from typing import NamedTuple

import numpy as np
from numba import types
from numpy.typing import NDArray

from behaviours.common.kernel_types import int64, tuple_of, uint64
from behaviours.route.distances import DistanceTable, distance, make_distances, make_rows, usual_moves
from behaviours.route.search import (
    MAX_WAYPOINTS,
    MOST_DRINKS,
    MOST_MINES,
    NEVER,
    ONE,
    Effort,
    Tables,
    Terms,
    beer_next,
    final_of,
    make_table,
    mine_next,
    search,
    worth_of,
)
from sim.game import GAMES, MINE, STAY, TILE_BITS, Game, Games
from sim.kernels import entry, kernel


class Task(NamedTuple):
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


class Found(NamedTuple):
    """The best tours so far, by direction: their worth in gold (-inf: not asked), their stops and the number of these (-1: none).

    A stop is a row (place, mine or -1 for a beer).
    """

    values: NDArray[np.float64]
    routes: NDArray[np.int16]
    lengths: NDArray[np.int64]


class Stage(NamedTuple):
    """One search: of the directions in the set `wanted`, with about `limit` nodes; tours `close` below the best are of interest.

    For `width`, `fan` and `bars` see `behaviours.route.search.Effort`.
    """

    wanted: int
    width: int
    fan: int
    bars: int
    limit: int
    close: float


_INT, _FLOAT = types.int64, types.float64
_INT64S, _FLOATS = types.Array(_INT, 1, "C"), types.Array(_FLOAT, 1, "C")
_TASK = tuple_of(
    [
        GAMES, _INT, GAMES, _INT, _INT64S, _FLOATS, _INT64S, _INT64S, types.Array(types.uint8, 1, "C"),
        types.Array(types.int16, 2, "C"), _FLOATS, _INT, _FLOAT, _FLOAT,
    ],
    Task,
)  # fmt: skip
_FOUND = tuple_of([_FLOATS, types.Array(types.int16, 3, "C"), _INT64S], Found)
_STAGE = tuple_of([_INT, _INT, _INT, _INT, _INT, _FLOAT], Stage)


@kernel
def _write_down(table: Tables, row: int, route: NDArray[np.int16]) -> int:
    """Write the first `MAX_WAYPOINTS` stops of a tour into `route`, rows (place, mine or -1 for a beer); returns their number."""
    count, here = 0, row
    while here > 0:
        count += 1
        here = int64(table.routes[here].parent)
    here = row
    for stop in range(count - 1, -1, -1):
        if stop < MAX_WAYPOINTS:
            route[stop, 0], route[stop, 1] = table.routes[here].place, table.routes[here].target
        here = int64(table.routes[here].parent)
    return min(count, MAX_WAYPOINTS)


@kernel
def _follow(
    terms: Terms, distances: DistanceTable, table: Tables, route: NDArray[np.int16], count: int, owned: int
) -> tuple[float, int]:
    """Make the stops of another start's tour from the one in row 0, as far as it goes; returns the best worth and its stops.

    Uses rows 1 and 2. Mines that are taken already are left out, and so are the stops for them.
    """
    best, best_count, parent, done = NEVER, 0, 0, 0
    for stop in range(count):
        last = table.routes[parent]
        place, mine = int64(route[stop, 0]), int64(route[stop, 1])
        if mine >= 0 and last.taken >> uint64(mine) & ONE:
            continue
        row = 2 if parent == 1 else 1
        moves = distance(distances, last.place, place) + 1
        if last.time + moves > terms.plies:
            break
        if mine < 0:
            if not beer_next(terms, table, row, parent, moves, place, 0, owned):
                break
        elif not mine_next(terms, table, row, parent, moves, place, mine, owned):
            break
        route[done, 0], route[done, 1] = place, mine
        done, parent = done + 1, row
        if mine >= 0:
            if distances.bar_counts[place] < 0:
                make_rows(distances, place)
            final = final_of(terms, distances, table.routes[row])
            if final > best:
                best, best_count = final, done
    return best, best_count


@kernel
def _start(terms: Terms, distances: DistanceTable, table: Tables, task: Task, number: int) -> int:
    """Write the tour without stops after the direction `number` into row 0; returns the mines owned there but for those taken.

    Mines won or lost with this move, and the beer drunk, are in its value.
    """
    me, mines, after = task.me, task.mines, task.afters[number]
    was, hero = task.games[0].hero[me], after.hero[me]
    taken, gained, worth = uint64(0), 0, 0.0
    for mine in range(len(mines)):
        if (int64(after.cell[mines[mine]]) & TILE_BITS) == MINE + 1 + me:
            taken |= ONE << uint64(mine)
            gained += 1
            worth += worth_of(terms, mine, 1)
    lost = int64(was.mines) + gained - int64(hero.mines)
    worth -= lost * terms.pay[terms.plies]
    worth += int64(hero.gold) - int64(was.gold) - int64(hero.mines)
    place, route = distances.known + number, table.routes[0]
    route.place, route.time, route.life, route.gold = place, 1, hero.life, hero.gold
    route.mines, route.target, route.parent, route.taken = gained, -1, -1, taken
    route.value = worth
    make_rows(distances, place)
    # What is in the way before the first stop may not be so after it, so the ways from here bound nothing.
    route.bound = -NEVER
    return int64(hero.mines) - gained


@kernel
def _follow_all(terms: Terms, distances: DistanceTable, table: Tables, task: Task, found: Found) -> None:
    """Let every start try the tours of all others: what was found for one is mostly good for all."""
    values, lengths = found.values, found.lengths
    route = np.empty((MAX_WAYPOINTS, 2), np.int16)
    for number in range(5):
        if not task.directions >> number & 1:
            continue
        owned = _start(terms, distances, table, task, number)
        none = final_of(terms, distances, table.routes[0])
        if lengths[number] < 0 or none > values[number]:
            values[number], lengths[number] = none, 0
        for other in range(5):
            if lengths[other] > 0 and other != number:
                route[:] = found.routes[other]
                worth, count = _follow(terms, distances, table, route, lengths[other], owned)
                if worth > values[number]:
                    values[number], lengths[number] = worth, count
                    found.routes[number] = route


@kernel
def _terms_of(task: Task) -> Terms:
    least = 1e9
    for weight in task.weights:
        least = min(least, weight)
    pace, detour = usual_moves(task.distances, task.mines, task.drinks)
    plies = len(task.pay) - 1
    return Terms(task.weights, task.deadlines, task.pay, plies, task.floor, task.late, least, task.home, pace, detour)


@entry(tuple_of([_INT, _INT])(_TASK, _STAGE, _FOUND, _INT64S))
def _improve(task: Task, stage: Stage, found: Found, stop: NDArray[np.int64]) -> tuple[int, int]:
    """Search every start in ``stage.wanted`` and improve what was found; the nodes, and the set of starts left to search."""
    values, routes, lengths = found.values, found.routes, found.lengths
    terms = _terms_of(task)
    distances = make_distances(task.afters, task.me, task.directions, task.mines, task.drinks, task.blocked, task.distances)
    table = make_table(stage.limit + 8 * (MOST_MINES + MOST_DRINKS))
    best, nodes, left, still = NEVER, 0, 0, 0
    for number in range(5):
        best = max(best, values[number])
        left += stage.wanted >> number & 1
    for number in range(5):
        if not stage.wanted >> number & 1:
            continue
        owned = _start(terms, distances, table, task, number)
        known = max(values[number], final_of(terms, distances, table.routes[0]))
        effort = Effort(stage.width, stage.fan, stage.bars, (stage.limit - nodes) // left, best - stage.close)
        spent, whole, row = search(terms, distances, table, effort, owned, known, stop)
        nodes, left = nodes + spent, left - 1
        if row >= 0:
            lengths[number] = _write_down(table, row, routes[number])
            values[number] = final_of(terms, distances, table.routes[row])
            best = max(best, values[number])
        if not whole:
            still |= 1 << number
    _follow_all(terms, distances, table, task, found)
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
class Plan:
    """What is known about every direction: the worth of the best tour that begins with it, in gold (``-inf``: not asked).

    `direction` is the best of them (the first of equals); what it takes itself is not among its `waypoints`, which are the
    mines of
    its tour in order, as numbers in `Task.mines`, and -1 for a beer. `nodes` are those of all searches so far; `complete` tells
    whether no tour was left out that could be better.
    """

    values: tuple[float, ...]
    direction: int
    waypoints: tuple[int, ...]
    nodes: int
    complete: bool


def plans(task: Task, nodes: int, close: float, stop: NDArray[np.int64]) -> Iterator[Plan]:
    """Better and better plans, the first one at once; about `nodes` nodes are searched altogether, or until `stop` is set.

    Worths that are more than `close` below the best one are only known to be so. Deterministic but for `stop` (an int64 array
    of one word); nothing is changed.
    """
    task = task._replace(late=float(task.late), home=float(task.home))  # an int is another type to a kernel
    found = Found(np.full(5, -np.inf), np.empty((5, MAX_WAYPOINTS, 2), np.int16), np.full(5, -1, np.int64))
    open_ones, spent = task.directions, 0
    for width, fan, bars, everywhere in _STAGES:
        wanted = open_ones if everywhere else 1 << STAY
        looked, left = _improve(task, Stage(wanted, width, fan, bars, max(0, nodes - spent), float(close)), found, stop)
        spent += looked
        open_ones = left if everywhere else open_ones
        best = int(found.values.argmax())
        waypoints = tuple(found.routes[best, : max(0, found.lengths[best]), 1].tolist())
        yield Plan(tuple(found.values.tolist()), best, waypoints, spent, not open_ones)
        if not open_ones or spent >= nodes or stop[0]:
            return
