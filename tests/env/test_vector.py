"""The vector: equal to single environments step by step, and its games are real games."""

from __future__ import annotations

import gymnasium
import numpy as np
import pytest
from gymnasium.error import ResetNeeded
from gymnasium.utils.env_checker import data_equivalence
from gymnasium.vector import AutoresetMode, SyncVectorEnv
from hypothesis import given, settings, strategies as st

import vindibot.env
from behaviours.net.network import Net, save_nets
from sim.game import RUNNING, STAY
from sim.rules import step
from tests.env import reference
from tests.support.nets import random_network
from vindibot.base.errors import UsageError
from vindibot.env.gymnasium_envs import VindiniumVectorEnv
from vindibot.env.stepping import LEARNER

gymnasium.register_envs(vindibot.env)
SMALL = {"map_count": 4, "rounds": 6}


def both(count, mode, **options):
    """A native vector, and Gymnasium's vector of single environments."""
    native = gymnasium.make_vec(vindibot.env.ID, num_envs=count, autoreset_mode=mode, **options)
    one = {"vectorization_mode": "sync", "vector_kwargs": {"autoreset_mode": mode}}
    return native, gymnasium.make_vec(vindibot.env.ID, num_envs=count, **one, **options)


@pytest.mark.parametrize("mode", AutoresetMode)
@pytest.mark.parametrize(
    ("observation", "reward", "rivals"),
    [
        ("features", "lead", ("random", "policy:hunter")),
        ("compact", "place", ("policy:shy", "policy:plain", "policy:raider", "random", "policy:timid")),
        ("planes", "win", ("random",)),
        ("record", "gold", ("policy:careful",)),
    ],
)
@settings(max_examples=3)
@given(seed=st.integers(0, 2**32 - 1))
def test_a_vector_equals_single_environments(mode, observation, reward, rivals, seed):
    count = 3
    native, single = both(count, mode, observation=observation, reward=reward, rivals=rivals, **SMALL)
    assert isinstance(native.unwrapped, VindiniumVectorEnv)
    assert isinstance(single.unwrapped, SyncVectorEnv)
    assert native.metadata["autoreset_mode"] is mode
    assert native.observation_space == single.observation_space
    assert data_equivalence(native.reset(seed=seed), single.reset(seed=seed), exact=True)
    native.action_space.seed(seed)
    for _ in range(20):
        actions = native.action_space.sample()
        found, wanted = native.step(actions), single.step(actions)
        assert data_equivalence(found, wanted, exact=True)
        ended = found[2]
        if mode is AutoresetMode.DISABLED and ended.any():
            found, wanted = (env.reset(options={"reset_mask": ended.copy()}) for env in (native, single))
            assert data_equivalence(found, wanted, exact=True)
    assert data_equivalence(native.reset(), single.reset(), exact=True), "the random numbers go on without a seed"


def test_a_net_plays_in_the_kernel(tmp_path):
    """The rival of the kernel makes the moves of the bot that plays the same net."""
    path = tmp_path / "mine.npz"
    path.write_bytes(save_nets([Net(random_network(np.random.default_rng(1), 16, 300), name="mine")]))
    (tmp_path / "mine.toml").write_text('name = "mine"\n[traits.learned]\nnet = "mine.npz"\n')
    envs = [
        gymnasium.make(vindibot.env.ID, rivals=[rival], hero=1, observation="record", **SMALL)
        for rival in (f"net:{path}", f"net:{tmp_path / 'mine'}", str(tmp_path / "mine.toml"))
    ]
    for _ in range(2):
        states = [env.reset(seed=7) for env in envs]
        for action in np.random.default_rng(2).integers(0, 5, 6):
            assert data_equivalence(states[0], states[1], exact=True)
            assert data_equivalence(states[0], states[2], exact=True)
            states = [env.step(action) for env in envs]
    for env in envs:
        env.close()


@pytest.mark.parametrize("kind", ["lead", "gold", "place", "win"])
def test_every_ply_is_a_ply_of_the_rules(kind):
    """The states follow from the recorded moves, and the rewards are the changes of the worth at the turns of the learner."""
    env = gymnasium.make(vindibot.env.ID, rivals=["policy:hunter", "random"], reward=kind, **SMALL, mines=8).unwrapped
    rng = np.random.default_rng(3)
    for seed in range(4):
        observation, info = env.reset(seed=seed)
        game = env.table.maps.starts[env.table.running.where[0]].reshape(1).copy()
        game["max_turns"] = 24
        hero, rewards, place, before = info["hero"], list[float](), 0, 0.0
        assert env.table.running.seats[0].tolist().count(LEARNER) == 1
        assert env.table.running.seats[0, hero] == LEARNER
        while True:
            turn = int(env.game["turn"][0])
            for move in env.table.running.moves[0, place:turn]:
                step(game, 0, int(move))
            place = turn
            assert game.tobytes() == env.game.tobytes()
            assert np.array_equal(observation["observation"], reference.features(game, hero))
            assert np.array_equal(observation["action_mask"], reference.mask(game, hero))
            assert np.array_equal(info["gold"], game["hero"]["gold"][0])
            if rewards:
                now = reference.worth(game, hero, kind)
                assert rewards[-1] == pytest.approx(now - before)
                before = now
            if game["status"][0] != RUNNING:
                break
            assert turn % 4 == hero
            observation, reward, ended, cut, info = env.step(int(rng.integers(5)))
            rewards.append(reward)
            assert ended == (env.game["status"][0] != RUNNING)
            assert not cut, "the end of a game is no truncation"
        assert len(rewards) == 6
        assert sum(rewards) == pytest.approx(reference.worth(game, hero, kind))


