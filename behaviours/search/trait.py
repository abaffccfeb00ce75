"""The trait `search`: votes from the scores of an alpha-beta search."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal

from pydantic import Field

from behaviours.base import Behaviour, SearchInfo, View
from behaviours.common.evaluation import UNIT, Weights
from behaviours.search.deepening import IterationResult, SearchParams, iterative_deepening
from behaviours.search.records import BEST_REPLY, BEST_REPLY_PLUS, MAX_PLY, PARANOID
from sim.game import ABSENT, Games
from sim.maps import Map

#: Number of moves added to a distance from our spawn square. A death takes us to this square at once, but we seldom want to die.
FROM_SPAWN = 3


def active_enemies(games: Games, where: Map, me: int, moves: int, at_most: int) -> int:
    """Return the nearest opponents of hero `me` (0..3), at most `at_most` and within `moves` moves, as a set: bit h is hero h.

    Ways lead over air and through heroes. A way begins at our square, or at our spawn square with `FROM_SPAWN` moves added. The
    shorter of these two ways counts. If two opponents are equally near, the opponent with the lower index comes first. Crashed
    heroes never move and are left out.
    """
    places = games["hero"]["pos"][0].tolist()
    crashed = games["hero"]["crashed"][0].tolist()
    from_pos, from_spawn = where.distances[places[me]], where.distances[int(games["hero"]["spawn"][0, me])]
    others = [hero for hero in range(4) if hero != me and places[hero] != ABSENT[hero] and not crashed[hero]]
    away = sorted((min(int(from_pos[places[hero]]), int(from_spawn[places[hero]]) + FROM_SPAWN), hero) for hero in others)
    return sum(1 << hero for distance, hero in away[:at_most] if distance <= moves)


MODES = {"paranoid": PARANOID, "best-reply": BEST_REPLY, "best-reply-plus": BEST_REPLY_PLUS}


class Search(Behaviour):
    """Search the next rounds by alpha-beta over the exact rules and vote (score - best score) / scale, at least -1.

    The search tries the moves of the nearest opponents, at most `searched`, that can reach us within `contact` moves. The other
    opponents follow a cheap policy. The trait is anytime: it answers after each depth. If the budget limits the nodes instead of
    the time, the moves are the same on any machine.
    """

    mode: Literal["paranoid", "best-reply", "best-reply-plus"] = Field(
        "paranoid",
        description="paranoid: all searched opponents play against us; best-reply: one of them per round does, the others stay; "
        "best-reply-plus: one of them per round does, the others follow the policy",
    )
    contact: int = Field(8, ge=0, le=99, description="largest distance of an opponent that is searched, in moves")
    searched: int = Field(2, ge=0, le=3, description="largest number of opponents that are searched, the nearest first")
    depth: int = Field(40, ge=1, le=MAX_PLY - 16, description="largest depth in plies (a round has four plies)")
    quiescence: int = Field(
        4, ge=0, le=12, description="largest number of plies by which an undecided fight is followed beyond the horizon"
    )
    blend: float = Field(
        0.3, ge=0, le=0.9, description="share of earlier depths in a score; with a larger share the hero puts off less"
    )
    death: float = Field(0, ge=0, le=10_000, description="penalty in gold per death of ours, in addition to what the death costs")
    scale: float = Field(20, gt=0, le=1000, description="difference to the best direction, in gold, at which a vote is -1")
    nodes: int = Field(2_000_000, ge=10, le=1_000_000_000, description="largest number of nodes; a budget may allow fewer")
    weights: Weights = Field(default_factory=Weights, description="weights of the evaluation")

    def vote(self, view: View) -> Iterator[SearchInfo]:
        """Yield votes after each depth."""
        if view.moves_left < 1 or view.game.status:
            return
        nodes = self.nodes if view.budget.nodes is None else min(self.nodes, view.budget.nodes)
        params = self.params(view)
        last = min(self.depth, int(view.games["max_turns"].item(0)) - view.turn)
        depths = range(1, last + 1)
        for result in iterative_deepening(
            view.games, view.map, params, self.weights, depths=depths, nodes=nodes, stop=view.budget.stop
        ):
            yield self._info(result)

    def params(self, view: View) -> SearchParams:
        """Return the parameters of this turn's search."""
        return SearchParams(
            me=view.me,
            active=active_enemies(view.games, view.map, view.me, self.contact, self.searched),
            mode=MODES[self.mode],
            quiescence=self.quiescence,
            clip=round(self.scale * UNIT),
            blend=self.blend,
            death=round(self.death * UNIT),
        )

    def _info(self, result: IterationResult) -> SearchInfo:
        scores = {move: score for move, score in enumerate(result.blended) if score is not None}
        best, unit = max(scores.values()), self.scale * UNIT
        votes = {move: max(-1.0, (score - best) / unit) for move, score in scores.items()}
        return SearchInfo(votes, depth=result.depth, score=best / UNIT, nodes=result.nodes, pv=result.pv)
