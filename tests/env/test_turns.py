"""The environments with four heroes: PettingZoo's own tests, and recorded games of the original server."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pettingzoo
import pytest
from pettingzoo.test import api_test, max_cycles_test, parallel_api_test, parallel_seed_test, render_test, seed_test

import vindibot.env
from sim.board import tile_text
from sim.game import DIRECTIONS, PLIES_PER_ROUND, SEATS, mover, row_column
from sim.rules import step
from tests.env import reference
from tests.support.oracle import read_games
from tests.support.paths import SHARED
from vindibot.base.errors import UsageError
from vindibot.env.pettingzoo_envs import AGENTS, RoundEnv, TurnEnv
from vindibot.games.game_record import map_before
from vindibot.games.protocol import read_game, to_games

SMALL = {"map_count": 4, "max_cycles": 30}
# PettingZoo knows the environments with masks by name, and warns of all others.
MASKED = pytest.mark.filterwarnings("ignore:.*(Observation is not a NumPy array|should be gymnasium.spaces.box)")


def make(kind, **options):
    return pettingzoo.make(kind, vindibot.env.ID, **(SMALL | options))


@MASKED
@pytest.mark.parametrize("observation", ["features", "compact", "planes", "record"])
def test_pettingzoo_finds_nothing(observation, capsys):
    api_test(make("aec", observation=observation), num_cycles=60)
    parallel_api_test(make("parallel", observation=observation), num_cycles=40)
    assert "Passed API test" in capsys.readouterr().out


def test_equal_seeds_give_equal_games():
    seed_test(lambda: make("aec"), num_cycles=20)
    parallel_seed_test(lambda: make("parallel"), num_cycles=20)


def test_the_length_is_the_callers():
    max_cycles_test(SimpleNamespace(env=lambda **o: make("aec", **o), parallel_env=lambda **o: make("parallel", **o)))


def test_pictures(capsys):
    render_test(lambda **options: make("aec", **options))


@pytest.mark.parametrize("reward", ["lead", "gold", "place", "win"])
def test_the_rewards_of_a_game_add_up_to_its_worth(reward):
    """Also those of the vector with four learners, which plays the same game."""
    turns, rounds = make("aec", reward=reward, mines=8), make("parallel", reward=reward, mines=8)
    rng = np.random.default_rng(1)
    turns.reset(seed=5)
    total = dict.fromkeys(AGENTS, 0.0)
    for agent in turns.agent_iter():
        _, gained, ended, cut, _ = turns.last()
        assert not cut
        total[agent] += gained
        turns.step(None if ended else int(rng.integers(5)))
    assert list(total.values()) == pytest.approx([reference.worth(turns.game, hero, reward) for hero in range(SEATS)])
    assert turns.agents == []
    rounds.reset(seed=5)
    total = dict.fromkeys(AGENTS, 0.0)
    while rounds.agents:
        _, gained, _, _, _ = rounds.step({agent: int(rng.integers(5)) for agent in AGENTS})
        total = {agent: total[agent] + gained[agent] for agent in AGENTS}
    assert list(total.values()) == pytest.approx([reference.worth(rounds.game, hero, reward) for hero in range(SEATS)])


def test_a_round_is_played_in_turn():
    env = make("parallel")
    env.reset(seed=2)
    game = env.game.copy()
    for number in range(10):
        actions = {agent: (number + hero) % 5 for hero, agent in enumerate(AGENTS) if hero != number % 4}
        env.step(actions)
        for agent in AGENTS:
            step(game, 0, actions.get(agent, 0))
        assert game.tobytes() == env.game.tobytes()
        assert game.tobytes() == env.state().tobytes()


# ---- Recorded games ----


def recorded(name):
    """The games of the original server in a file that have no crash, and whole rounds."""
    games = read_games(SHARED / "oracle" / f"{name}.jsonl.gz")
    return [game for game in games if "Crash" not in game["moves"] and len(game["moves"]) % PLIES_PER_ROUND == 0]


@pytest.mark.slow
@pytest.mark.skipif(not SHARED.is_dir(), reason="the recorded games of the original server are not beside the checkout")
@pytest.mark.parametrize("name", ["generated", "handmade", "scenario"])
def test_games_of_the_original_server(name):
    """Every state is that of the record, and rewards and masks are those that its states and moves give."""
    for game in recorded(name):
        first = to_games(read_game(game["init"]))
        where = map_before(first)
        env = TurnEnv(maps=[where], max_cycles=len(game["moves"]) // PLIES_PER_ROUND, observation="record")
        env.reset(seed=0)
        gold = np.zeros(SEATS)
        for move, state in zip(game["moves"], game["states"], strict=True):
            hero = mover(env.game)
            observation, _, ended, cut, info = env.last()
            assert env.agent_selection == AGENTS[hero]
            assert not ended
            assert not cut
            mask = reference.mask(env.game, hero)
            assert np.array_equal(info["action_mask"], mask)
            assert np.array_equal(observation["action_mask"], mask)
            before = env.game.copy()
            env.step(DIRECTIONS.index(move))
            if not mask[DIRECTIONS.index(move)]:
                still = before.copy()
                step(still, 0, 0)
                still["hero"]["last_dir"][0, hero] = DIRECTIONS.index(move)
                assert still.tobytes() == env.game.tobytes(), "a masked move has the effect of Stay"
            turn, finished, tiles, heroes = state
            assert int(env.game["turn"][0]) == turn
            assert env.over == finished
            assert tile_text(env.game) == tiles
            found = env.game["hero"][0]
            assert [[*row_column(int(hero["pos"])), hero["life"], hero["gold"], hero["mines"]] for hero in found] == [
                row[:5] for row in heroes
            ]
            now = np.array([row[3] for row in heroes], float)
            wanted = (now - gold) - ((now - gold).sum() - (now - gold)) / 3
            assert list(env.rewards.values()) == pytest.approx(wanted.tolist())
            gold = now


def test_wrong_calls_are_named():
    with pytest.raises(UsageError, match="rivals: not an option here"):
        TurnEnv(rivals=["random"])
    for env in (TurnEnv(map_count=1, max_cycles=1), RoundEnv(map_count=1, max_cycles=1)):
        action: Any = {} if isinstance(env, RoundEnv) else 0
        calls = {"step": lambda env=env, action=action: env.step(action), "render": env.render, "state": env.state}
        if isinstance(env, TurnEnv):
            calls["observe"] = lambda env=env: env.observe("hero_0")
        for name, call in calls.items():
            with pytest.raises(AssertionError, match=rf"reset\(\) needs to be called before {name}"):  # PettingZoo's own error
                call()
        env.reset()
        while env.agents:
            env.step(None if isinstance(env, TurnEnv) and env.terminations[env.agent_selection] else action)
        with pytest.raises(UsageError, match="the game is over"):
            env.step(action)
    env = TurnEnv(maps="m1", max_cycles=1)
    env.reset()
    with pytest.raises(UsageError, match="hero_0 is None"):
        env.step(None)
