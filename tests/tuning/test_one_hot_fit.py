"""One-hot tables: known entries are found again, a bot gets them from the command, and plays by them."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from behaviours.common.evaluation import Weights, compiled_weights, net_worth
from behaviours.common.one_hot import BINS, LEFT_BINS, OneHotTables
from sim.generator import generate
from tests.tuning.test_command import tune
from tests.tuning.test_fit import made_up
from vindibot.config import load_bot
from vindibot.tuning.dataset import Dataset
from vindibot.tuning.one_hot_fit import OneHotFit, fit_one_hot


def with_known_tables(seed: int) -> tuple[Dataset, dict[str, np.ndarray]]:
    """Return positions whose ends follow from known tables of life and mines, with noise; distances have no effect."""
    rng = np.random.default_rng(seed)
    dataset = made_up(seed)
    tables = {name: rng.normal(size=(len(LEFT_BINS) + 1, len(BINS[name]) + 1)) for name in ("life", "mines")}
    columns = dict(dataset.columns)
    row = np.searchsorted(LEFT_BINS, columns["left"])[:, None]
    gain = sum(table[row, np.searchsorted(BINS[name], columns[name])] for name, table in tables.items())
    noise = rng.normal(0, 0.3, np.shape(columns["gold"]))
    columns["final"] = np.round(columns["gold"] + columns["left"][:, None] * (gain + noise)).astype(columns["final"].dtype)
    return Dataset(columns, dataset.bots, dataset.maps, dataset.validation), tables


@pytest.fixture(scope="module")
def found() -> tuple[OneHotFit, dict[str, np.ndarray]]:
    dataset, tables = with_known_tables(3)
    return fit_one_hot(*dataset.split(), features=tuple(BINS)), tables


def test_known_tables_are_found_again(found: tuple[OneHotFit, dict[str, np.ndarray]]) -> None:
    """A constant per row has no effect on a lead, so rows are compared without their means. The ridge makes entries smaller."""
    fit, tables = found
    for name, table in tables.items():
        true, entries = [], []
        for row, errors, wanted in zip(fit.tables[name], fit.errors[name], table, strict=True):
            met = errors > 1e-6  # the positions have few rounds, lives and mines: some bins are empty
            if met.any():
                true += (wanted[met] - wanted[met].mean()).tolist()
                entries += (row[met] - row[met].mean()).tolist()
        assert len(true) > 40
        assert np.corrcoef(true, entries)[0, 1] > 0.95
        assert 0.7 < np.polyfit(true, entries, 1)[0] <= 1.05


def test_features_without_effect_earn_nothing(found: tuple[OneHotFit, dict[str, np.ndarray]]) -> None:
    fit, _ = found
    spread = {name: float(np.abs(fit.predicted - without).mean()) for name, without in fit.without.items()}
    assert max(spread["tavern"], spread["mine"]) < 0.2 * min(spread["life"], spread["mines"])
    assert (np.abs(fit.tables["tavern"]) < 5 * fit.errors["tavern"] + 0.05).all()


def test_a_bot_gets_the_tables(tmp_path: Path) -> None:
    dataset, _ = with_known_tables(4)
    dataset.save(tmp_path / "d.npz")
    for bot, trait, features in (
        ("searcher", "search", ("life", "mines", "tavern", "mine")),
        ("strong", "rollout", ("life", "mines")),
    ):
        code, said = tune(tmp_path, "fit", "d.npz", bot, "--trait", trait, "--one-hot")
        assert code == 0, said
        path = tmp_path / f"{bot}-fitted.toml"
        weights = next(behaviour for spec, behaviour in load_bot(path).build() if spec.label == trait).weights
        expected = fit_one_hot(*dataset.split(), features=features)
        for name in BINS:
            table = getattr(weights.one_hot, name)
            assert table == (tuple(map(tuple, expected.rounded_tables()[name])) if name in features else ())
        assert max(map(len, path.read_text().splitlines())) < 140, "a row of a table is on one line"
        code, said = tune(tmp_path, "fit", "d.npz", path, "--trait", trait)
        assert code == 2
        assert "fit them with --one-hot" in said
    assert "One-hot table: own mines" in (tmp_path / "d.fit.html").read_text()


def test_the_net_worth_is_the_sum_of_the_entries() -> None:
    tables = {name: np.arange(8 * (len(BINS[name]) + 1)).reshape(8, -1) / 100 for name in ("life", "mines")}
    weights = compiled_weights(Weights(one_hot=OneHotTables(**{name: table.tolist() for name, table in tables.items()})))
    game = generate(1, size=10).new_game()[0]
    game["hero"]["life"][0], game["hero"]["mines"][0], game["hero"]["gold"][0] = 50, 7, 11
    # 300 rounds left: row 7. Life 50: column 3 of 10. 7 mines: column 7 of 11.
    assert net_worth(game, weights[0], 0) == pytest.approx(11 + 300 * (0.73 + 0.84))
