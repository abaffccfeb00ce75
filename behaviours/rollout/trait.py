"""The trait that votes what playouts of its plans bring."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from behaviours.base import Behaviour, Thought, View
from behaviours.common.evaluation import EstateWeights, Weights, compiled_weights
from behaviours.common.map_tables import ground_of
from behaviours.rollout.opponents import study
from behaviours.rollout.plans import plans_of, square_of
from behaviours.rollout.playouts import FINDING, INQUIRY, WHIM, Batch, Players, play_plans
from behaviours.rollout.policy import NO_GOAL, follow
from behaviours.rollout.policy_params import LIBRARY, Style, compiled_styles
from sim.game import PLIES_PER_ROUND, STAY

#: Scenarios that every plan of a stage meets in the first cycle; each cycle has twice as many.
SCENARIOS = 2
#: Nodes from which on plans of two goals are looked at: with 20,000 there were too many of them, and they did harm.
PAIRS_FROM = 60_000
#: Gold by which a plan with few playouts is put below the best of those with many, if it seems to bring more.
UNSURE = 1.0
#: A seed that is not the game's: the same turn gives the same votes.
_SEED = 1


class Rollout(Behaviour):
    """Plays plans out, everybody by a style, and votes (outcome - best) / scale for directions, at least -1.

    A plan is one or two goals (a mine, a tavern, an enemy) or one move and a goal, and then as `style` does; an outcome is
    the gold that we are ahead of the others, what comes sooner counting more, and towards the end our lead over the richest
    besides. The others play by the styles of a library that foretold their last orders best. The direction of the best plan
    wins. Plans are compared by successive halving (Karnin, Koren and Somekh 2013), again and again with more playouts; anytime,
    with a thought after each halving. The first thought, at once, is what our style would do.
    """

    rounds: int = Field(25, ge=1, le=100, description="rounds that a playout lasts at most")
    patience: float = Field(0.9, ge=0, le=1, description="what a round keeps of what comes after it (1: only the end counts)")
    mines: int = Field(5, ge=0, le=24, description="how many of the nearest mines may be goals")
    free: int = Field(3, ge=0, le=24, description="how many mines farther away may be, those that we reach before every enemy")
    pairs: bool = Field(True, description="plans of two goals too")
    death: float = Field(25, ge=0, le=10_000, description="gold that each death of ours takes off, besides what is lost by it")
    doubt: float = Field(0.4, ge=0, le=1, description="share not believed of what kills bring that are not struck at once")
    boredom: float = Field(
        1.0, ge=0, le=100, description="gold that a square costs for each of our last turns on it since we last gained anything"
    )
    ending: int = Field(
        100, ge=0, le=1200, description="rounds left from which our lead over the richest rival counts besides (0: never)"
    )
    lead: float = Field(3, ge=0, le=100, description="how much a gold of that lead counts then, where we are level")
    close: float = Field(
        0.05, ge=0, le=100, description="gold of lead, for each round left, from which on a gold more counts less"
    )
    whims: float = Field(0.05, ge=0, le=1, description="share of the others' orders in playouts that are drawn at random")
    trust: float = Field(0.7, ge=0, le=5, description="how soon a style that foretells a rival's orders prevails (0: all alike)")
    scale: float = Field(20, gt=0, le=1000, description="gold by which a direction is worse when its vote is -1")
    nodes: int = Field(1_000_000, ge=100, le=10**12, description="plies played out at most; a budget may allow fewer")
    style: Style = Field(default_factory=Style, description="how we go on after a plan")
    rivals: tuple[Style, ...] = Field((), max_length=64, description="styles that the others may have (none: the library)")
    weights: EstateWeights = Field(default_factory=EstateWeights, description="the weights of estates, as in the evaluation")

    def vote(self, view: View) -> Iterator[Thought]:
        """A thought at once and after each halving."""
        if view.plies_left < 1 or view.game.status:
            return
        limit = self.nodes if view.budget.nodes is None else min(self.nodes, view.budget.nodes)
        weights = compiled_weights(Weights(**self.weights.model_dump()))
        yield self._first_thought(view, weights)
        plans, turns = plans_of(view, self.mines, self.pairs and limit >= PAIRS_FROM, self.free), _turns_on_squares(view)
        for findings, worths in self._compare(view, weights, plans, limit):
            yield self._thought(view, plans, findings, worths, turns)

    def _compare(
        self, view: View, weights: NDArray[np.void], plans: NDArray[np.int16], limit: int
    ) -> Iterator[tuple[NDArray[np.void], NDArray[np.float64]]]:
        """Findings and worths after each stage: all plans meet some scenarios, then the better half of them, and so on; again."""
        ground = ground_of(view.map)
        styles = compiled_styles((self.style, *(self.rivals or LIBRARY)))
        players = Players(styles, *study(view, weights, styles, self.trust))
        findings = np.zeros(len(plans), FINDING)
        inquiry, order = self._inquiry(view), np.arange(len(plans))
        stages: list[NDArray[np.void]] = []
        scenario, cycle, halvings = 0, 0, 0
        while int(findings["plies"].sum()) < limit and not view.budget.expired():
            chosen, more = np.sort(order[: len(plans) >> halvings]), SCENARIOS << cycle + halvings
            before = findings.copy()
            left = limit - int(findings["plies"].sum())
            batch = Batch(plans, chosen, scenario, scenario + more, left)
            play_plans(view.games, ground, weights, players, inquiry, batch, findings, view.budget.stop)
            if findings["count"].min() == 0:
                return  # there was no time for one whole scenario
            stages.append(_met(before, findings))
            gains, sure = compared(np.array(stages))
            yield findings, np.where(sure, gains, np.minimum(gains, gains[sure].max() - UNSURE))
            scenario += more
            halvings += 1
            if len(plans) >> halvings < 2:
                cycle, halvings = cycle + 1, 0
            order = np.argsort(-gains, kind="stable")

    def _inquiry(self, view: View) -> NDArray[np.void]:
        inquiry = np.zeros(1, INQUIRY)
        record = inquiry[0]
        record["me"], record["plies"], record["seed"] = view.me, PLIES_PER_ROUND * self.rounds, _SEED
        record["whims"], record["patience"], record["death"] = round(WHIM * self.whims), self.patience, self.death
        record["doubt"] = self.doubt
        record["lead"] = self.lead if view.plies_left <= self.ending else 0.0
        record["close"] = max(1.0, self.close * view.plies_left)
        return inquiry

    def _first_thought(self, view: View, weights: NDArray[np.void]) -> Thought:
        order = follow(view.games, 0, view.me, ground_of(view.map), weights, compiled_styles((self.style,)), 0, NO_GOAL)
        return Thought({move: 0.0 if move == _named(view, order) else -1.0 for move in view.moves}, nodes=0)

    def _thought(
        self,
        view: View,
        plans: NDArray[np.int16],
        findings: NDArray[np.void],
        worths: NDArray[np.float64],
        turns: Mapping[int, int],
    ) -> Thought:
        """Every direction is worth what the best plan is that begins with it."""
        firsts = [_named(view, first) for first in findings["first"].tolist()]
        tiring = np.array([turns.get(view.landing(first), 0) for first in firsts])
        tired = worths - self.boredom * tiring
        best, outcome = int(tired.argmax()), dict.fromkeys(view.moves, -np.inf)
        for first, gold in zip(firsts, tired.tolist(), strict=True):
            outcome[first] = max(gold, outcome[first])
        votes = {move: max(-1.0, (gold - outcome[firsts[best]]) / self.scale) for move, gold in outcome.items()}
        score, nodes = float(findings["total"][best] / findings["count"][best]), int(findings["plies"].sum())
        return Thought(votes, score=score, nodes=nodes, goal=square_of(view, int(plans[best, 0])))


def _met(before: NDArray[np.void], after: NDArray[np.void]) -> NDArray[np.void]:
    """What a stage added to the findings."""
    met = after.copy()
    met["total"] -= before["total"]
    met["count"] -= before["count"]
    return met


def compared(stages: NDArray[np.void]) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
    """How much more each plan brings than the plan with the most playouts, in the scenarios that both met: float64[plans].

    And which plans are sure: they have at least half as many playouts. Of many plans that met few scenarios one always seems
    excellent.

    `stages` are the findings of each stage alone: `FINDING`[stages, plans], all plans in the first of them. What happens far
    away differs between scenarios by much more than plans do, so means over other scenarios cannot be compared.
    """
    totals, counts = stages["total"], stages["count"]
    playouts = counts.sum(axis=0)
    most = np.lexsort((totals.sum(axis=0), playouts))[-1:]
    both = (counts > 0) & (counts[:, most] > 0)
    gains: NDArray[np.float64] = ((totals - totals[:, most]) * both).sum(axis=0) / (counts * both).sum(axis=0)
    return gains, playouts >= playouts[most] / 2


def _named(view: View, order: int) -> int:
    """An order as the direction that votes may name: one that does nothing (into a hero, say) is Stay."""
    return order if order in view.moves else STAY


def _turns_on_squares(view: View) -> Counter[int]:
    """How many of our last turns, this one included, we spent on each square since we last took a mine or were healed."""
    turns = np.concatenate((view.history, view.games))["hero"][:, view.me]
    gains = np.flatnonzero((np.diff(turns["mines"]) > 0) | (np.diff(turns["life"]) > 0))
    return Counter(turns["pos"][gains[-1] + 1 if len(gains) else 0 :].tolist())
