"""The trait `route`: follow the best route over mines and taverns."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from behaviours.base import Behaviour, SearchInfo, View
from behaviours.common.combat_map import danger
from behaviours.common.targets import foreign_mines, tile_beside
from behaviours.route.plan import RouteParams, RoutePlan, plan_routes
from behaviours.route.search import MAX_ROUTE_MINES, MAX_TAVERN_SQUARES
from sim.game import AIR, CELLS, MINE, MINE_COST, OFFSET, TAVERN, TILE_BITS
from sim.paths import FAR

#: Enemies at most this far away, in moves, block their squares until the first waypoint.
NEAR = 3
#: Largest number of our plies that are planned.
_LONGEST = 2000


class Route(Behaviour):
    """Vote (value - best value) / scale for each direction, at least -1.

    The value of a direction, in gold, is the value of the best route that begins with this direction. A route takes mines and
    drinks beers in the order that leaves the most gold at the end of the game (see `behaviours.route.plan`).
    """

    scale: float = Field(10, ge=0.01, le=1000, description="difference to the best direction, in gold, at which a vote is -1")
    nodes: int = Field(20_000, ge=100, le=1_000_000, description="largest number of nodes; a budget may allow fewer")
    discount_rounds: float = Field(
        0, ge=0, le=600, description="rounds after which the income of a mine counts only a third (0: all income counts in full)"
    )
    rival: float = Field(
        0.3, ge=0, le=3, description="value of one gold that an enemy loses; one gold from an enemy's mine is worth 1 plus this"
    )
    late: float = Field(0.6, ge=0, le=1, description="factor of the value of a mine that an enemy can reach before us")
    home: float = Field(0.2, ge=0, le=2, description="cost in gold per move from the last mine to a tavern")
    reserve: int = Field(0, ge=0, le=79, description="life that must be left after taking a mine, in addition to 1")
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
            yield self.info(view, params, plan)

    def info(self, view: View, params: RouteParams, plan: RoutePlan) -> SearchInfo:
        """Return the votes of a plan."""
        best = max(plan.values)
        votes = {move: max(-1.0, (plan.values[move] - best) / self.scale) for move in view.moves}
        return SearchInfo(votes, score=best, nodes=plan.nodes, goal=_goal(view, params, plan))

    def _too_weak(self, view: View, move: int) -> bool:
        """Return whether a move takes a mine and leaves less life than `reserve` + 1.

        A move that kills us is allowed, because the death may be worth its cost.
        """
        return MINE_COST < view.life <= MINE_COST + self.reserve and tile_beside(view, move) >= MINE

    def params(self, view: View) -> RouteParams:
        """Return the parameters of this turn's routes."""
        mines = _nearest(view, foreign_mines(view), MAX_ROUTE_MINES)
        owners = view.cells[mines] & TILE_BITS
        weights = np.ones(min(view.moves_left, _LONGEST))
        if self.discount_rounds > 0:
            weights = np.exp(-np.arange(len(weights)) / self.discount_rounds)
        directions = sum(1 << move for move in view.moves if not self._too_weak(view, move))
        return RouteParams(
            games=view.games,
            me=view.me,
            afters=np.concatenate([view.after(move if directions >> move & 1 else 0) for move in range(5)]),
            directions=directions,
            mines=mines,
            weights=np.where((owners > MINE) & (owners <= MINE + 4), 1 + self.rival, 1.0),
            deadlines=deadlines(view, mines),
            beside_taverns=_nearest(view, beside_taverns(view), MAX_TAVERN_SQUARES),
            blocked=blocked_squares(view, self.avoid_danger),
            distances=view.map.distances,
            pay=np.concatenate([[0.0], weights[::-1].cumsum()]),
            floor=MINE_COST + 1 + self.reserve,
            late=self.late,
            home=self.home,
        )


def _nearest(view: View, squares: NDArray[np.int64], count: int) -> NDArray[np.int64]:
    """Return the `count` squares that are nearest to us. If there are no more than `count`, return all `squares`."""
    return squares if len(squares) <= count else squares[view.map.distances[view.pos, squares].argsort(kind="stable")[:count]]


def _goal(view: View, params: RouteParams, plan: RoutePlan) -> int | None:
    """Return the square of the first mine or tavern of a plan; None if there is none."""
    beside = view.pos + int(OFFSET[plan.direction])
    if int(view.cells[beside]) & TILE_BITS >= TAVERN:
        return beside
    if not plan.waypoints:
        return None
    if plan.waypoints[0] >= 0:
        return int(params.mines[plan.waypoints[0]])
    taverns = view.map.taverns
    return int(taverns[view.map.distances[view.pos, taverns].argmin()])


def beside_taverns(view: View) -> NDArray[np.int64]:
    """Return the squares of air beside a tavern."""
    beside = np.unique((view.map.taverns[:, None] + OFFSET[None, 1:]).ravel())
    free: NDArray[np.int64] = beside[view.map.cells[beside] == AIR]
    return free


def deadlines(view: View, mines: NDArray[np.int64]) -> NDArray[np.int64]:
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


def blocked_squares(view: View, avoid_danger: bool) -> NDArray[np.uint8]:
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
