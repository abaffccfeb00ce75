"""Decisions a second of the environments: ``python -m tests.benchmarks environments``.

A decision is one step with its observation, its mask and its reward; resets count too. Gymnasium's own functions measure the
single environment and the vectors, similar loops the others, in wall time on one core. Environments of other packages for four
players (pgx: three) are measured in the same run, if they are installed. Their moves are random too.
"""

from __future__ import annotations

import importlib
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
    """Return the rates of all environments, with the ratio to the fastest environment of another package."""
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
    others = dict(_others())
    fastest = max(others.values(), default=0.0)
    found = [_row(name, rate, "") for name, rate in others.items()]
    for name, rate, wanted in _ours():
        ratio = f"{rate / fastest:.2f} of the fastest other" if fastest else ""
        found.append(_row(name, rate, ratio, f"wanted {wanted:,.0f}" if wanted else ""))
    return found


def _row(name: str, rate: float, ratio: str, note: str = "") -> Row:
    return Row(f"environment, {name}", f"{rate:,.0f} decisions a second", ratio, note)


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


# ---- Environments of other packages ----


def _others() -> Iterator[tuple[str, float]]:
    """Yield the name and the rate of each environment for four players that is installed."""
    for name, measure in (
        ("PettingZoo's knights_archers_zombies", _knights),
        ("kaggle-environments' hungry_geese", _geese),
        ("pgx's sparrow_mahjong (three players), 4096 games", _mahjong),
    ):
        try:
            yield name, measure()
        except ImportError as problem:
            print(f"{name} is not measured: {problem}")


def _knights() -> float:
    return _round_rate(importlib.import_module("pettingzoo.butterfly.knights_archers_zombies_v11").parallel_env())


def _geese() -> float:
    env = importlib.import_module("kaggle_environments").make("hungry_geese")
    moves, rng = ("NORTH", "SOUTH", "EAST", "WEST"), np.random.default_rng(1)

    def play() -> int:
        states, count = env.reset(4), 0
        while not env.done:
            count += sum(state.status == "ACTIVE" for state in states)
            states = env.step([moves[move] for move in rng.integers(0, 4, 4)])
        return count

    return _rate(play)


def _mahjong() -> float:
    jax, pgx = importlib.import_module("jax"), importlib.import_module("pgx")
    make: Any = pgx.make
    env, count = make("sparrow_mahjong"), COUNTS[-1]
    from_auto = importlib.import_module("pgx.experimental.wrappers").auto_reset
    begin, step = jax.jit(jax.vmap(env.init)), jax.jit(jax.vmap(from_auto(env.step, env.init)))

    def choose(key: Any, masks: Any) -> Any:
        return jax.random.categorical(key, jax.numpy.log(masks.astype(jax.numpy.float32)), axis=1)

    draw = jax.jit(choose)
    state, key = begin(jax.random.split(jax.random.PRNGKey(0), count)), jax.random.PRNGKey(1)

    def play() -> int:
        nonlocal state, key
        for _ in range(10):
            key, own, more = jax.random.split(key, 3)
            state = step(state, draw(own, state.legal_action_mask), jax.random.split(more, count))
        jax.block_until_ready(state.observation)
        return 10 * count

    return _rate(play)
