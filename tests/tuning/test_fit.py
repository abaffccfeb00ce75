"""Positions of games, and an evaluation with known weights that is found again."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from behaviours.common.evaluation import Weights, compiled_weights, net_worth
from behaviours.common.map_tables import map_tables_of
from sim.game import SEATS
from tests.support.arenabots import schedule
from vindibot.arena.sandbox import play_task
from vindibot.base.errors import UsageError
from vindibot.games import GameHistory, GameRecord, loads
from vindibot.tuning import fitting
from vindibot.tuning.dataset import COLUMNS, SINGLES, Dataset, dataset_of, for_validation, positions_of, rounds_of

TRUE = {
    "keep": 90.0,
    "life": 60.0,
    "life_curve": 40.0,
    "life_season": 25.0,
    "frailty": 0.4,
    "frail": 25.0,
    "reach": 0.5,
    "loss": 0.2,
    "tavern": 0.6,
    "danger": 0.3,
    "prey": 0.0,
    "spawn": 4.0,
}


def made_up(seed: int, games: int = 240, per_game: int = 8, maps: int = 12) -> Dataset:
    """Return positions whose ends follow from the weights `TRUE`, with noise of each game and of each position."""
    rng = np.random.default_rng(seed)
    shape = (games * per_game, SEATS)
    columns: dict[str, np.ndarray] = {"game": np.repeat(np.arange(games), per_game)}
    columns["map"] = columns["game"] % maps
    columns["round"] = np.tile(np.linspace(0, 290, per_game).astype(int), games)
    columns["left"] = 300 - columns["round"]
    for name, most in {"gold": 800, "mines": 9, "life": 100, "tavern": 20, "mine": 20}.items():
        columns[name] = rng.integers(0, most, shape) + (name == "life")
    for name, largest in {"reach": 3.0, "loss": 2.0, "drink": 1.0}.items():
        columns[name] = rng.random(shape) * largest
    for name in ("danger", "prey"):
        columns[name] = rng.integers(0, 6, shape) * (rng.random(shape) < 0.2)
    columns["spawn"] = rng.random(shape) < 0.05
    noise = rng.normal(0, 0.3, (games, SEATS))[columns["game"]] + rng.standard_t(4, shape)
    columns["final"] = np.zeros(shape)
    dataset = Dataset(columns, np.full((games, 4), "x"), np.arange(maps).astype(str), np.arange(maps) % 4 == 0)
    worth = fitting.values(fitting.columns_of(dataset), [TRUE[name] for name in fitting.FITTED])
    columns["final"] = np.round(worth + 0.4 * noise * columns["left"][:, None])
    types = COLUMNS | SINGLES
    return Dataset(
        {name: column.astype(types[name]) for name, column in columns.items()}, dataset.bots, dataset.maps, dataset.validation
    )


def test_known_weights_are_found_again() -> None:
    found = fitting.fit(made_up(1))
    lead = {one.name: one for one in found.lead}
    outside = [name for name, one in lead.items() if not one.low <= TRUE[name] <= one.high]
    assert len(outside) <= 2, "of 12 intervals of 95 %"
    first_outside = [one.name for one in found.first if not one.low <= TRUE[one.name] <= one.high]
    assert len(first_outside) <= 3, "of 12 intervals, which are those of the curvature at the optimum"
    for name in ("keep", "reach", "danger"):
        assert lead[name].value == pytest.approx(TRUE[name], rel=0.15)
    assert lead["prey"].earns_nothing
    assert not lead["reach"].earns_nothing
    assert found.after[-1].r2 > found.before[-1].r2
    assert found.entropy[1] < found.entropy[0]
    assert all(abs(predicted - observed) < 0.1 for predicted, observed in found.calibration)
    assert found.one_hot.tables["mines"].shape == (8, 11)
    assert found.bins[-1].r2 > 0.3


def test_a_fit_needs_games() -> None:
    with pytest.raises(UsageError, match="games for fitting"):
        fitting.fit(made_up(1, games=24))


@pytest.fixture(scope="module")
def records(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("records") / "a.games.jsonl"
    tasks = list(schedule("seed", "malvert", blocks=1, rounds=50, limits__nodes=200).tasks())
    path.write_bytes(b"".join(play_task(task).record + b"\n" for task in tasks[:2]))
    return path


def test_positions_of_a_game(records: Path) -> None:
    record: GameRecord = loads(records.read_bytes().splitlines()[0])
    columns = positions_of(record, 7)
    history = GameHistory.of(record)
    assert len(columns["left"]) in (7, 8)
    assert set(np.diff(columns["round"]).tolist()) == {7}
    weights = compiled_weights(Weights())
    part = Dataset(
        columns | {"game": columns["left"] * 0, "map": columns["left"] * 0},
        np.array([["x"] * 4]),
        np.array(["m"]),
        np.array([False]),
    )
    start = [0.0 if name in fitting.LINEAR else getattr(Weights(), name) for name in fitting.FITTED]
    worth = fitting.values(fitting.columns_of(part), start)
    for row, number in enumerate(columns["round"].tolist()):
        games = history.state(4 * number)
        assert games["turn"].item(0) % 4 == 0
        assert columns["gold"][row].tolist() == games["hero"]["gold"][0].tolist()
        expected = [net_worth(games[0], weights[0], hero) for hero in range(SEATS)]
        assert worth[row] == pytest.approx(expected), "the model is the evaluation of the search"
        tables = map_tables_of(record.game_map())[0]
        assert columns["tavern"][row].tolist() == [int(tables["to_tavern"][pos]) for pos in games["hero"]["pos"][0].tolist()]
    assert columns["final"][0].tolist() == history.last["hero"]["gold"][0].tolist()


def test_a_dataset_is_stored_and_split(records: Path, tmp_path: Path) -> None:
    crashed = [line.replace('"moves":"', '"moves":"x', 1) for line in records.read_text().splitlines()]
    (tmp_path / "crashed.jsonl").write_text("\n".join(crashed) + "\n")
    with pytest.raises(UsageError, match="no finished game without a crash"):
        dataset_of([tmp_path / "crashed.jsonl"], 10, 0.25)
    found = dataset_of([records], 10, 0.25)
    found.save(tmp_path / "d.npz")
    again = Dataset.load(tmp_path / "d.npz")
    assert again.bytes == found.bytes
    assert all(np.array_equal(again.columns[name], column) for name, column in found.columns.items())
    assert set(again.columns) == {*COLUMNS, *SINGLES}
    (tmp_path / "x.npz").write_text("no positions")
    with pytest.raises(UsageError, match="has no positions"):
        Dataset.load(tmp_path / "x.npz")
    made = made_up(2)
    training, held = made.split()
    assert set(training.columns["map"]) & set(held.columns["map"]) == set()
    assert set(training.columns["game"]) & set(held.columns["game"]) == set()


def test_the_rules_of_positions_and_maps() -> None:
    assert list(rounds_of("game", 60, 20)) == list(rounds_of("game", 60, 20))
    assert {rounds_of(str(number), 300, 20)[0] for number in range(400)} == set(range(20))
    share = np.mean([for_validation(str(number), 0.25) for number in range(2000)])
    assert share == pytest.approx(0.25, abs=0.03)
    assert not any(for_validation(str(number), 0) for number in range(50))
