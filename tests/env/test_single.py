"""The environment with one hero: Gymnasium's own check, bots as rivals, seeds, pictures, records."""

from __future__ import annotations

import subprocess
import sys

import gymnasium
import numpy as np
import pytest
from gymnasium.error import ResetNeeded
from gymnasium.utils.env_checker import check_env
from gymnasium.wrappers import AddRenderObservation

import vindibot.env
from sim.board import draw, parse
from sim.game import PLIES_PER_ROUND, RUNNING, SEATS
from sim.rules import step
from tests.support.paths import TOP
from vindibot.base.errors import UsageError
from vindibot.config.bots import load_bot
from vindibot.engine.agent import Agent, in_process_voters
from vindibot.env.gymnasium_envs import VindiniumEnv
from vindibot.games.game_record import dumps, loads

ID = vindibot.env.ID
SMALL = {"map_count": 4, "rounds": 5}


@pytest.mark.parametrize("observation", ["features", "compact", "planes", "record"])
def test_gymnasium_finds_nothing(observation, capsys):
    env = gymnasium.make(ID, observation=observation, rivals=("random", "policy:hunter", "stay"), **SMALL)
    check_env(env.unwrapped)
    assert env.spec.max_episode_steps is None
    env.close()


@pytest.mark.parametrize("rivals", [("seed", "malvert", "random"), ("searcher", "policy:shy")])
def test_bots_play(rivals):
    """Equal seeds give equal games, also in a second environment and in a second game of the same one."""
    envs = [gymnasium.make(ID, rivals=rivals, nodes=50, **SMALL) for _ in range(2)]
    games = []
    for env, seed in ((envs[0], 1), (envs[1], 1), (envs[1], 2), (envs[1], 1)):
        env.reset(seed=seed)
        while not env.step(int(seed))[2]:
            pass
        games.append(env.unwrapped.record())
    assert games[0].moves == games[1].moves == games[3].moves
    assert games[0].start == games[1].start == games[3].start
    assert games[2].moves != games[0].moves
    assert sorted(games[0].names) == sorted(("learner", *rivals, *rivals)[:4])
    for env in envs:
        env.close()


def test_a_bot_chooses_the_move_that_it_chooses_elsewhere():
    """With equal seeds and numbers of nodes: its agent has its own view of each state."""
    env = gymnasium.make(ID, rivals=["sparring/hunter"], hero=0, nodes=100, **SMALL).unwrapped
    env.reset(seed=3)
    game, agents = env.game.copy(), dict[int, Agent]()
    while game["status"][0] == RUNNING:
        turn = int(game["turn"][0])
        env.step(turn // PLIES_PER_ROUND % 5)
        moves = env.table.running.moves[0, turn:].tolist()
        for hero in range(SEATS):
            if hero:
                seed = env._agents[hero].seed
                agent = agents.setdefault(hero, Agent(in_process_voters(load_bot("sparring/hunter")), hero, seed, nodes=100))
                assert agent.decide_now(game).direction == moves[hero]
            step(game, 0, moves[hero])
    for agent in agents.values():
        agent.voters.let_go()
    env.close()


def test_pictures():
    text = gymnasium.make(ID, render_mode="ansi", **SMALL)
    text.reset(seed=1)
    assert parse(text.render()).tobytes() == text.unwrapped.game.tobytes()
    pixels = gymnasium.make(ID, render_mode="rgb_array", size=12, **SMALL)
    pixels.reset(seed=1)
    first = pixels.render()
    assert first.dtype == np.uint8
    assert first.shape[2] == 3
    pixels.step(int(np.flatnonzero(pixels.unwrapped.action_masks())[-1]))
    assert (pixels.render() != first).any()
    with pytest.raises(UsageError, match="render_mode: 'film'"):
        VindiniumEnv(render_mode="film", **SMALL)


def test_pictures_can_be_observations():
    env = AddRenderObservation(gymnasium.make(ID, render_mode="rgb_array", map_count=8), render_only=True)
    assert all(env.observation_space.contains(env.reset(seed=seed)[0]) for seed in range(8))


def test_a_person_sees_the_game_in_the_terminal(capsys):
    env = gymnasium.make(ID, render_mode="human", **SMALL)
    env.reset(seed=1)
    assert env.render() is None
    assert capsys.readouterr().out == draw(env.unwrapped.game)


def test_a_record_can_be_replayed_and_watched():
    env = gymnasium.make(ID, rivals=["policy:hunter", "seed"], **SMALL).unwrapped
    env.reset(seed=2)
    for action in (1, 2, 3, 4, 0):
        env.step(action)
    record = loads(dumps(env.record()))
    state = record.first()
    for move in record.moves:
        step(state, 0, move)
    assert state.tobytes() == env.game.tobytes()
    assert record.ending == "finished"
    page = env.watch()
    assert page.startswith("<!DOCTYPE html>") or "<html" in page[:500]
    frame = page._repr_html_()
    assert frame.startswith("<iframe srcdoc=")
    assert "<html" not in frame, "the page is an attribute"
    env.close()


def test_wrong_calls_are_named():
    with pytest.raises(UsageError, match="make has one learner"):
        VindiniumEnv(learners=2)
    env = gymnasium.make(ID, rounds=1, map_count=1).unwrapped
    for call in (lambda: env.step(0), env.render, env.action_masks, env.record, env.watch):
        with pytest.raises(ResetNeeded, match="before reset"):
            call()
    env.reset()
    env.step(0)
    with pytest.raises(UsageError, match="the game is over"):
        env.step(0)


def test_without_the_packages_the_message_names_them():
    code = "import sys; sys.modules['pettingzoo'] = None; import vindibot.env"
    found = subprocess.run([sys.executable, "-c", code], cwd=TOP, capture_output=True, text=True, check=False)
    assert "pip install 'vindibot[rl]'" in found.stderr
    core = "import sys, vindibot.cli.main, vindibot.arena, vindibot.learning; assert 'gymnasium' not in sys.modules"
    subprocess.run([sys.executable, "-c", core], cwd=TOP, check=True)
