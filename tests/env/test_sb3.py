"""The example of Stable-Baselines3: it trains on the vector, saves and loads its policy, and its policy becomes a bot."""

from __future__ import annotations

import importlib
import sys

import numpy as np
import pytest

import vindibot.env
from behaviours.net.network import load_nets
from tests.support.paths import TOP
from vindibot.env.gymnasium_envs import VindiniumVectorEnv

pytest.importorskip("sb3_contrib", reason="sb3-contrib is not installed")

SMALL = {"map_count": 4, "rounds": 8, "rivals": ["random"]}


@pytest.fixture
def sb3(monkeypatch):
    """The module of the example."""
    monkeypatch.syspath_prepend(TOP / "examples" / "sb3")
    return importlib.import_module("train")


def test_it_is_the_vector_in_the_same_step(sb3):
    """With the masks as a method, and the last observation of a game in its info."""
    env, vector = sb3.Sb3Env(3, **SMALL), VindiniumVectorEnv(3, autoreset_mode="SameStep", **SMALL)
    env.seed(4)
    seen, (wanted, _) = env.reset(), vector.reset(seed=4)
    for number in range(20):
        assert np.array_equal(seen, wanted["observation"])
        assert np.array_equal(env.env_method("action_masks"), wanted["action_mask"].astype(bool))
        assert env.env_method("action_masks", indices=[1])[0].dtype == np.bool_
        actions = np.array([number % 5, 1, 2])
        seen, rewards, ended, games = env.step(actions)
        wanted, gained, over, _, infos = vector.step(actions)
        assert np.allclose(rewards, gained)
        assert np.array_equal(ended, over)
        for row in range(3):
            assert ("terminal_observation" in games[row]) == over[row]
            if over[row]:
                assert np.array_equal(games[row]["terminal_observation"], infos["final_obs"][row]["observation"])
                assert games[row]["TimeLimit.truncated"] is False
    env.close()


def test_maskable_ppo_learns_and_its_policy_is_exported(sb3, tmp_path):
    import torch
    from sb3_contrib import MaskablePPO
    from sb3_contrib.common.maskable.utils import is_masking_supported

    torch.manual_seed(1)
    env = sb3.Sb3Env(16, **SMALL)
    assert is_masking_supported(env)
    model = MaskablePPO(
        sb3.NetPolicy, env, n_steps=16, batch_size=64, n_epochs=1, seed=1, policy_kwargs={"hidden": 16}, device="cpu"
    )
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
    model.policy.save(tmp_path / "policy.pt")
    loaded = sb3.NetPolicy.load(tmp_path / "policy.pt")
    assert (loaded.action_net.rows.weight == after.rows.weight).all(), "with its number of hidden units"
    env.close()


@pytest.mark.slow
def test_the_program_writes_a_bot(sb3, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "argv", ["train.py", "mine.npz", "--steps", "256", "--games", "4", "--hidden", "16"])
    sb3.main()
    assert (tmp_path / "mine.toml").exists()
