"""``vindibot learn value``: the weights of an evaluation, fitted to recorded games."""

from __future__ import annotations

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
from vindibot.learning.decisions import digest_number, read_games
from vindibot.learning.value import FITTED, PositionColumns, Positions, fit_value, fit_weights, positions_of

WEIGHTS = Weights(leader=0.4, rivals=0.9)


def searched(path: Path) -> Weights:
    """Return the weights of the trait `search` of a bot."""
    return next(behaviour.weights for _, behaviour in load_bot(str(path)).build() if isinstance(behaviour, Search))


def drawn(seed: int, changes: np.ndarray, noise: float) -> Positions:
    """Return positions with random features: `changes` (in spreads) is what the evaluation misses, but for the noise."""
    rng = np.random.default_rng(seed)
    features = rng.normal(size=(5000, len(FITTED))).astype(np.float32)
    missed = features @ changes + noise * rng.normal(size=5000)
    return Positions(PositionColumns(missed, missed, features), np.arange(5000) // 500, np.arange(7, 10))


def test_positions_are_those_of_recorded_games(games: Path) -> None:
    """Against the evaluation of the states of each game's history."""
    found, row = positions_of(read_games([games], 0.3), WEIGHTS, 7), 0
    movers = set()
    reach = [compiled_weights(WEIGHTS.model_copy(update={"reach": value})) for value in (0.3, 0.24, 0.36)]
    for record in read_records(games):
        history, tables = GameHistory.of(record), map_tables_of(record.game_map())
        final = history.last["hero"]["gold"][0].astype(float)
        for ply in range(digest_number(bytes(record.moves)) % 29, 360, 29):
            state = history.state(ply)
            movers.add(ply % SEATS)
            left = 90 - ply // SEATS
            now = state["hero"]["gold"][0].astype(float)
            for hero in range(SEATS):
                value, low, high = (score(state, 0, hero, tables, weights) / 100 for weights in reach)
                end, gold = (
                    each[hero] - 0.9 * np.delete(each, hero).mean() - 0.4 * np.delete(each, hero).max() for each in (final, now)
                )
                assert found.columns.missed[row] == pytest.approx((end - value) / left, abs=0.02)
                assert found.columns.gained[row] == pytest.approx((end - gold) / left, abs=0.02)
                assert found.columns.features[row, FITTED.index("reach")] == pytest.approx((high - low) / 2 / left, abs=0.02)
                row += 1
    assert row == len(found)
    assert movers == {0, 1, 2, 3}


def test_known_weights_are_found_again() -> None:
    changes = np.zeros(len(FITTED))
    changes[[FITTED.index(name) for name in ("reach", "danger", "keep")]] = 2, -1.5, 0.5
    fitted = fit_weights(drawn(1, changes, 1.0), WEIGHTS)
    assert fitted.reach == pytest.approx(0.3 + 2 * 0.06, rel=0.03)
    assert fitted.danger == pytest.approx(0.25 - 1.5 * 0.05, rel=0.05)
    assert fitted.keep == pytest.approx(70 + 0.5 * 14, rel=0.03)
    assert (fitted.leader, fitted.rivals) == (0.4, 0.9)


def test_noise_changes_little_and_weights_stay_within_their_limits() -> None:
    fitted = fit_weights(drawn(2, np.zeros(len(FITTED)), 5.0), WEIGHTS)
    assert fitted.reach == pytest.approx(0.3, abs=0.02)
    fitted = fit_weights(drawn(2, np.full(len(FITTED), -90.0), 1.0), WEIGHTS)
    assert Weights.model_validate(fitted.model_dump()).keep == 1
    assert fitted.tavern == 0


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
    before = searched(Path("searcher"))
    fit = fit_value(read_games([games], 0.3), before, 2)
    assert fit.after.r2 > fit.before.r2 + 0.03, "two of the bots always stand still or make random moves"
    assert f"{fit.before.r2:.3f} before, {fit.after.r2:.3f} fitted" in said
    fitted = searched(tmp_path / "sub" / "mine.toml")
    assert fitted == fit.weights
    assert (fitted.rivals, fitted.leader) == (before.rivals, before.leader)
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
        (["searcher"], "Missing argument 'RECORDS...'"),
        (["searcher", "none.jsonl"], "there is no file of game records none.jsonl"),
        (["seed", games], "--trait search: seed has no trait 'search' with the weights of an evaluation, as search has"),
        (
            ["strong", games, "--trait", "rollout"],
            "--trait rollout: strong has no trait 'rollout' with the weights of an evaluation",
        ),
        (["searcher", games, "--out", "a.npz"], "--out: the name of the file must end in .toml"),
        (["searcher", games, "--out", "own.toml"], "own.toml is there already and was not made by vindibot learn value"),
        (["own.toml", games, "--out", "own.toml"], "--out: own.toml is the bot itself; name another file"),
        (["searcher", games, "--every", "0"], "1<=x<=1000"),
        (["searcher", "few.games.jsonl"], "at least 1000 are needed: record more games on more maps"),
        (["searcher", "one.games.jsonl"], "these games are on one map"),
    ):
        code, said = invoke(tmp_path, "learn", "value", *words)
        assert code == 2, said
        assert message in " ".join(said.split()), said
    assert {path.name for path in tmp_path.iterdir()} == names
