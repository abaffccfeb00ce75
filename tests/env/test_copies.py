"""Copies and pickles of environments go on like the original, and share the tables of the maps."""

from __future__ import annotations

import copy
import pickle
from typing import Any

import gymnasium
import pettingzoo
import pytest
from gymnasium.utils.env_checker import data_equivalence

import vindibot.env
from sim.generator import generate
from vindibot.base.errors import UsageError
from vindibot.env import stepping

RIVALS = ["policy:hunter", "random", "net:learned"]
COPIES = {"copy": copy.deepcopy, "pickle": lambda env: pickle.loads(pickle.dumps(env))}


def make(kind, **options):
    if kind == "single":
        return gymnasium.make(vindibot.env.ID, rounds=6, **{"rivals": RIVALS} | options)
    if kind == "vector":
        more = {"rivals": RIVALS, "learners": 2, "copy": False}
        return gymnasium.make_vec(vindibot.env.ID, num_envs=3, rounds=6, **more | options)
    return pettingzoo.make(kind, vindibot.env.ID, max_cycles=6, **options)


def begin(kind, env, seed=None):
    env.reset(seed=seed)
    if kind in ("single", "vector"):
        env.action_space.seed(seed)


def play(kind, env, steps) -> list[Any]:
    """Play random moves of the environment's own generators, and return all that it shows."""
    shown: list[Any] = []
    for number in range(steps):
        if kind == "aec":
            shown.append((env.agent_selection, *env.last()))
            env.step(None if env.terminations[env.agent_selection] else number % 5)
            if not env.agents:
                env.reset()
        elif kind == "parallel":
            shown.append(env.step({agent: (number + hero) % 5 for hero, agent in enumerate(env.agents)}))
            if not env.agents:
                shown.append(env.reset())
        else:
            shown.append(env.step(env.action_space.sample()))
            if kind == "single" and shown[-1][2]:
                shown.append(env.reset())
        shown[-1] = copy.deepcopy(shown[-1])
    return shown


@pytest.mark.parametrize("way", COPIES)
@pytest.mark.parametrize("observation", ["features", "compact", "planes", "record"])
@pytest.mark.parametrize("kind", ["single", "vector", "aec", "parallel"])
def test_a_copy_goes_on_like_the_original(kind, observation, way):
    env = make(kind, observation=observation, maps=[generate(1, size=10), "m1"])
    begin(kind, env, 5)
    play(kind, env, 3)
    other = COPIES[way](env)
    fresh = COPIES[way](make(kind, observation=observation, maps=[generate(1, size=10), "m1"]))
    begin(kind, fresh, 5)
    play(kind, fresh, 3)
    shown = play(kind, env, 30)
    for number, again in enumerate((play(kind, other, 30), play(kind, fresh, 30))):
        for one, two in zip(shown, again, strict=True):
            assert data_equivalence(one, two, exact=True), f"{('copy', 'copy before reset')[number]} differs"


@pytest.mark.parametrize("kind", ["single", "vector", "aec", "parallel"])
def test_a_copy_shares_the_maps(kind):
    env = make(kind) if kind in ("aec", "parallel") else make(kind, rivals=["random", "policy:plain"])
    begin(kind, env, 1)
    maps = env.unwrapped.table.maps
    assert all(way(env).unwrapped.table.maps is maps for way in COPIES.values())
    assert len(pickle.dumps(env)) < 100_000


def test_another_process_makes_the_tables_anew():
    env = make("single", maps=["m2", generate(3, size=12)])
    maps, packed = env.unwrapped.table.maps, pickle.dumps(env)
    stepping._pool.cache_clear()
    again = pickle.loads(packed).unwrapped.table.maps
    assert again is not maps
    assert again.starts.tobytes() == maps.starts.tobytes()
    assert again.tables.tobytes() == maps.tables.tobytes()


@pytest.mark.parametrize("way", COPIES)
def test_an_environment_with_bots_says_why_it_cannot_be_copied(way):
    env = gymnasium.make(vindibot.env.ID, rivals=["seed", "random"], map_count=1)
    with pytest.raises(UsageError, match="rivals: seed: an environment with bots cannot be copied"):
        COPIES[way](env)
    env.close()
