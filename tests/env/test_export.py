"""Policies of other tools play as bots."""

from __future__ import annotations

import gymnasium
import numpy as np
import pytest

import vindibot.env
from behaviours.net.features import FEATURES, MOVE_SLOTS, STATE_SLOTS
from behaviours.net.network import load_nets
from vindibot.base.errors import UsageError
from vindibot.config.bots import load_bot
from vindibot.engine.agent import Agent, in_process_voters


def policy(seed=0, hidden=32, scale=0.2):
    """A policy as arrays, as somebody may train it with numpy."""
    rng = np.random.default_rng(seed)
    found = {
        "rows": rng.normal(0, scale, (FEATURES, hidden)),
        "linear": rng.normal(0, scale, FEATURES),
        "out": rng.normal(0, scale, hidden),
    }
    found["rows"][0], found["linear"][0] = 0, 0
    return found


def scores(weights, features):
    """The scores of the five moves, in floats."""
    state, moves = features[:, :STATE_SLOTS], features[:, STATE_SLOTS:].reshape(-1, 5, MOVE_SLOTS)
    units = weights["rows"][state].sum(axis=1)[:, None] + weights["rows"][moves].sum(axis=2)
    return np.maximum(units, 0) @ weights["out"] + weights["linear"][moves].sum(axis=2)


def test_the_bot_makes_the_moves_of_the_policy(tmp_path, monkeypatch):
    """Move by move: the trait `learned` chooses the best move of the rounded weights."""
    monkeypatch.chdir(tmp_path)
    weights = policy(3)
    bot = vindibot.env.export(weights, "mine.npz")
    assert bot.name == "mine.toml"
    (net,) = load_nets(tmp_path / "mine.npz")
    whole = {name: getattr(net.policy, name) / 1024 for name in weights}
    assert max(np.abs(whole[name] - weights[name]).max() for name in weights) <= 0.5 / 1024 + 1e-12
    voters = in_process_voters(load_bot(str(bot)))
    env = gymnasium.make(vindibot.env.ID, rivals=["random"], map_count=2, rounds=40)
    seen, info = env.reset(seed=2)
    agent = Agent(voters, info["hero"], 0, nodes=1)
    for _ in range(40):
        own = np.where(seen["action_mask"] == 1, scores(whole, seen["observation"][None])[0], -np.inf)
        chosen = agent.decide_now(env.unwrapped.game).direction
        assert own[chosen] == own.max()
        seen, *_ = env.step(chosen)
    voters.let_go()
    env = gymnasium.make(vindibot.env.ID, rivals=["mine.toml", "net:mine"], map_count=2, rounds=2)
    env.reset(seed=0)
    env.step(0)
    env.close()


def test_nobody_elses_file_is_overwritten(tmp_path):
    vindibot.env.export(policy(1), tmp_path / "mine.npz")
    vindibot.env.export(policy(2), tmp_path / "mine.npz")
    (tmp_path / "own.npz").write_bytes(b"mine")
    (tmp_path / "other.toml").write_text("mine")
    for name in ("own.npz", "other.npz"):
        with pytest.raises(UsageError, match="was not made by"):
            vindibot.env.export(policy(), tmp_path / name)
    assert (tmp_path / "own.npz").read_bytes() == b"mine"
    assert not (tmp_path / "other.npz").exists()


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"out": None}, "no 'out'"),
        ({"linear": np.zeros(3)}, "rows must be"),
        ({"rows": np.full((FEATURES, 32), np.nan)}, "no finite numbers"),
        ({"linear": np.arange(FEATURES) * 1.0}, "a weight of"),
        ({"rows": np.ones((FEATURES, 32))}, "feature 0"),
        ({"rows": np.zeros((FEATURES, 8)), "out": np.zeros(8)}, "8 hidden units"),
    ],
)
def test_wrong_policies_are_named(change, words, tmp_path):
    weights = {name: value for name, value in (policy() | change).items() if value is not None}
    with pytest.raises(UsageError, match=words):
        vindibot.env.export(weights, tmp_path / "mine.npz")
    with pytest.raises(UsageError, match=r"must end in \.npz"):
        vindibot.env.export(policy(), tmp_path / "mine.net")
