"""The example of offline learning: recorded games as episodes, and as a data set of Minari."""

from __future__ import annotations

import importlib
import sys
from itertools import pairwise

import numpy as np
import pytest

from sim.game import RUNNING, mover
from sim.rules import step
from tests.env import reference
from tests.support.paths import TOP
from tests.support.recorded import record_of, states_of
from vindibot.games.files.game_files import read_records
from vindibot.games.game_record import dumps, map_before
from vindibot.games.outcome import Reason


@pytest.fixture
def offline(monkeypatch):
    """The module of the example."""
    monkeypatch.syspath_prepend(TOP / "examples" / "offline")
    return importlib.import_module("episodes")


def recorded(path, plies=80):
    """A file with two games of random moves; in the second, hero 1 crashes."""
    lines = []
    for seed in range(2):
        states = states_of(seed, plies)
        played = [int(after["hero"]["last_dir"][0, mover(before)]) for before, after in pairwise(states)]
        if seed:
            played[4:] = [5, *(move if ply % 4 else 0 for ply, move in enumerate(played[5:], 5))]
        record = record_of(map_before(states[0]), played, id=f"game{seed}", max_turns=plies, ending=Reason.FINISHED)
        lines.append(dumps(record))
    path.write_bytes(b"\n".join(lines) + b"\n")
    return path


@pytest.mark.parametrize("reward", ["lead", "gold", "place", "win"])
def test_episodes_are_what_the_heroes_saw_and_did(reward, offline, tmp_path):
    path = recorded(tmp_path / "cup.games.jsonl")
    found = list(offline.episodes(path, reward=reward))
    assert [(episode.game, episode.hero) for episode in found] == [
        *(("game0", hero) for hero in range(4)),
        *(("game1", n) for n in (1, 2, 3)),
    ]
    records = {record.id: record for record in read_records(path)}
    for episode in found:
        record = records[episode.game]
        game, worth = record.first(), None
        place = 0
        for move in record.moves:
            if mover(game) == episode.hero:
                now = reference.worth(game, episode.hero, reward)
                assert np.array_equal(episode.observations[place], reference.features(game, episode.hero))
                assert np.array_equal(episode.masks[place], reference.mask(game, episode.hero))
                assert episode.actions[place] == move
                if worth is not None:
                    assert episode.rewards[place - 1] == pytest.approx(now - worth)
                worth, place = now, place + 1
            step(game, 0, move)
        assert np.array_equal(episode.observations[place], reference.features(game, episode.hero))
        assert episode.rewards[-1] == pytest.approx(reference.worth(game, episode.hero, reward) - worth)
        assert len(episode.rewards) == len(episode.actions) == place == len(episode.observations) - 1
        assert episode.ended == (game["status"][0] != RUNNING)


@pytest.mark.filterwarnings("ignore::UserWarning:minari")  # recorded games have no environment that made them
def test_a_data_set_of_minari(offline, tmp_path, monkeypatch, capsys):
    pytest.importorskip("h5py", reason="minari[hdf5] is not installed")
    minari = pytest.importorskip("minari", reason="minari[hdf5] is not installed")
    monkeypatch.setenv("MINARI_DATASETS_PATH", str(tmp_path))
    found = list(offline.episodes(recorded(tmp_path / "cup.games.jsonl")))
    words = ["episodes.py", str(tmp_path / "cup.games.jsonl"), "vindinium/cup-v0"]
    monkeypatch.setattr(sys, "argv", words)
    offline.main()
    read = list(minari.load_dataset("vindinium/cup-v0"))
    assert len(read) == len(found)
    for episode, other in zip(found, read, strict=True):
        assert np.array_equal(other.actions, episode.actions)
        assert np.array_equal(other.observations["observation"], episode.observations)
        assert np.allclose(other.rewards, episode.rewards)
