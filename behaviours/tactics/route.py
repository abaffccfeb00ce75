"""Route: the order of mines and beers that leaves the most gold at the end of the game.

At a **waypoint** the hero takes a mine or drinks a beer. A **route** is one move and then a sequence of waypoints. The distances
between waypoints come from the map's table. Only the way to the first waypoint avoids heroes and other blocked squares.

A route pays all costs of the rules. A move costs 1 life. A mine costs 20 life, and the hero must have more than 20. A beer costs
2 gold and heals 50 life, up to 100. If the gold for a beer is missing, the hero waits for it. A route ends with the game.

**Value of a route**, in gold: a mine is worth its weight for each of our plies from the ply that takes it to the end of the game.
If an enemy can be at the mine before us, the value of this mine is multiplied by `late`. A beer costs 2. A route has no beers
after its last mine, and no beers that heal nothing.

**The search** is depth-first backtracking. It tries urgent mines first, which an enemy can take soon after us, then the nearest
mines, then beers. It leaves out routes whose upper bound (`_bound`) is not above the best value. If it ends before the nodes are
spent, its best route is optimal.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numba import types
from numpy.typing import NDArray
from pydantic import Field

from behaviours.base import Behaviour, SearchInfo, View
from behaviours.common.combat_map import danger
from behaviours.common.targets import foreign_mines
from sim.game import AIR, BEER_COST, BEER_HEALS, CELLS, GAMES, MAX_LIFE, MINE, MINE_COST, OFFSET, TAVERN, TILE_BITS, Game, Games
from sim.kernel_types import BYTES, FLOATS, INT64S, int64, record, tuple_of, uint64
from sim.kernels import entry, kernel
from sim.paths import FAR, spread

#: Enemies at most this far away, in moves, block their squares until the first waypoint.
NEAR = 3
#: Largest number of mines. If there are more, the nearest ones count.
MAX_MINES = 64
#: Largest number of our plies that are planned, and of waypoints of a route.
MAX_PLIES, MAX_WAYPOINTS = 2000, 192
#: A mine is urgent if an enemy can take it fewer than this many rounds after us.
URGENT_ROUNDS = 4
#: Number of nodes of the first search. Each further search has `GROWTH` times as many.
FIRST_NODES, GROWTH = 200, 8
EPSILON = 1e-9


class RouteParams(NamedTuple):
    """Parameters of the routes of one turn.

    - `games`: the position. `me`: our hero (0..3). `afters`: five positions, one after each direction of our hero.
    - `directions`: the set of directions to plan for (bit d is direction d).
    - `mines`: the squares of at most `MAX_MINES` mines. `weights`: for each mine, the value of one gold that it brings us.
    - `deadlines`: for each mine, the number of our last ply (1: this ply) in which we can take the mine before every enemy.
    - `beside_taverns`: the squares of air beside taverns.
    - `blocked`: the squares that a route does not enter before its first waypoint (uint8[1024], 1: blocked).
    - `distances`: the distance table of the map.
    - `plies`: the number of our plies left, this ply included.
    - `late`: the factor of the value of a mine that an enemy reaches first.
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
    plies: int
    late: float


#: The end of a route: our `square`, the `time` in plies of ours, our `life` and `gold`, the number of `mines` taken and their set
#: (`taken`), the mine of the last waypoint (`target`, -1: a beer or the start), and the `value` in gold. `owned` is the number of
#: our mines that the route did not take. For the search: the next way to try (`cursor`), and the numbers of ways to mines and to
#: beers in the order of distance.
STATE = record(
    **dict.fromkeys(("square", "time", "life", "gold", "mines", "target", "owned", "cursor", "mine_ways", "beer_ways"), "i8"),
    taken="u8",
    value="f8",
)
#: One record of `STATE`.
StateRecord = Any
#: Ways from a square, as rows (moves, square of the waypoint, mine or -1 for a beer), and the ways of a whole search.
Ways = NDArray[np.int16]


@kernel
def _mine_value(params: RouteParams, mine: int, ply: int) -> float:
    """Return the value in gold of taking a mine in our ply number `ply` (1: this ply): its income until the end of the game."""
    value: float = params.weights[mine] * (params.plies - ply + 1)
    return value * params.late if ply > params.deadlines[mine] else value


@kernel
def _add_way(ways: Ways, first: int, count: int, moves: int, square: int, target: int) -> None:
    """Insert a way into the rows from `first` to `count`, which are sorted by moves."""
    at = count
    while at > first and ways[at - 1, 0] > moves:
        ways[at, 0], ways[at, 1], ways[at, 2] = ways[at - 1, 0], ways[at - 1, 1], ways[at - 1, 2]
        at -= 1
    ways[at, 0], ways[at, 1], ways[at, 2] = moves, square, target


