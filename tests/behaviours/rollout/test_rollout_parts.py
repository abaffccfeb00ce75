"""Parts of rollout: each plays scenarios of its own, and their sum is what one worker would find in all these scenarios."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from behaviours import Budget, SearchInfo, View
from behaviours.common.map_tables import map_tables_of
from behaviours.rollout.opponents import model_opponents
from behaviours.rollout.playouts import PLAN_STATS, Batch, Players, play_plans
from behaviours.rollout.policy import LIBRARY, compiled_policies
from behaviours.rollout.trait import _FIELDS, Rollout
from sim.game import mover
from sim.generator import generate
from sim.rules import step

NODES = 30_000


def view_of(seed: int, nodes: int | None = NODES) -> View:
    games, rng = generate(seed, size=12).new_game(), np.random.default_rng(seed)
    for move in rng.integers(0, 5, 201 + seed).tolist():
        step(games, 0, move)
    return View(games, mover(games), budget=Budget(nodes=nodes))


def part(trait: Rollout, view: View, number: int) -> NDArray[np.float64]:
    """Return the last statistics of a part."""
    return list(trait.statistics(view, number))[-1]


def combined(trait: Rollout, view: View, *parts: NDArray[np.float64]) -> SearchInfo:
    info = trait.combine(view, parts)
    assert isinstance(info.votes, dict)
    return info


@pytest.mark.parametrize("seed", range(4))
def test_the_sum_of_two_parts_is_what_one_worker_finds_in_their_scenarios(seed: int) -> None:
    """Two plays of all scenarios of the first stages by the kernel itself, and the mean outcome of each plan in both."""
    trait, view = Rollout(two_goal_plans=False), view_of(seed)
    parts = [next(found for found in trait.statistics(view, number) if len(found)) for number in (0, 1)]
    plans = trait._plans(view)
    weights = trait._compiled_weights(view)
    policies = compiled_policies((trait.params, *LIBRARY))
    players = Players(policies, *model_opponents(view, weights, policies, trait.likelihood_weight))
    stats, stop = np.zeros(len(plans), PLAN_STATS), np.zeros(1, np.int64)
    for number in (0, 1):
        batch = Batch(plans, np.arange(len(plans)), 0, 2, 10**9)
        play_plans(view.games, map_tables_of(view.map), weights, players, trait._setup(view, number), batch, stats, stop)
    together = parts[0][-1] + parts[1][-1]
    for name in ("total", "count", "plies"):
        np.testing.assert_allclose(together[_FIELDS.index(name)], stats[name])
    assert (parts[0][-1, _FIELDS.index("first")] == stats["first"]).all()
    assert (parts[0][-1] != parts[1][-1]).any(), "they met the same scenarios"
    info = combined(trait, view, *parts)
    assert info.nodes == stats["plies"].sum()
    means = stats["total"] / stats["count"]
    firsts = [move if move in view.moves else 0 for move in stats["first"].tolist()]
    turns = [trait.repetition_penalty * (view.landing(first) == view.pos) for first in firsts]
    values = {
        move: max(value for value, first in zip(means - turns, firsts, strict=True) if first == move) for move in set(firsts)
    }
    best = max(values.values())
    expected = {move: max(-1.0, (value - best) / trait.scale) for move, value in values.items()}
    assert {move: vote for move, vote in votes_of(info).items() if move in expected} == pytest.approx(expected)


def votes_of(info: SearchInfo) -> dict[int, float]:
    assert isinstance(info.votes, dict)
    return dict(info.votes)


def test_one_part_votes_as_the_trait_alone() -> None:
    trait, view = Rollout(), view_of(5)
    answers = [trait.combine(view, [found]) for found in trait.statistics(view, 0)]
    assert answers == list(trait.vote(view_of(5)))
    assert len(answers) > 4


@pytest.mark.parametrize("seed", range(4))
def test_the_order_of_the_other_parts_hardly_matters(seed: int) -> None:
    """Sums of floats in another order differ in their last digits only."""
    trait, view = Rollout(), view_of(seed)
    parts = [part(trait, view, number) for number in range(4)]
    one, other = combined(trait, view, *parts), combined(trait, view, parts[0], *parts[:0:-1])
    assert votes_of(one) == pytest.approx(votes_of(other))
    assert one.nodes == other.nodes
    assert one.score == pytest.approx(other.score)


def test_parts_without_playouts_count_nothing() -> None:
    trait, view = Rollout(), view_of(2)
    first, whole = (next(trait.statistics(view, 0)), part(trait, view, 0))
    assert first.size == 0
    assert combined(trait, view, whole, first) == combined(trait, view, whole)
    assert combined(trait, view, first, first).nodes == 0
    assert combined(trait, view, first, whole) == combined(trait, view, whole), "a helper may be ahead of the leader"


def test_more_parts_are_more_playouts_and_more_certain_values() -> None:
    """The values of two halves of the parts lie nearer to each other than those of single parts do."""
    trait, view = Rollout(two_goal_plans=False, scale=1000, repetition_penalty=0), view_of(3)
    parts = [part(trait, view, number) for number in range(16)]

    def spread(groups: list[list[NDArray[np.float64]]]) -> float:
        votes = [votes_of(combined(trait, view, *group)) for group in groups]
        return float(np.mean([np.std([vote[move] for vote in votes]) for move in view.moves]))

    assert combined(trait, view, *parts).nodes == sum(combined(trait, view, one).nodes or 0 for one in parts)
    assert spread([parts[:8], parts[8:]]) < spread([[one] for one in parts])


def test_another_seed_is_the_same_bot_in_other_scenarios() -> None:
    """No part of one seed plays the scenarios of another seed, and the mean values of plans come near each other."""
    view = view_of(3, 300_000)
    traits = [Rollout(two_goal_plans=False, scale=1000, repetition_penalty=0, seed=seed) for seed in (1, 2)]
    seeds = [int(trait._setup(view, number)["seed"].item()) for trait in traits for number in range(64)]
    assert len(set(seeds)) == len(seeds)
    one, other = (votes_of(combined(trait, view, *(part(trait, view, number) for number in range(4)))) for trait in traits)
    assert one != other
    assert one == pytest.approx(other, abs=0.01)  # 10 gold
