"""Decisions a second of the environments: ``python -m tests.benchmarks environments``.

A decision is one step with its observation, its mask and its reward; resets count too. Gymnasium's own functions measure the
single environment and the vectors, similar loops the others, in wall time on one core.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from typing import Any

import gymnasium
import numpy as np
import pettingzoo
from gymnasium.utils.performance import benchmark_step, benchmark_vector_step

import vindibot.env
from vindibot.env.observing import KINDS

from . import Row, sized

SIZE, SECONDS = 18, sized(2.0, 0.01)
COUNTS = sized((1, 64, 4096), (1, 16))
RIVALS = {"random": ["random"], "policies": ["policy:hunter", "policy:plain", "policy:raider"]}
OPTIONS: dict[str, Any] = {"size": SIZE, "map_count": 16}
#: The decisions a second that are wanted of the largest vector.
WANTED = {("features", "random"): 1.5e6, ("features", "policies"): 0.4e6, ("planes", "random"): 0.5e6}


def rows() -> list[Row]:
    """Return the rates of all environments."""
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
    return [
        Row(f"environment, {name}", f"{rate:,.0f} decisions a second", "", f"wanted {wanted:,.0f}" if wanted else "")
        for name, rate, wanted in _ours()
    ]


def _ours() -> Iterator[tuple[str, float, float]]:
    """Yield the name and the rate of each environment, and the rate that is wanted (0: none)."""
    for kind in KINDS:
        for rivals, names in RIVALS.items():
            env = gymnasium.make(vindibot.env.ID, observation=kind, rivals=names, disable_env_checker=True, **OPTIONS)
            yield f"single, {kind}, {rivals}", benchmark_step(env, SECONDS, seed=1), 0.0
            for count in COUNTS:
                envs = gymnasium.make_vec(vindibot.env.ID, num_envs=count, observation=kind, rivals=names, copy=False, **OPTIONS)
                wanted = WANTED.get((kind, rivals), 0.0) if count == COUNTS[-1] else 0.0
                yield f"vector of {count}, {kind}, {rivals}", benchmark_vector_step(envs, SECONDS, seed=1), wanted
        turns = pettingzoo.make("aec", vindibot.env.ID, observation=kind, **OPTIONS)
        yield f"AEC, {kind}", _turn_rate(turns), 0.0
        rounds = pettingzoo.make("parallel", vindibot.env.ID, observation=kind, **OPTIONS)
        yield f"parallel, {kind}", _round_rate(rounds), 0.0


def _rate(play: Callable[[], int]) -> float:
    """Return the decisions a second of a function that returns its number of decisions."""
    play()
    count, begin = 0, time.perf_counter()
    while time.perf_counter() - begin < SECONDS:
        count += play()
    return count / (time.perf_counter() - begin)


def _turn_rate(env: Any) -> float:
    rng = np.random.default_rng(1)

    def play() -> int:
        env.reset(seed=int(rng.integers(1000)))
        count = 0
        for agent in env.agent_iter():
            seen, _, ended, cut, info = env.last()
            mask = seen.get("action_mask") if isinstance(seen, dict) else info.get("action_mask")
            env.step(None if ended or cut else env.action_space(agent).sample(mask))
            count += not (ended or cut)
        return count

    return _rate(play)


def _round_rate(env: Any) -> float:
    rng = np.random.default_rng(1)

    def play() -> int:
        env.reset(seed=int(rng.integers(1000)))
        count = 0
        while env.agents:
            count += len(env.agents)
            env.step({agent: env.action_space(agent).sample() for agent in env.agents})
        return count

    return _rate(play)