@kernel
def _list_ways(params: RouteParams, away: NDArray[np.int16], state: StateRecord, ways: Ways) -> None:
    """Write the ways from a square to the mines that are left, and behind them the ways to beers. `away` are the distances.

    A side of a mine is left out if a shortest way to this side passes another side of the same mine.
    """
    left, count = params.plies - int64(state.time), 0
    for mine in range(len(params.mines)):
        if state.taken >> uint64(mine) & uint64(1):
            continue
        for direction in range(1, 5):
            side = params.mines[mine] + OFFSET[direction]
            steps = int64(away[side])
            if int64(params.games[0].cell[side]) & TILE_BITS != AIR or steps >= left:
                continue
            passed = False
            for other in range(1, 5):
                first = params.mines[mine] + OFFSET[other]
                if other != direction and int64(params.games[0].cell[first]) & TILE_BITS == AIR:
                    passed |= int64(away[first]) + int64(params.distances[first, side]) <= steps
            if not passed:
                _add_way(ways, 0, count, steps + 1, side, mine)
                count += 1
    state.mine_ways = count
    for square in params.beside_taverns:
        if away[square] < left:
            _add_way(ways, int64(state.mine_ways), count, int64(away[square]) + 1, square, -1)
            count += 1
    state.beer_ways, state.cursor = count - state.mine_ways, 0


@kernel
def _bound(params: RouteParams, ways: Ways, state: StateRecord) -> float:
    """Return an upper bound of the value of all routes that go on from a state. `ways` are the ways from there.

    - Every mine gets the smallest weight, and the hero takes them in the order of distance: mine number k (0: the nearest) not
      sooner than its distance, and not sooner than k plies after the nearest mine.
    - The difference between the weight of a mine and the smallest weight counts as if the hero went straight to this mine.
    """
    left, taken, value, rank = params.plies - int64(state.time) + 1, state.taken, float(state.value), 0
    least = params.late * params.weights.min() if len(params.weights) else 0.0
    for place in range(state.mine_ways):
        moves, mine = int64(ways[place, 0]), int64(ways[place, 2])
        if not taken >> uint64(mine) & uint64(1):
            taken |= uint64(1) << uint64(mine)
            straight = _mine_value(params, mine, int64(state.time) + moves)
            value += straight - least * (left - moves) + least * max(0, left - max(moves, int64(ways[0, 0]) + rank))
            rank += 1
    return value


@kernel
def _extend(params: RouteParams, last: StateRecord, moves: int, square: int, target: int, state: StateRecord) -> bool:
    """Write the state after one more waypoint into `state`. Return False if life, gold or time do not allow the waypoint.

    A mine without value is no waypoint, nor is a beer that heals nothing (life of 99 or more).
    """
    income, gold, life = int64(last.owned) + int64(last.mines), int64(last.gold), max(int64(1), int64(last.life) - moves + 1)
    state.square, state.target, state.owned, state.mines, state.taken = square, target, last.owned, last.mines, last.taken
    if target >= 0:
        gain = _mine_value(params, target, int64(last.time) + moves)
        state.time, state.life, state.gold = last.time + moves, max(int64(1), life - MINE_COST - 1), gold + moves * income + 1
        state.mines, state.taken = last.mines + 1, last.taken | uint64(1) << uint64(target)
        state.value = last.value + gain
        return life > MINE_COST and gain > 0.0
    gold += (moves - 1) * income
    if gold < BEER_COST and income <= 0:
        return False
    waits = (BEER_COST - gold + income - 1) // income if gold < BEER_COST else 0
    life = max(int64(1), life - waits)
    state.time, state.value = last.time + moves + waits, last.value - BEER_COST
    state.gold, state.life = gold + (waits + 1) * income - BEER_COST, min(int64(MAX_LIFE), life + BEER_HEALS) - 1
    return life < MAX_LIFE - 1 and state.time < params.plies


@kernel
def _start(params: RouteParams, move: int, away: NDArray[np.int16], state: StateRecord) -> None:
    """Write the state after our first move, and the distances from there with the blocked squares.

    The value includes mines that the move wins or loses, and a beer that it drinks.
    """
    before, after = params.games[0].hero[params.me], params.afters[move]
    hero = after.hero[params.me]
    state.square, state.time, state.life, state.gold = hero.pos, 1, hero.life, hero.gold
    state.taken, state.mines, state.target, state.value = 0, 0, -1, 0.0
    for mine in range(len(params.mines)):
        if (int64(after.cell[params.mines[mine]]) & TILE_BITS) == MINE + 1 + params.me:
            state.taken, state.mines = state.taken | uint64(1) << uint64(mine), state.mines + 1
            state.value += _mine_value(params, mine, 1)
    lost = int64(before.mines) + int64(state.mines) - int64(hero.mines)
    state.value += int64(hero.gold) - int64(before.gold) - int64(hero.mines) - lost * params.plies
    state.owned = int64(hero.mines) - int64(state.mines)
    source, queue = np.full(1, int64(hero.pos)), np.empty(CELLS, np.int16)
    spread(after.cell, source, params.blocked, True, away, queue)
    for square in range(CELLS):
        if params.blocked[square] and square != source[0]:
            away[square] = FAR


