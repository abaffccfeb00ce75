"""Training by self-play: equal settings give equal nets, and a run that was saved continues as if there had been no pause."""

from __future__ import annotations

import io

import numpy as np
import pytest

from behaviours.net.network import Net
from sim.game import SEATS, new_game
from vindibot.learning.matches import MatchRival, _result, match_map
from vindibot.learning.network import first_parameters, parameters_of, rounded, split
from vindibot.learning.trainer import SNAPSHOTS, Means, SelfplaySettings, Trainer, training_map

SETTINGS = SelfplaySettings(threads=2, hidden=16, rounds=40, seed=5, step=0.003)


def begun(settings: SelfplaySettings = SETTINGS) -> Trainer:
    trainer = Trainer(settings)
    trainer.begin()
    return trainer


def iterate(trainer: Trainer, times: int) -> Means:
    means = Means()
    for _ in range(times):
        trainer.iterate(0.3, means)
    return means


@pytest.mark.usefixtures("few_games")
def test_a_saved_run_continues_as_without_a_pause() -> None:
    """Through the file format, with snapshots among the guests and maps that have been replaced."""
    whole = begun()
    iterate(whole, 4)
    whole.take_snapshot()
    iterate(whole, 6)
    file = io.BytesIO()
    np.savez(file, allow_pickle=False, **whole.state())
    file.seek(0)
    with np.load(file, allow_pickle=False) as arrays:
        resumed = Trainer.restore(SETTINGS, dict(arrays))
    assert resumed.decisions == whole.decisions
    assert len(resumed.snapshots) == 1
    assert any((player.maps >= 4).any() for player in resumed.players)
    iterate(whole, 2)
    iterate(resumed, 2)
    assert np.array_equal(resumed.parameters, whole.parameters)
    for name, array in whole.state().items():
        assert np.array_equal(array, resumed.state()[name]), name


@pytest.mark.usefixtures("few_games")
def test_a_run_with_other_features_is_refused() -> None:
    state = begun().state()
    state["parameters"] = state["parameters"][:-34]
    with pytest.raises(ValueError, match="another version of vindibot made the run"):
        Trainer.restore(SETTINGS, state)


@pytest.mark.usefixtures("few_games")
def test_snapshots_keep_the_oldest_and_the_newest() -> None:
    trainer = begun()
    for number in range(SNAPSHOTS + 2):
        split(trainer.parameters, 16, 0)[1][1:] = number
        trainer.take_snapshot()
    kept = [int(one.linear[1] / 1024) for one in trainer.snapshots]
    assert kept == [0, *range(3, SNAPSHOTS + 2)]


def test_training_needs_no_map_of_a_match() -> None:
    training = {training_map(5, thread, number).digest for thread in range(2) for number in range(80)}
    assert not training & {match_map(5, block).digest for block in range(40)}


def test_a_run_from_a_net_begins_with_its_weights() -> None:
    policy, value = rounded(first_parameters(16, 8), 16)
    parameters = parameters_of(Net(policy, value), 32, 1)
    again = rounded(parameters, 32)
    assert np.array_equal(again[0].rows[:, :16], policy.rows)
    assert np.array_equal(again[1].linear, value.linear)
    assert not again[0].out[16:].any()  # further units change nothing at first


def test_a_game_is_won_with_more_gold_than_every_rival() -> None:
    """A block of four games, in which the net has seat 0, 1, 2 and 3."""
    games = [new_game(np.zeros((4, 4), np.uint8), [None] * 4, [None] * 4) for _ in range(SEATS)]
    for game, gold in zip(games, ([5, 1, 1, 1], [2, 2, 0, 0], [0, 0, 9, 1], [9, 0, 0, 8]), strict=True):
        game["hero"]["gold"][0] = gold
    result = _result(games, [1, 0, 2, 3])
    assert (result.won.tolist(), result.deaths.tolist(), result.games) == ([0.5], [1.5], 4)


def test_a_net_that_takes_mines_beats_one_that_stays() -> None:
    stays, takes = first_parameters(16, 1) * 0, first_parameters(16, 1) * 0
    split(stays, 16, 0)[1][1:11] = 5.0
    found = split(takes, 16, 0)[1]
    found[21:31] = 5.0  # takes a mine
    found[44:84] = np.repeat(np.linspace(2, -2, 8), 5)  # nearer to a mine is better
    result = MatchRival("stays", rounded(stays, 16)[0]).meet(rounded(takes, 16)[0], 5, 10, lambda: False, rounds=100)
    assert result is not None
    assert result.won.mean() > 0.7
