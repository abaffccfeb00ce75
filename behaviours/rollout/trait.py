"""The trait `rollout`, which votes by the outcomes of simulated plans."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Annotated, Any

import numpy as np
from numpy.typing import NDArray
from pydantic import AfterValidator, Field

from behaviours.base import DataFile, SearchInfo, SplitBehaviour, View
from behaviours.common.evaluation import NetWorthWeights, Weights, compiled_weights
from behaviours.common.map_tables import map_tables_of
from behaviours.net.features import FOUND
from behaviours.net.network import Net, compiled_networks, load_nets
from behaviours.net.scoring import net_move
from behaviours.net.trait import check_nets
from behaviours.rollout.opponents import model_opponents
from behaviours.rollout.plans import plans_of, square_of
from behaviours.rollout.playouts import EPSILON_UNIT, NO_NET, PLAN_STATS, ROLLOUT_PARAMS, Batch, Players, play_plans
from behaviours.rollout.policy import LIBRARY, NO_GOAL, PolicyParams, compiled_policies, follow
from sim.game import PLIES_PER_ROUND, STAY

#: Number of scenarios per plan in the first stage. Each halving and each cycle doubles this number.
SCENARIOS = 2
#: Smallest budget of nodes for plans of two goals. With fewer nodes these plans make the votes worse.
TWO_GOALS_FROM = 60_000
#: A plan with few playouts gets a value at least this much gold below the value of the best plan with many playouts.
UNSURE = 1.0
#: Number of parts whose scenarios belong to one `seed`.
PARTS_PER_SEED = 1000
#: The fields of `PLAN_STATS` in the order in which `Rollout.statistics` yields them.
_FIELDS = ("total", "count", "first", "plies")
_TOTAL, _COUNT, _FIRST, _PLIES = range(4)


def _check_models(path: str) -> str:
    compiled_policies((), load_nets(Path(path)))
    return path


class Rollout(SplitBehaviour):
    """Simulate plans and vote (outcome - best outcome) / scale for each direction, at least -1.

    A plan is one or two goals (a mine, a tavern, an enemy), or one move and then a goal. After the plan our hero plays by the
    `net`, or by `params` if there is none. The outcome of a playout is our lead over the other heroes in gold, and early income
    counts more. Near the end of the game the lead over the richest rival is added. Each rival plays by policies from a library,
    most often by the policies that predicted its last moves best. The outcome of a direction is the outcome of the best plan
    that begins with it.

    Successive halving (Karnin, Koren and Somekh 2013) compares the plans: after each stage only the better half gets more
    playouts. The halving runs again and again, each time with more playouts. The trait is anytime: it answers after each stage,
    and its first answer is the move of our own policy. Several workers can share its work: each part compares all plans in its
    own scenarios, and the votes come from the scenarios of all parts.
    """

    rounds: int = Field(25, ge=1, le=100, description="longest playout, in rounds")
    round_discount: float = Field(
        0.9, ge=0, le=1, description="weight of a round relative to the round before it (1: only the end of the playout counts)"
    )
    mines: int = Field(5, ge=0, le=24, description="number of nearest mines that may be goals")
    uncontested_mines: int = Field(
        3,
        ge=0,
        le=24,
        description="largest number of farther mines that may be goals; only mines that we reach before every enemy count",
    )
    two_goal_plans: bool = Field(True, description="whether there are plans of two goals")
    death: float = Field(
        25, ge=0, le=10_000, description="penalty in gold per death of ours, in addition to what it costs by the rules"
    )
    late_kill_penalty: float = Field(
        0.4, ge=0, le=1, description="share by which the gain of our kills is reduced, except for kills in our first ply"
    )
    repetition_penalty: float = Field(
        1.0, ge=0, le=100, description="penalty in gold per recent turn spent on the same square without a gain"
    )
    lead_rounds: int = Field(
        100,
        ge=0,
        le=1200,
        description="number of last rounds in which the lead over the richest rival is added (0: never)",
    )
    lead_weight: float = Field(
        3, ge=0, le=100, description="value of one gold of the lead over the richest rival, at a lead of 0"
    )
    lead_scale: float = Field(
        0.05, ge=0, le=100, description="scale of the lead, in gold per remaining round; leads well beyond the scale add little"
    )
    epsilon: float = Field(0.05, ge=0, le=1, description="share of random moves among the rivals' moves in playouts")
    likelihood_weight: float = Field(
        0.7,
        ge=0,
        le=5,
        description="weight of past moves in the choice of a model for a rival (0: all models are equally likely)",
    )
    recalled_moves: bool = Field(
        False,
        description="whether a rival near an enemy makes the same move in playouts as the last time it was in the same situation",
    )
    scale: float = Field(20, gt=0, le=1000, description="difference to the best direction, in gold, at which a vote is -1")
    nodes: int = Field(
        100_000_000, ge=100, le=10**12, description="largest number of plies played out per worker; a budget may allow fewer"
    )
    seed: int = Field(1, ge=1, le=10**9, description="seed of the playouts: with another seed, the same bot plays other games")
    params: PolicyParams = Field(
        default_factory=PolicyParams, description="parameters of our own policy, by which we play after a plan without `net`"
    )
    net: Annotated[DataFile, AfterValidator(check_nets)] | None = Field(
        None, description="a file of nets, from `vindibot learn`; after a plan we play by its first net"
    )
    rivals: tuple[PolicyParams, ...] = Field(
        (), max_length=64, description="policies that rivals may have (none: the built-in library)"
    )
    learned: tuple[Annotated[DataFile, AfterValidator(_check_models)], ...] = Field(
        (),
        max_length=64,
        description="further policies that rivals may have: files of nets without hidden units, from `vindibot learn imitate`",
    )
    weights: NetWorthWeights = Field(
        default_factory=NetWorthWeights, description="weights of the net worth, as in the evaluation"
    )

    def statistics(self, view: View, part: int) -> Iterator[NDArray[np.float64]]:
        """Yield the statistics of the plans after each stage: float64[stages, `_FIELDS`, plans].

        Row s has the sums over the stages 0 to s of this part. The first array comes at once and has no rows.
        """
        if view.moves_left < 1 or view.game.status:
            return
        yield np.zeros((0, 0, 0))
        yield from self._compare(view, part)

    def combine(self, view: View, parts: Sequence[NDArray[np.float64]]) -> SearchInfo:
        """Return the votes from the playouts of all parts. If there are no playouts, vote for the move of our own policy."""
        played = [part for part in parts if len(part)]
        if not played:
            return self._first_info(view)
        stages = _single_stages(played[0]) if len(played) == 1 else np.concatenate([_single_stages(part) for part in played])
        gains, sure = compare_plans(stages[:, _TOTAL], stages[:, _COUNT])
        sums = sum(part[-1] for part in played)
        return self._info(view, played[0][-1, _FIRST], sums, np.where(sure, gains, np.minimum(gains, gains[sure].max() - UNSURE)))

    def policies(self) -> NDArray[np.void]:
        """Return the policies of the playouts (`POLICY_PARAMS` records): ours first, then those that rivals may have."""
        return compiled_policies((self.params, *(self.rivals or LIBRARY)), self._models)

    def players(self, view: View, weights: NDArray[np.void], policies: NDArray[np.void]) -> Players:
        """Return the policies of all heroes in the playouts from a position. `policies` is the result of `policies`."""
        models = model_opponents(view, weights, policies, self.likelihood_weight)
        return Players(policies, *models, self._network, np.zeros(1, FOUND))

    @cached_property
    def _network(self) -> NDArray[np.void]:
        """Our net for kernels: an array of one record."""
        return NO_NET if self.net is None else compiled_networks([load_nets(Path(self.net))[0].policy])

    @cached_property
    def _models(self) -> tuple[Net, ...]:
        """The nets in the files `learned`. They stay the same for the life of this trait, even if a file changes."""
        return tuple(net for file in self.learned for net in load_nets(Path(file)))

    def _plans(self, view: View) -> NDArray[np.int16]:
        limit = self._limit(view)
        limits = self.mines, self.two_goal_plans and limit >= TWO_GOALS_FROM, self.uncontested_mines
        return view.shared(("rollout plans", limits), lambda: plans_of(view, *limits))

    def _limit(self, view: View) -> int:
        """Return the largest number of plies that one part may play in its playouts."""
        return self.nodes if view.budget.nodes is None else min(self.nodes, view.budget.nodes)

    def _compare(self, view: View, part: int) -> Iterator[NDArray[np.float64]]:
        """Yield the array of `statistics` after each stage.

        In a cycle all plans are simulated in some scenarios, then the better half of the plans in more scenarios, and so on. Each
        cycle has twice as many scenarios as the cycle before.
        """
        tables, plans, limit = map_tables_of(view.map), self._plans(view), self._limit(view)
        weights = self._compiled_weights(view)
        policies = self.policies()
        players = self.players(view, weights, policies)
        stats = np.zeros(len(plans), PLAN_STATS)
        setup, order = self._setup(view, part), np.arange(len(plans))
        rows: list[NDArray[np.float64]] = []
        scenario, cycle, halvings, plies = 0, 0, 0, 0
        while plies < limit and not view.budget.expired():
            chosen, more = np.sort(order[: len(plans) >> halvings]), SCENARIOS << cycle + halvings
            batch = Batch(plans, chosen, scenario, scenario + more, limit - plies)
            play_plans(view.games, tables, weights, players, setup, batch, stats, view.budget.stop)
            if stats["count"].min() == 0:
                return  # there was no time for one whole scenario
            plies = int(stats["plies"].sum())
            rows.append(np.array([stats[name] for name in _FIELDS]))
            statistics = np.array(rows)
            yield statistics
            scenario += more
            halvings += 1
            if len(plans) >> halvings < 2:
                cycle, halvings = cycle + 1, 0
            stages = _single_stages(statistics)
            order = np.argsort(-compare_plans(stages[:, _TOTAL], stages[:, _COUNT])[0], kind="stable")

    def _compiled_weights(self, view: View) -> NDArray[np.void]:
        return view.shared(("rollout weights", self.weights), lambda: compiled_weights(Weights(**self.weights.model_dump())))

    def _setup(self, view: View, part: int = 0) -> NDArray[np.void]:
        """Return the parameters for the playouts of part `part` (see `SplitBehaviour`): an array of one record.

        Each part has scenarios of its own. They depend on nothing else, so the same position always gets the same votes.
        """
        setup = np.zeros(1, ROLLOUT_PARAMS)
        setup["me"], setup["plies"] = view.me, PLIES_PER_ROUND * self.rounds
        setup["seed"] = 1 + PARTS_PER_SEED * (self.seed - 1) + part
        for name in ("round_discount", "death", "late_kill_penalty"):
            setup[name] = getattr(self, name)
        setup["epsilon"] = round(EPSILON_UNIT * self.epsilon)
        setup["recalled_moves"], setup["follows_net"] = self.recalled_moves, self.net is not None
        setup["lead_weight"] = self.lead_weight if view.moves_left <= self.lead_rounds else 0.0
        setup["lead_scale"] = max(1.0, self.lead_scale * view.moves_left)
        return setup

    def _first_info(self, view: View) -> SearchInfo:
        weights = self._compiled_weights(view)
        tables = map_tables_of(view.map)
        if self.net is None:
            move = follow(view.games, 0, view.me, tables, weights, compiled_policies((self.params,)), 0, NO_GOAL)
        else:
            move = net_move(self._network, 0, view.games, 0, view.me, tables, np.zeros(1, FOUND), np.zeros(5, np.int64))
        return SearchInfo({each: 0.0 if each == _effective(view, move) else -1.0 for each in view.moves}, nodes=0)

    def _info(
        self, view: View, first_moves: NDArray[np.float64], sums: NDArray[np.float64], values: NDArray[np.float64]
    ) -> SearchInfo:
        """Return the votes. Each direction has the value of the best plan that begins with it, relative to the best plan.

        `first_moves` are the first moves of the plans, `sums` are the sums of their statistics (float64[`_FIELDS`, plans]).
        """
        plans: NDArray[np.int16] = self._plans(view)
        turns: Mapping[int, int] = view.shared("rollout turns", lambda: _turns_on_squares(view))
        firsts = [_effective(view, int(move)) for move in first_moves.tolist()]
        repeats = np.array([turns.get(view.landing(first), 0) for first in firsts])
        penalised = values - self.repetition_penalty * repeats
        best, outcome = int(penalised.argmax()), dict.fromkeys(view.moves, -np.inf)
        for first, gold in zip(firsts, penalised.tolist(), strict=True):
            outcome[first] = max(gold, outcome[first])
        votes = {move: max(-1.0, (gold - outcome[firsts[best]]) / self.scale) for move, gold in outcome.items()}
        score, nodes = float(sums[_TOTAL, best] / sums[_COUNT, best]), int(sums[_PLIES].sum())
        return SearchInfo(votes, score=score, nodes=nodes, goal=square_of(view, int(plans[best, 0])))


def _single_stages(statistics: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the totals and counts of each stage alone, from statistics as `Rollout.statistics` yields them."""
    stages = statistics[:, : _COUNT + 1].copy()
    stages[1:] -= statistics[:-1, : _COUNT + 1]
    return stages