@kernel
def _search(
    params: RouteParams, away: NDArray[np.int16], states: NDArray[np.void], ways: NDArray[np.int16], route: Ways,
    bests: tuple[float, float], limit: int, stop: NDArray[np.int64],
) -> tuple[int, bool, float, int]:  # fmt: skip
    """Search for routes from ``states[0]`` that are worth more than both numbers `bests`. Write the best one into `route`.

    Return the number of nodes, whether the search is complete, the best value, and the length of the route (-1: no such route).
    """
    level, nodes, length, complete = 0, 0, -1, True
    best, least = bests
    _list_ways(params, away, states[0], ways[0])
    while level >= 0:
        last = states[level]
        cursor, mine_ways = int64(last.cursor), int64(last.mine_ways)
        if cursor >= 2 * mine_ways + last.beer_ways:
            level -= 1
            continue
        if nodes >= limit or stop[0]:
            return nodes, False, best, length
        last.cursor += 1
        # The ways to mines come twice: first the urgent ones count, then the others.
        row = ways[level, cursor if cursor < mine_ways else cursor - mine_ways]
        moves, square, target = int64(row[0]), int64(row[1]), int64(row[2])
        if target >= 0:
            slack = params.deadlines[target] - int64(last.time) - moves
            if (0 <= slack < URGENT_ROUNDS) != (cursor < mine_ways):
                continue
        state = states[level + 1]
        if not _extend(params, last, moves, square, target, state):
            continue
        nodes += 1
        if target >= 0 and state.value > best:
            best, length = float(state.value), level + 1
            for place in range(length):
                route[place, 0], route[place, 1] = states[place + 1].square, states[place + 1].target
        _list_ways(params, params.distances[square], state, ways[level + 1])
        if _bound(params, ways[level + 1], state) > max(best, least) + EPSILON:
            complete = complete and level + 2 < len(states)
            level += level + 2 < len(states)
    return nodes, complete, best, length


_INT, _INT16_TABLE = types.int64, types.Array(types.int16, 2, "C")
_PARAMS = tuple_of(
    [GAMES, _INT, GAMES, _INT, INT64S, FLOATS, INT64S, INT64S, BYTES, _INT16_TABLE, _INT, types.float64], RouteParams
)


@entry(tuple_of([_INT, _INT])(_PARAMS, _INT, _INT, types.float64, FLOATS, types.Array(types.int16, 3, "C"), INT64S, INT64S))
def _improve(
    params: RouteParams, searched: int, limit: int, margin: float, values: NDArray[np.float64], routes: NDArray[np.int16],
    lengths: NDArray[np.int64], stop: NDArray[np.int64],
) -> tuple[int, int]:  # fmt: skip
    """Search for better routes that begin with the directions in the set `searched`, with about `limit` nodes in all.

    Return the number of nodes, and the set of directions whose search is not complete. Routes worth `margin` less than the best
    one may be left out. `values`, `routes` and `lengths` have the best route of each direction so far.
    """
    states = np.zeros(MAX_WAYPOINTS + 1, STATE)
    ways = np.empty((MAX_WAYPOINTS + 1, 4 * len(params.mines) + len(params.beside_taverns), 3), np.int16)
    away = np.empty(CELLS, np.int16)
    nodes, left, unfinished = 0, 0, 0
    for move in range(5):
        left += searched >> move & 1
    for move in range(5):
        if searched >> move & 1:
            _start(params, move, away, states[0])
            values[move] = max(values[move], float(states[0].value))
            bests, share = (float(values[move]), values.max() - margin), (limit - nodes) // left
            spent, complete, best, length = _search(params, away, states, ways, routes[move], bests, share, stop)
            nodes, left = nodes + spent, left - 1
            if length >= 0:
                values[move], lengths[move] = best, length
            unfinished |= (0 if complete else 1) << move
    return nodes, unfinished


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
    values, lengths = np.full(5, -np.inf), np.zeros(5, np.int64)
    routes = np.empty((5, MAX_WAYPOINTS, 2), np.int16)
    unfinished, spent, limit = params.directions, 0, FIRST_NODES
    while True:
        share = max(0, min(limit, nodes - spent))
        looked, unfinished = _improve(params, unfinished, share, float(margin), values, routes, lengths, stop)
        spent, limit = spent + looked, GROWTH * limit
        best = int(values.argmax())
        yield RoutePlan(tuple(values.tolist()), best, tuple(routes[best, : lengths[best], 1].tolist()), spent, not unfinished)
        if not unfinished or spent >= nodes or stop[0]:
            return