def test_several_learners_of_one_game():
    """A step is a move of the hero in the info; the rewards of all learners add up to their worth at the end."""
    env = gymnasium.make_vec(vindibot.env.ID, num_envs=5, learners=3, rivals=["policy:hunter"], mines=8, **SMALL)
    _, infos = env.reset(seed=4)
    totals, rows = np.zeros((5, 4)), np.arange(5)
    learned = env.unwrapped.table.running.seats == LEARNER
    assert (learned.sum(axis=1) == 3).all()
    while True:
        assert learned[rows, infos["hero"]].all()
        _, rewards, ended, _, infos = env.step(env.action_space.sample())
        totals += infos["rewards"]
        assert np.array_equal(rewards, infos["rewards"][rows, infos["hero"]])
        if ended.any():
            break
    gold = infos["gold"].astype(float)
    assert ended.all()
    assert np.allclose(totals[learned], (gold - (gold.sum(axis=1, keepdims=True) - gold) / 3)[learned])


def test_each_rival_plays_once_before_another_plays_twice():
    env = VindiniumVectorEnv(200, rivals=["policy:plain", "policy:shy", "random"], **SMALL)
    env.reset(seed=0)
    seats = env.table.running.seats
    assert {tuple(sorted(row)) for row in seats.tolist()} == {(-2, -1, 0, 1)}
    assert len({tuple(row) for row in seats.tolist()}) == 24, "in any order"


def test_seats_and_maps_are_drawn_evenly():
    env = VindiniumVectorEnv(4000, **SMALL)
    env.reset(seed=0)
    run = env.table.running
    for drawn in (np.bincount((run.seats == LEARNER).argmax(axis=1), minlength=4), np.bincount(run.where, minlength=4)):
        assert (abs(drawn - 1000) < 5 * np.sqrt(4000 * 3 / 16)).all()
    fixed = VindiniumVectorEnv(50, hero=2, **SMALL)
    _, infos = fixed.reset(seed=0)
    assert (infos["hero"] == 2).all()


def test_the_maps_for_tests_are_others():
    pools = [VindiniumVectorEnv(1, maps=name, **SMALL).table.maps for name in ("training", "training", "test")]
    assert pools[0].starts.tobytes() == pools[1].starts.tobytes()
    kinds = [{start.tobytes() for start in pool.starts} for pool in pools]
    assert len(kinds[0]) == len(kinds[2]) == 4
    assert not kinds[0] & kinds[2]
    sized = VindiniumVectorEnv(1, size=12, mines=9, **SMALL).table.maps
    assert (sized.starts["size"] == 12).all()


def test_a_copy_is_the_callers_own():
    kept = VindiniumVectorEnv(2, copy=False, **SMALL)
    first, _ = kept.reset(seed=0)
    assert kept.step(np.zeros(2, int))[0]["observation"] is first["observation"], "made once"
    own = VindiniumVectorEnv(2, **SMALL)
    first, infos = own.reset(seed=0)
    before = first["observation"].copy(), infos["action_mask"].copy()
    for _ in range(9):
        own.step(np.ones(2, int))
    assert data_equivalence((first["observation"], infos["action_mask"]), before, exact=True)


def test_any_other_number_is_stay():
    found = []
    for action in (STAY, 7, -1):
        env = VindiniumVectorEnv(2, **SMALL)
        env.reset(seed=5)
        found.append(env.step(np.full(2, action))[0])
    assert data_equivalence(found[0], found[1], exact=True)
    assert data_equivalence(found[0], found[2], exact=True)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"rivals": ["policy:nobody"]}, "no policy 'nobody'; there are plain"),
        ({"rivals": ["net:nobody"]}, "no file of nets 'nobody'"),
        ({"rivals": ["seed"]}, "seed: bots play in gymnasium.make alone"),
        ({"rivals": ["nobody"]}, "a rival is a bot, or one of"),
        ({"observation": "picture"}, "observation: must be"),
        ({"roundz": 3}, "rounds"),
        ({"maps": "nowhere"}, "the sets are training and test"),
        ({"maps": "m1", "size": 10}, "options of the sets of maps"),
        ({"num_envs": 0}, "at least 1"),
        ({"render_mode": "human"}, "render_mode: 'human' is unknown here; there are ansi, rgb_array"),
    ],
)
def test_wrong_options_are_named(options, words):
    with pytest.raises(UsageError, match=words):
        VindiniumVectorEnv(**options)


def test_wrong_calls_are_named():
    env = VindiniumVectorEnv(2, autoreset_mode="Disabled", map_count=1, rounds=1)
    for call in (
        lambda: env.step(np.zeros(2, int)),
        env.render,
        lambda: env.reset(options={"reset_mask": np.array([True, False])}),
    ):
        with pytest.raises(ResetNeeded, match="before reset"):
            call()
    for call, words in (
        (lambda: env.reset(seed=[1]), "1 seed for 2 games"),
        (lambda: env.reset(options={"reset_mask": np.zeros(2, bool)}), "reset_mask"),
    ):
        with pytest.raises(UsageError, match=words):
            call()
    env.reset(seed=[1, None])
    with pytest.raises(UsageError, match="actions for 2 games"):
        env.step(np.zeros(3, int))
    env.step(np.zeros(2, int))
    with pytest.raises(UsageError, match="game 0 is over"):
        env.step(np.zeros(2, int))
