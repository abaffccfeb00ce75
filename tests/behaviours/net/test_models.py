"""Nets without hidden units as opponent models: their moves, and how `rollout` recognises them."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from pydantic import ValidationError

from behaviours import Budget, View
from behaviours.common.evaluation import Weights, compiled_weights
from behaviours.common.map_tables import map_tables_of
from behaviours.net.move_features import FEATURES
from behaviours.net.network import UNIT, Net, NetError, Network, save_nets
from behaviours.rollout.opponents import model_opponents
from behaviours.rollout.policy import LIBRARY, NO_GOAL, compiled_policies, follow
from behaviours.rollout.trait import Rollout
from sim.game import mover
from sim.generator import generate
from sim.maps import map_of
from sim.rules import step
from tests.support.nets import random_network

WEIGHTS = compiled_weights(Weights())


def basic_net(weights: np.ndarray) -> Net:
    """Return a net without hidden units that has these weights of the basic features."""
    return Net(Network.linear_only(np.rint(weights * UNIT).astype(np.int16)))


def test_a_rival_that_moves_by_a_learned_policy_is_recognised(tmp_path: Path) -> None:
    """A rival whose moves a learned policy predicts gets this policy in most scenarios."""
    scores = np.zeros(FEATURES)
    scores[1:41] = np.repeat([0.0, 1.0, 4.0, -3.0], 10)  # it likes mines and steps, and never drinks
    (tmp_path / "model.npz").write_bytes(save_nets([basic_net(scores)]))
    trait = Rollout(learned=(str(tmp_path / "model.npz"),))
    policies, number = trait.policies(), 1 + len(LIBRARY)
    games = generate(11, size=12).new_game()
    tables, seen = map_tables_of(map_of(games)), []
    for _ in range(100):
        if mover(games) == 0:
            seen.append(games.copy())
        index = number if mover(games) == 2 else 1
        step(games, 0, follow(games, 0, mover(games), tables, WEIGHTS, policies, index, NO_GOAL))
    view = View(seen[-1], 0, recent=np.concatenate(seen[:-1][-24:]), budget=Budget(nodes=1000))
    draws, *_ = model_opponents(view, WEIGHTS, policies, trait.likelihood_weight)
    assert (draws[2] == number).mean() > 0.5
    assert (draws[1] == number).mean() < 0.5


def test_only_nets_without_hidden_units_can_be_models(tmp_path: Path) -> None:
    rng = np.random.default_rng(1)
    for name, network in (
        ("hidden", random_network(rng, 16)),
        ("position", random_network(rng, 0)),
    ):
        net = Net(network, name=name)
        with pytest.raises(NetError, match=f"'{name}' cannot be an opponent model"):
            compiled_policies((), (net,))
        (tmp_path / "model.npz").write_bytes(save_nets([net]))
        with pytest.raises(ValidationError, match="cannot be an opponent model"):
            Rollout(learned=(str(tmp_path / "model.npz"),))


def test_a_trait_keeps_its_models(tmp_path: Path) -> None:
    """If the file of a net changes, a new trait has the new net, and a trait that plays already keeps its own net."""
    path, weights = tmp_path / "model.npz", np.zeros(FEATURES)
    traits = []
    for number in (1, 2):
        weights[1] = number
        path.write_bytes(save_nets([basic_net(weights)]))
        traits.append(Rollout(learned=(str(path),)))
        assert traits[-1].policies()["scores"][-1, 1] == number * UNIT
    assert traits[0].policies()["scores"][-1, 1] == UNIT