class Route(Behaviour):
    """Vote (value - best value) / scale for each direction, at least -1.

    The value of a direction, in gold, is the value of the best route that begins with this direction. A route takes mines and
    drinks beers in the order that leaves the most gold at the end of the game (see `behaviours.tactics.route`).
    """

    scale: float = Field(10, ge=0.01, le=1000, description="difference to the best direction, in gold, at which a vote is -1")
    nodes: int = Field(20_000, ge=100, le=1_000_000, description="largest number of nodes; a budget may allow fewer")
    rival: float = Field(
        0.3, ge=0, le=3, description="value of one gold that an enemy loses; one gold from an enemy's mine is worth 1 plus this"
    )
    late: float = Field(0.6, ge=0, le=1, description="factor of the value of a mine that an enemy can reach before us")
    avoid_danger: bool = Field(
        True, description="avoid squares with a negative value in the combat map (with `duel`), until the first mine or beer"
    )

    def vote(self, view: View) -> Iterator[SearchInfo | None]:
        """Yield votes after each search. Each search considers more routes than the search before."""
        if view.moves_left < 1:
            yield None
            return
        params = self.params(view)
        limit = self.nodes if view.budget.nodes is None else min(self.nodes, view.budget.nodes)
        for plan in plan_routes(params, limit, self.scale, view.budget.stop):
            best = max(plan.values)
            votes = {move: max(-1.0, (plan.values[move] - best) / self.scale) for move in view.moves}
            yield SearchInfo(votes, score=best, nodes=plan.nodes, goal=_goal(view, params, plan))

    def params(self, view: View) -> RouteParams:
        """Return the parameters of this turn's routes."""
        mines = foreign_mines(view)
        if len(mines) > MAX_MINES:
            mines = mines[view.map.distances[view.pos, mines].argsort(kind="stable")[:MAX_MINES]]
        owners = view.cells[mines] & TILE_BITS
        beside = np.unique((view.map.taverns[:, None] + OFFSET[None, 1:]).ravel())
        return RouteParams(
            games=view.games,
            me=view.me,
            afters=np.concatenate([view.after(move) for move in range(5)]),
            directions=sum(1 << move for move in view.moves),
            mines=mines,
            weights=np.where((owners > MINE) & (owners <= MINE + 4), 1 + self.rival, 1.0),
            deadlines=_deadlines(view, mines),
            beside_taverns=beside[view.map.cells[beside] == AIR],
            blocked=_blocked_squares(view, self.avoid_danger),
            distances=view.map.distances,
            plies=min(view.moves_left, MAX_PLIES),
            late=float(self.late),
        )


def _goal(view: View, params: RouteParams, plan: RoutePlan) -> int | None:
    """Return the square of the first mine or tavern of a plan; None if there is none."""
    beside = view.pos + int(OFFSET[plan.direction])
    if int(view.cells[beside]) & TILE_BITS >= TAVERN:
        return beside
    if not plan.waypoints:
        return None
    taverns = view.map.taverns
    goal = params.mines[plan.waypoints[0]] if plan.waypoints[0] >= 0 else taverns[view.map.distances[view.pos, taverns].argmin()]
    return int(goal)


def _deadlines(view: View, mines: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return, for each mine, the number of our last ply (1: this ply) in which we can take the mine before every enemy.

    An enemy counts if it does not own the mine, has not crashed, and has enough life to take the mine when it arrives.
    """
    last = np.full(len(mines), FAR, np.int64)
    owners = view.cells[mines] & TILE_BITS
    for enemy in view.enemies:
        hero = view.games["hero"][0, enemy]
        if hero["crashed"]:
            continue
        moves = view.map.distances[int(hero["pos"]), mines].astype(np.int64)
        can = (owners != MINE + 1 + enemy) & (int(hero["life"]) - (moves - 1) > MINE_COST)
        last = np.minimum(last, np.where(can, moves, FAR))
    return last


def _blocked_squares(view: View, avoid_danger: bool) -> NDArray[np.uint8]:
    """Return the squares that are blocked until the first waypoint, as uint8[1024] (1: blocked).

    These are the squares of enemies within `NEAR` moves and, with `avoid_danger`, dangerous squares.
    """
    blocked = danger(view).copy() if avoid_danger else np.zeros(CELLS, np.uint8)
    places = view.games["hero"]["pos"][0]
    for enemy in view.enemies:
        if view.map.distances[view.pos, int(places[enemy])] <= NEAR:
            blocked[int(places[enemy])] = 1
    blocked[view.pos] = 0
    return blocked
