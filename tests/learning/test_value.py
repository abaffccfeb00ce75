"""``vindibot learn value``: the weights of an evaluation, fitted to recorded games."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

from behaviours.common.evaluation import Weights, compiled_weights, score
from behaviours.common.map_tables import map_tables_of
from behaviours.search.trait import Search
from sim.game import SEATS
from tests.support.commands import invoke
from vindibot.config.bots import load_bot
from vindibot.games.files.game_files import read_records
from vindibot.games.history import GameHistory
from vindibot.learning.decisions import Sample, digest_number, read_games
from vindibot.learning.value import FITTED, PositionColumns, fit_weights, positions_of, unit_of

WEIGHTS = Weights(leader=0.4, rivals=0.9)


def searched(path: Path) -> Weights:
    """Return the weights of the trait `search` of a bot."""
    return next(behaviour.weights for _, behaviour in load_bot(str(path)).build() if isinstance(behaviour, Search))


def drawn(seed: int, changes: np.ndarray, noise: float) -> Sample:
    """Return positions with random features: `changes` (in units) is what the evaluation misses, but for the noise."""
    rng = np.random.default_rng(seed)
    features = rng.normal(size=(5000, len(FITTED)))
    columns = PositionColumns(features @ changes + noise * rng.normal(size=5000), features)
    return Sample(columns, np.arange(5000) // 500, np.arange(7, 10))


def test_positions_are_those_of_recorded_games(games: Path) -> None:
    """Against the evaluation of the states of each game's history."""
    found, row = positions_of(read_games([games], 0.3), WEIGHTS, 7), 0
    movers = set()
    weights = [compiled_weights(WEIGHTS.model_copy(update={"reach": value})) for value in (0.3, 0.3 + unit_of("reach"))]
    for record in read_records(games):
        history, tables = GameHistory.of(record), map_tables_of(record.game_map())
        gold = history.last["hero"]["gold"][0].astype(float)
        plies = range(digest_number(bytes(record.moves)) % 29, 360, 29)
        movers |= {ply % SEATS for ply in plies}
        missed, features = np.zeros((2, len(plies), SEATS))
        for number, ply in enumerate(plies):
            for hero in range(SEATS):
                value, more = (score(history.state(ply), 0, hero, tables, each) / 100 for each in weights)
                end = gold[hero] - 0.9 * np.delete(gold, hero).mean() - 0.4 * np.delete(gold, hero).max()
                missed[number, hero], features[number, hero] = (end - value), (more - value)
        left = np.array([[90 - ply // SEATS] for ply in plies])
        rows = slice(row, row + missed.size)
        for expected, column in ((missed, found.columns.missed), (features, found.columns.features[:, FITTED.index("reach")])):
            within = expected / left - (expected / left).mean(axis=0)
            assert np.abs(column[rows] - within.ravel()).max() < 0.02
        row = rows.stop
    assert row == len(found)
    assert movers == {0, 1, 2, 3}


def test_known_weights_are_found_again() -> None:
    changes = np.zeros(len(FITTED))
    changes[[FITTED.index(name) for name in ("reach", "danger", "life")]] = 2, -1.5, 0.5
    fitted = fit_weights(drawn(1, changes, 1.0), WEIGHTS)
    assert fitted["reach"] == pytest.approx(0.3 + 2 * unit_of("reach"), rel=0.05)
    assert fitted["danger"] == pytest.approx(0.25 - 1.5 * unit_of("danger"), abs=0.01)
    assert fitted["life"] == pytest.approx(35 + 0.5 * unit_of("life"), rel=0.05)
    assert set(fitted) == set(FITTED)


def test_noise_changes_little_and_weights_stay_within_their_limits() -> None:
    fitted = fit_weights(drawn(2, np.zeros(len(FITTED)), 5.0), WEIGHTS)
    assert fitted["reach"] == pytest.approx(0.3, abs=0.02)
    fitted = fit_weights(drawn(2, np.full(len(FITTED), 90.0), 1.0), WEIGHTS)
    assert (fitted["frailty"], fitted["reach"]) == (1, 3)
    Weights.model_validate(fitted)


def test_maps_for_validation_are_not_used_for_the_fit(games: Path) -> None:
    recorded = read_games([games], 0.3)
    held = set(recorded.held.tolist())
    alone = type(recorded)(tuple(pair for pair in recorded.games if pair[1] not in held), recorded.held)
    positions = positions_of(recorded, WEIGHTS, 2).divided("positions")[0]
    assert fit_weights(positions, WEIGHTS) == fit_weights(positions_of(alone, WEIGHTS, 2), WEIGHTS)


def test_command_writes_a_bot_with_the_fitted_weights(games: Path, tmp_path: Path) -> None:
    words = ["learn", "value", "searcher", games, "--every", 2]
    code, said = invoke(tmp_path, *words, "--out", "sub/mine.toml")
    assert code == 0, said
    before, fitted = searched(Path("searcher")), searched(tmp_path / "sub" / "mine.toml")
    positions = positions_of(read_games([games], 0.3), before, 2)
    expected = fit_weights(positions.divided("positions")[0], before)
    assert fitted == before.model_copy(update=expected)
    errors = re.search(r"error on other maps, in gold per round left: (\S+) before, (\S+) fitted", said)
    assert errors is not None
    assert float(errors[2]) < float(errors[1])
    content = (tmp_path / "sub" / "mine.toml").read_bytes()
    code, said = invoke(tmp_path, *words, "--out", "sub/mine.toml")
    assert code == 0, said
    assert (tmp_path / "sub" / "mine.toml").read_bytes() == content, "an equal fit gives an equal bot"
    code, said = invoke(tmp_path, "arena", "sub/mine.toml", "searcher", "--blocks", 1, "--rounds", 3, "--nodes", 100)
    assert code == 0, said


def test_wrong_words_are_refused(games: Path, tmp_path: Path) -> None:
    (tmp_path / "own.toml").write_text('extends = "searcher"\n')
    lines = games.read_bytes().splitlines(keepends=True)
    (tmp_path / "few.games.jsonl").write_bytes(lines[0] + lines[-1])
    (tmp_path / "one.games.jsonl").write_bytes(lines[0])
    names = {path.name for path in tmp_path.iterdir()}
    for words, message in (
        (["searcher", "none.jsonl"], "there is no file of game records none.jsonl"),
        (["seed", games], "--trait search: seed has no trait 'search' with the weights of an evaluation, as search has"),
        (
            ["strong", games, "--trait", "rollout"],
            "--trait rollout: strong has no trait 'rollout' with the weights of an evaluation",
        ),
        (["searcher", games, "--out", "a.npz"], "--out: the name of the file must end in .toml"),
        (["searcher", games, "--out", "own.toml"], "own.toml is there already and was not made by vindibot learn value"),
        (["own.toml", games, "--out", "own.toml"], "--out: own.toml is the bot itself; name another file"),
        (["searcher", "few.games.jsonl"], "at least 1000 are needed: record more games on more maps"),
        (["searcher", "one.games.jsonl"], "these games are on one map"),
    ):
        code, said = invoke(tmp_path, "learn", "value", *words)
        assert code == 2, said
        assert message in " ".join(said.split()), said
    assert {path.name for path in tmp_path.iterdir()} == names