def compare_plans(totals: NDArray[Any], counts: NDArray[Any]) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
    """Return for each plan its mean gain in gold over the reference plan, and whether the gain is sure: two arrays [plans].

    The reference plan is the plan with the most playouts. `totals` and `counts` are the sums of outcomes and the numbers of
    playouts in each stage alone, arrays [stages, plans]. The first stage has all plans. A gain counts only the scenarios that
    both plans met, because outcomes differ more between scenarios than between plans. A gain is sure if the plan has at least
    half as many playouts as the reference plan. With fewer playouts it is not sure: among many plans, some plan then always seems
    excellent by chance.
    """
    playouts = counts.sum(axis=0)
    most = np.lexsort((totals.sum(axis=0), playouts))[-1:]
    both = (counts > 0) & (counts[:, most] > 0)
    gains: NDArray[np.float64] = ((totals - totals[:, most]) * both).sum(axis=0) / (counts * both).sum(axis=0)
    return gains, playouts >= playouts[most] / 2


def _effective(view: View, move: int) -> int:
    """Return the move itself, or Stay for a move without an effect, such as a move against a hero."""
    return move if move in view.moves else STAY


def _turns_on_squares(view: View) -> Counter[int]:
    """Return the number of our turns on each square since we last took a mine or gained life. This turn is included."""
    turns = np.concatenate((view.recent, view.games))["hero"][:, view.me]
    gains = np.flatnonzero((np.diff(turns["mines"]) > 0) | (np.diff(turns["life"]) > 0))
    return Counter(turns["pos"][gains[-1] + 1 if len(gains) else 0 :].tolist())
