"""Outcomes of plans: the rules give the same ends as the kernel, and all plans meet the same scenarios."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from behaviours.base import View
from behaviours.common.evaluation import Weights, compiled_weights
from behaviours.common.map_tables import map_tables_of
from behaviours.rollout.opponents import model_opponents
from behaviours.rollout.outcomes import play_outcomes
from behaviours.rollout.plans import plans_of_moves
from behaviours.rollout.playouts import ROLLOUT_PARAMS, Batch, Players
from behaviours.rollout.policy import LIBRARY, compiled_policies
from behaviours.rollout.trait import Rollout
from sim.generator import generate
from sim.replay import play_moves

#: Number of plies of a playout, and of scenarios.
PLIES, SCENARIOS = 48, 6
EVERYTHING = 1 << 62


def outcomes(
    view: View, plans: NDArray[np.int16], begin: int = 0, limit: int = EVERYTHING
) -> tuple[int, NDArray[np.int64], NDArray[np.int8]]:
    trait = Rollout()
    weights, policies = compiled_weights(Weights()), compiled_policies((trait.params, *LIBRARY))
    players = Players(policies, *model_opponents(view, weights, policies, trait.likelihood_weight))
    setup = np.zeros(1, ROLLOUT_PARAMS)
    setup["me"], setup["plies"], setup["epsilon"], setup["seed"] = view.me, PLIES, 50, 5
    ends = np.zeros((SCENARIOS, len(plans), 4, 4), np.int64)
    lines = np.zeros((SCENARIOS, len(plans), PLIES), np.int8)
    batch = Batch(plans, np.arange(len(plans)), begin, begin + SCENARIOS, limit)
    met = play_outcomes(view.games, map_tables_of(view.map), weights, players, setup, batch, ends, lines)
    return met, ends, lines


@pytest.fixture(scope="module")
def view() -> View:
    return View(generate(4, size=12).new_game(max_turns=40), 0)


def test_the_ends_are_those_of_the_moves(view: View) -> None:
    plans = np.concatenate(list(plans_of_moves(view, 3).values()))
    met, ends, lines = outcomes(view, plans)
    assert met == SCENARIOS
    for scenario in range(SCENARIOS):
        for plan in range(len(plans)):
            line = lines[scenario, plan]
            games = view.games.copy()
            assert play_moves(games, 0, line[line >= 0].copy()) == np.count_nonzero(line >= 0) == 40
            heroes = games[0]["hero"]
            for column, name in enumerate(("gold", "mines", "life")):
                assert ends[scenario, plan, :, column].tolist() == heroes[name].tolist()
    assert not ends[:, :, 1:, 3].any(), "only our kills count"
    assert (lines[:, :, 0] == plans[:, 0] - 200).all(), "each plan begins with its direction"


def test_equal_plans_meet_equal_scenarios(view: View) -> None:
    plan = plans_of_moves(view, 3)[0][:1]
    _, ends, lines = outcomes(view, np.concatenate((plan, plan)))
    assert (ends[:, 0] == ends[:, 1]).all()
    assert (lines[:, 0] == lines[:, 1]).all()
    _, later, _ = outcomes(view, plan, begin=SCENARIOS)
    assert (later != ends[:, :1]).any(), "further scenarios are new ones"


def test_the_limit_ends_after_a_whole_scenario(view: View) -> None:
    plans = plans_of_moves(view, 3)[0][:2]
    assert outcomes(view, plans, limit=0)[0] == 0
    assert outcomes(view, plans, limit=41)[0] == 1
    assert outcomes(view, plans, limit=81)[0] == 2


def test_all_directions_have_the_same_plans(view: View) -> None:
    by_move = plans_of_moves(view, 3)
    assert list(by_move) == list(view.moves)
    for plans in by_move.values():
        assert (plans[:, 1:] == by_move[0][:, 1:]).all()
