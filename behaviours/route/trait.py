"""Route: go where the tour over mines and taverns leads that brings most gold until the end of the game."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from behaviours.base import Behaviour, SearchInfo, View
from behaviours.common.combat_map import danger
from behaviours.common.targets import foreign_mines, tile_beside
from behaviours.route.plan import Plan, Task, plans
from behaviours.route.search import MOST_DRINKS, MOST_MINES
from sim.game import AIR, CELLS, MINE, MINE_COST, OFFSET, TAVERN, TILE_BITS
from sim.paths import FAR

#: Heroes this many moves away are in the way until the first stop.
NEAR = 3
#: Plies of ours that are looked ahead at most.
_LONGEST = 2000


class Route(Behaviour):
    """Votes for each direction what the best tour that begins with it lacks to the best one of all.

    A tour takes mines and drinks in the order that pays best until the end of the game (see `behaviours.route.plan`). Votes
    are from -1 to 0: the difference in gold divided by `scale`.
    """

    scale: float = Field(10, ge=0.01, le=1000, description="gold that a direction must lack for a vote of -1")
    nodes: int = Field(20_000, ge=100, le=1_000_000, description="how much is searched at most")
    kept: float = Field(
        0, ge=0, le=600, description="rounds after which a third of what was planned still holds; 0: all of it will"
    )
    rival: float = Field(0.3, ge=0, le=3, description="what a gold less for an enemy is worth: taking his mine counts 1 more")
    late: float = Field(0.6, ge=0, le=1, description="worth of a mine that an enemy can reach before us")
    home: float = Field(0.2, ge=0, le=2, description="gold for each move from the last mine to a tavern")
    reserve: int = Field(0, ge=0, le=79, description="life to be left after taking a mine, but for one")
    avoid_danger: bool = Field(True, description="keep off squares that the later combat map marks below 0")

    def vote(self, view: View) -> Iterator[SearchInfo | None]:
        """A thought for each search, each with more width than the one before."""
        if view.plies_left < 1:
            yield None
            return
        task = self.task(view)
        limit = self.nodes if view.budget.nodes is None else min(self.nodes, view.budget.nodes)
        for plan in plans(task, limit, self.scale, view.budget.stop):
            yield self.info(view, task, plan)

    def info(self, view: View, task: Task, plan: Plan) -> SearchInfo:
        """What a plan says."""
        best = max(plan.values)
        votes = {move: max(-1.0, (plan.values[move] - best) / self.scale) for move in view.moves}
        return SearchInfo(votes, score=best, nodes=plan.nodes, goal=_goal(view, task, plan))

    def _too_weak(self, view: View, move: int) -> bool:
        """Whether a move takes a mine and leaves less life than the reserve. Dying is another matter: it may even pay."""
        return MINE_COST < view.life <= MINE_COST + self.reserve and tile_beside(view, move) >= MINE

    def task(self, view: View) -> Task:
        """What is to be planned on this turn."""
        mines = foreign_mines(view)
        if len(mines) > MOST_MINES:
            mines = mines[np.argsort(view.map.distances[view.pos, mines], kind="stable")[:MOST_MINES]]
        drinks = beside_taverns(view)
        if len(drinks) > MOST_DRINKS:
            drinks = drinks[np.argsort(view.map.distances[view.pos, drinks], kind="stable")[:MOST_DRINKS]]
        owners = view.cells[mines] & TILE_BITS
        believed = np.ones(min(view.plies_left, _LONGEST))
        if self.kept > 0:
            believed = np.exp(-np.arange(len(believed)) / self.kept)
        directions = sum(1 << move for move in view.moves if not self._too_weak(view, move))
        return Task(
            games=view.games,
            me=view.me,
            afters=np.frombuffer(
                b"".join(view.after(move if directions >> move & 1 else 0).tobytes() for move in range(5)), view.games.dtype
            ).copy(),
            directions=directions,
            mines=mines,
            weights=np.where((owners > MINE) & (owners <= MINE + 4), 1 + self.rival, 1.0),
            deadlines=deadlines(view, mines),
            drinks=drinks,
            blocked=in_the_way(view, self.avoid_danger),
            distances=view.map.distances,
            pay=np.concatenate([[0.0], believed[::-1].cumsum()]),
            floor=MINE_COST + 1 + self.reserve,
            late=self.late,
            home=self.home,
        )


def _goal(view: View, task: Task, plan: Plan) -> int | None:
    """The square of the mine or tavern beside us that the plan begins with, or of its first stop; None if it has none."""
    beside = view.pos + int(OFFSET[plan.direction])
    if int(view.cells[beside]) & TILE_BITS >= TAVERN:
        return beside
    if not plan.waypoints:
        return None
    if plan.waypoints[0] >= 0:
        return int(task.mines[plan.waypoints[0]])
    taverns = view.map.taverns
    return int(taverns[view.map.distances[view.pos, taverns].argmin()])


def beside_taverns(view: View) -> NDArray[np.int64]:
    """The squares of air beside a tavern."""
    beside = np.unique((view.map.taverns[:, None] + OFFSET[None, 1:]).ravel())
    free: NDArray[np.int64] = beside[view.map.cells[beside] == AIR]
    return free


def deadlines(view: View, mines: NDArray[np.int64]) -> NDArray[np.int64]:
    """For each mine: the number of the last ply of ours (1 is the present one) with which we are there before every enemy.

    An enemy counts if the mine is not his, he has not crashed, and his life lets him take it when he gets there.
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


def in_the_way(view: View, avoid_danger: bool) -> NDArray[np.uint8]:
    """The squares to keep out of until the first stop (uint8[1024]): those of heroes near us, and dangerous ones if asked for."""
    blocked = danger(view).copy() if avoid_danger else np.zeros(CELLS, np.uint8)
    places = view.games["hero"]["pos"][0]
    for enemy in view.enemies:
        if view.map.distances[view.pos, int(places[enemy])] <= NEAR:
            blocked[int(places[enemy])] = 1
    blocked[view.pos] = 0
    return blocked
