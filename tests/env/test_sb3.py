"""Stable-Baselines3 trains on the vector, and its policy becomes a bot."""

from __future__ import annotations

import numpy as np
import pytest

import vindibot.env
from behaviours.net.network import load_nets
from vindibot.env.vector import VindiniumVectorEnv

pytest.importorskip("sb3_contrib", reason="sb3-contrib is not installed")

SMALL = {"map_count": 4, "rounds": 8, "rivals": ["random"]}


def test_it_is_the_vector_in_the_same_step():
    """With the masks as a method, and the last observation of a game in its info."""
    from vindibot.env.sb3 import Sb3Env

    env, vector = Sb3Env(3, **SMALL), VindiniumVectorEnv(3, autoreset_mode="SameStep", **SMALL)
    env.seed(4)
    seen, (wanted, _) = env.reset(), vector.reset(seed=4)
    for number in range(20):
        assert np.array_equal(seen, wanted["observation"])
        assert np.array_equal(env.env_method("action_masks"), wanted["action_mask"].astype(bool))
        assert env.env_method("action_masks", indices=[1])[0].dtype == np.bool_
        actions = np.array([number % 5, 1, 2])
        seen, rewards, ended, told = env.step(actions)
        wanted, gained, over, _, infos = vector.step(actions)
        assert np.allclose(rewards, gained)
        assert np.array_equal(ended, over)
        for row in range(3):
            assert ("terminal_observation" in told[row]) == over[row]
            if over[row]:
                assert np.array_equal(told[row]["terminal_observation"], infos["final_obs"][row]["observation"])
                assert told[row]["TimeLimit.truncated"] is False
    env.close()


def test_maskable_ppo_learns_and_its_policy_is_exported(tmp_path):
    import torch
    from sb3_contrib import MaskablePPO
    from sb3_contrib.common.maskable.utils import is_masking_supported

    from vindibot.env.sb3 import NetPolicy, Sb3Env

    torch.manual_seed(1)
    env = Sb3Env(16, **SMALL)
    assert is_masking_supported(env)
    model = MaskablePPO(NetPolicy, env, n_steps=16, batch_size=64, n_epochs=1, seed=1, policy_kwargs={"hidden": 16}, device="cpu")
    before = model.policy.action_net.rows.weight.detach().clone()
    model.learn(512)
    after = model.policy.action_net
    assert (after.rows.weight != before).any(), "the optimiser has the weights of the networks"
    assert not after.rows.weight[0].any()
    vindibot.env.export(after, tmp_path / "mine.npz")
    (net,) = load_nets(tmp_path / "mine.npz")
    assert np.abs(net.policy.rows / 1024 - after.rows.weight.detach().numpy()).max() <= 0.5 / 1024 + 1e-6
    seen, _ = env.vector.reset(seed=1)
    masks = seen["action_mask"].astype(bool)
    chosen, _ = model.predict(seen["observation"], action_masks=masks, deterministic=True)
    with torch.no_grad():
        scores = after(torch.as_tensor(seen["observation"])).numpy()
    assert np.array_equal(chosen, np.where(masks, scores, -np.inf).argmax(axis=1))
    env.close()
