"""``vindibot learn value``: values fitted to the results of recorded games."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from scipy.stats import spearmanr

from behaviours.common.map_tables import map_tables_of
from behaviours.net.features import FEATURES, FOUND, MOVE_SLOTS, STATE_SLOTS
from behaviours.net.network import LEAD, NO_POLICY, REWARDS, UNIT, Net, NetError, compiled_networks, load_nets, save_nets
from behaviours.net.scoring import UNITS, features_in, net_value
from sim.game import SEATS
from tests.support.commands import invoke
from tests.support.nets import random_network
from vindibot import __version__
from vindibot.games.game_record import read_records
from vindibot.games.history import GameHistory
from vindibot.learning import value
from vindibot.learning.network import first_parameters, network_size, parameters_of, split
from vindibot.learning.positions import PositionColumns, Positions, first_round, positions_of
from vindibot.learning.value import PHASES, fit_value, qualities, rank_correlation, value_gradient, values_of


def table(said: str) -> dict[str, list[float]]:
    """Return the rows of the table that the command prints, by the first round of the phase."""
    lines = [line.split() for line in said.splitlines()]
    return {
        words[0]: [float(word) for word in words[1:]] for words in lines if len(words) == 4 and words[0] in {"all", "0", "50"}
    }


def test_positions_are_turns_of_recorded_games(games: Path) -> None:
    """Against the states of the history of each game: features, leads, rounds left, and the lead at the end."""
    found, row = positions_of([games], 7, 0.3), 0
    columns, memory = found.columns, np.zeros(1, FOUND)
    firsts: set[int] = set()
    for record in read_records(games):
        history, tables, first = GameHistory.of(record), map_tables_of(record.game_map()), first_round(record, 7)
        firsts.add(first)
        final = history.last["hero"]["gold"][0].astype(float)
        for number in range(first, 90, 7):
            for hero in range(SEATS):
                state = history.state(SEATS * number + hero)
                gold = state["hero"]["gold"][0].astype(float)
                features_in(state, 0, hero, tables, memory)
                assert columns.state[row].tolist() == memory[0]["state"].tolist()
                assert columns.stay[row].tolist() == memory[0]["moves"][:MOVE_SLOTS].tolist()
                left = 90 - number
                assert (columns.hero[row], columns.round[row], columns.left[row]) == (hero, number, left)
                mines = state["hero"]["mines"][0].astype(float)
                lead, end, income = (each[hero] - np.delete(each, hero).mean() for each in (gold, final, mines))
                assert columns.lead[row] == pytest.approx(lead, abs=1e-3)
                assert found.gain[row] == pytest.approx((end - lead) / left, abs=1e-3)
                rounds_left = sum(0.99**each for each in range(left))
                target = (end - lead - income * rounds_left) / (int(tables[0]["mines"]) * rounds_left)
                assert found.target[row] == pytest.approx(target, abs=1e-3)
                row += 1
    assert row == len(found)
    assert len(firsts) > 3, "the first round differs from game to game"


def made_up(seed: int, count: int, curved: bool = False) -> Positions:
    """Return positions with random features whose targets follow from a known function, with as much variance as noise."""
    rng = np.random.default_rng(seed)
    state, stay = rng.integers(1, 30, (count, STATE_SLOTS)), rng.integers(30, 60, (count, MOVE_SLOTS))
    stay[rng.random(stay.shape) < 0.3] = 0
    weights = rng.normal(size=60)
    weights[0] = 0
    gain = weights[state].sum(axis=1) + weights[stay].sum(axis=1)
    if curved:  # whether two features occur together: only hidden units can see this
        state[:] = 59
        state[:, :2] = rng.integers([1, 3], [3, 5], (count, 2))
        gain = np.where(state[:, 0] + 2 == state[:, 1], 1.0, -1.0)
    target = gain / gain.std() + rng.normal(size=count)
    left, lead = rng.integers(1, 300, count), rng.integers(-300, 300, count)
    rounds = (1 - 0.99**left) / 0.01
    columns = PositionColumns(
        state.astype(np.int16),
        stay.astype(np.int16),
        (np.arange(count) % SEATS).astype(np.int8),
        (300 - left).astype(np.int16),
        left.astype(np.int16),
        np.full(count, 8, np.int16),
        lead.astype(np.float32),
        (lead + 8 * rounds * target).astype(np.float32),
        np.zeros(count, np.float32),
    )
    return Positions(columns, np.arange(count) * 10 // count, np.arange(7, 10))


@pytest.mark.slow
@pytest.mark.parametrize("hidden", [0, 16])
def test_a_known_value_is_found_again(hidden: int) -> None:
    """Half of the variance is noise, so R2 is at most 0.5."""
    fit = fit_value(made_up(3, 40_000, curved=hidden > 0), hidden)
    assert (fit.fitted, fit.held) == (28_000, 12_000)
    assert 0.45 < fit.quality[-1].r2 < 0.52
    assert set(fit.quality) == {-1, *PHASES}
    assert all(0.35 < one.r2 < 0.6 for one in fit.quality.values())
    if hidden:
        assert fit_value(made_up(3, 40_000, curved=True)).quality[-1].r2 < 0.05


@pytest.mark.slow
def test_noise_gives_no_value() -> None:
    """The ridge keeps a fit from explaining noise: on other maps it is hardly worse than the value 0."""
    some = made_up(4, 5000)
    rng = np.random.default_rng(1)
    noise = some.columns._replace(final=some.columns.lead + some.columns.left * rng.normal(size=5000).astype(np.float32))
    assert -0.05 < fit_value(Positions(noise, some.maps, some.held)).quality[-1].r2 < 0.02


@pytest.mark.parametrize("hidden", [0, 16])
def test_the_gradient_equals_differences_of_the_loss(hidden: int) -> None:
    some, rng = made_up(5, 40), np.random.default_rng(3)
    parameters = first_parameters(hidden, 2)[: network_size(hidden)] + rng.normal(0, 0.1, network_size(hidden)).astype(np.float32)
    rows, linear, _ = split(parameters, hidden, 0)
    rows[0], linear[0] = 0, 0  # no feature
    gradient = np.zeros_like(parameters)
    state, stay, *_ = some.columns
    weights = rng.uniform(0.5, 2, 40).astype(np.float32)
    total = value_gradient(state, stay, some.target, weights, np.arange(40), parameters, hidden, gradient)

    def loss(changed: np.ndarray) -> float:
        rows, linear, out = split(changed, hidden, 0)
        features = np.concatenate([state, stay], axis=1)
        values = linear[features].sum(axis=1) + np.maximum(rows[features].sum(axis=1), 0) @ out
        return float((weights * (values - some.target) ** 2).sum())

    assert total == pytest.approx(loss(parameters.astype(np.float64)), rel=1e-4)
    places = rng.permutation(np.flatnonzero(gradient))[:60]
    assert len(places) > 35
    for place in places.tolist():
        if place in (0, FEATURES * hidden):
            continue  # feature 0
        up, down = parameters.astype(np.float64), parameters.astype(np.float64)
        up[place] += 1e-6
        down[place] -= 1e-6
        assert gradient[place] == pytest.approx((loss(up) - loss(down)) / 4e-6, rel=1e-3, abs=1e-3)


def test_the_quality_is_that_of_predicted_leads() -> None:
    """R2 and the rank correlation by their definitions, for each phase, against scipy."""
    some = made_up(6, 4000)
    values = np.random.default_rng(2).normal(size=4000).astype(np.float32) + some.target / 2
    some = Positions(some.columns._replace(income=values), some.maps, some.held)
    found, predicted = qualities(values, some), values * 9 * ((1 - 0.99 ** some.columns.left.astype(float)) / 0.01)
    columns = some.columns
    for begin, end in ((-1, 300), (0, 50), (200, 250), (250, 300)):
        part = (columns.round >= begin) & (columns.round < end)
        final, lead, left = (column[part].astype(float) for column in (columns.final, columns.lead, columns.left))
        end_lead = lead + predicted[part]
        r2 = 1 - (((final - end_lead) / left) ** 2).sum() / (((final - lead) / left) ** 2).sum()
        assert found[begin].r2 == pytest.approx(r2, abs=1e-3)
        assert found[begin].rank == pytest.approx(spearmanr(end_lead, final).statistic, abs=1e-3)
        assert found[begin].count == part.sum()
    assert rank_correlation(np.array([1.0, 1, 2, 3]), np.array([4.0, 4, 5, 9])) == pytest.approx(1)


@pytest.mark.slow
@pytest.mark.parametrize("hidden", [0, 16])
def test_maps_for_validation_are_not_used_for_the_fit(games: Path, hidden: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(value, "_PASSES", 2)
    known = positions_of([games], 4, 0.3)
    wrong = np.where(known.validation, 0, known.columns.final).astype(np.float32)
    other = Positions(known.columns._replace(final=wrong), known.maps, known.held)
    one, two = fit_value(known, hidden).net.value, fit_value(other, hidden).net.value
    assert all(np.array_equal(getattr(one, name), getattr(two, name)) for name in ("rows", "linear", "out"))


@pytest.mark.slow
def test_the_command_fits_a_value(games: Path, tmp_path: Path) -> None:
    """The table is that of the net in the file, whose values are those of `net_value`."""
    code, said = invoke(tmp_path, "learn", "value", games, "--out", "sub/v.npz", "--every", 4)
    assert code == 0, said
    (net,) = load_nets(tmp_path / "sub" / "v.npz", to_play=False)
    assert (net.plays, net.target, net.about["vindibot"]) == (False, LEAD, __version__)
    assert net.value is not None
    assert net.value.hidden == 0
    positions = positions_of([games], 4, 0.3)
    held = positions.part(positions.validation)
    quality = qualities(values_of(net.value, held), held)
    rows = table(said)
    assert rows["all"] == [quality[-1].count, round(quality[-1].r2, 3), round(quality[-1].rank, 3)]
    assert rows["0"][0] + rows["50"][0] == rows["all"][0]
    assert rows["all"][1] > 0.2, "two of the bots always stand still or make random moves"
    row, values = 0, values_of(net.value, positions)
    compiled, memory, units = compiled_networks([net.value]), np.zeros(1, FOUND), np.zeros(1, UNITS)
    for record in list(read_records(games))[:4]:
        history, tables = GameHistory.of(record), map_tables_of(record.game_map())
        for number in range(first_round(record, 4), 90, 4):
            for hero in range(SEATS):
                exact = net_value(compiled, 0, history.state(SEATS * number + hero), 0, hero, tables, memory, units)
                assert values[row] == pytest.approx(exact / UNIT**2, abs=1e-3)
                row += 1


@pytest.mark.slow
def test_a_net_gets_a_value_beside_its_policy(games: Path, tmp_path: Path) -> None:
    policy = Net(random_network(np.random.default_rng(1), 32, 300), None, "clever")
    (tmp_path / "policy.npz").write_bytes(save_nets([policy]))
    words = [games, "--out", "both.npz", "--hidden", 16, "--from", "policy.npz", "--every", 4]
    code, said = invoke(tmp_path, "learn", "value", *words)
    assert code == 0, said
    assert "on other maps" in said
    (net,) = load_nets(tmp_path / "both.npz")
    assert net.value is not None
    assert (net.name, net.target, net.value.hidden) == ("clever", LEAD, 16)
    assert all(np.array_equal(getattr(net.policy, name), getattr(policy.policy, name)) for name in ("rows", "linear", "out"))
    (tmp_path / "bot.toml").write_text('[traits.learned]\nnet = "both.npz"\n')
    code, said = invoke(tmp_path, "arena", "bot.toml", "random", "--blocks", 1, "--rounds", 3, "--nodes", 10)
    assert code == 0, said
    before = (tmp_path / "both.npz").read_bytes()
    code, said = invoke(tmp_path, "learn", "value", *words)
    assert code == 0, said
    assert (tmp_path / "both.npz").read_bytes() == before, "an equal fit gives an equal net"


def test_self_play_goes_on_with_values_of_rewards_alone() -> None:
    rng = np.random.default_rng(2)
    policy, other = random_network(rng, 16), random_network(rng, 16)
    rewards, leads = (parameters_of(Net(policy, other, target=target), 16, 1) for target in (REWARDS, LEAD))
    size = network_size(16)
    assert np.array_equal(rewards[:size], leads[:size])
    assert np.array_equal(leads[size:], first_parameters(16, 1)[size:])
    assert not np.array_equal(rewards[size:], leads[size:])


def test_a_net_without_a_policy_does_not_play(games: Path, tmp_path: Path) -> None:
    written = Net(NO_POLICY, random_network(np.random.default_rng(1), 16), "v", target=LEAD)
    (tmp_path / "v.npz").write_bytes(save_nets([written]))
    with pytest.raises(NetError, match="only values positions"):
        load_nets(tmp_path / "v.npz")
    (tmp_path / "alone.toml").write_text('[traits.learned]\nnet = "v.npz"\n')
    (tmp_path / "models.toml").write_text('extends = "strong"\n[traits.rollout]\nlearned = ["v.npz"]\n')
    for words in (
        ("arena", "alone.toml", "random", "--blocks", 1),
        ("arena", "models.toml", "random", "--blocks", 1),
        ("learn", "selfplay", "run", "--rivals", "v.npz"),
        ("learn", "selfplay", "run", "--from", "v.npz"),
        ("learn", "value", games, "--out", "w.npz", "--from", "v.npz"),
    ):
        code, said = invoke(tmp_path, *words)
        assert code == 2, said
        assert "has a net that only values positions, and no policy" in " ".join(said.split())
    assert {path.name for path in tmp_path.iterdir()} == {"v.npz", "alone.toml", "models.toml"}


def test_wrong_words_are_refused(games: Path, tmp_path: Path) -> None:
    (tmp_path / "own.npz").write_bytes(save_nets([Net(random_network(np.random.default_rng(1), 16))]))
    (tmp_path / "folder.npz").mkdir()
    few = tmp_path / "few.games.jsonl"
    lines = games.read_bytes().splitlines(keepends=True)
    few.write_bytes(lines[0] + lines[-1])
    one = tmp_path / "one.games.jsonl"
    one.write_bytes(lines[0])
    names = {path.name for path in tmp_path.iterdir()}
    for words, message in (
        (["--out", "a.npz"], "Missing argument 'RECORDS...'"),
        ([games], "Missing option '--out'"),
        (["none.jsonl", "--out", "a.npz"], "there is no file of game records none.jsonl"),
        ([games, "--out", "a.toml"], "--out: the name of the file must end in .npz"),
        ([games, "--out", "own.npz"], "own.npz is there already and was not made by vindibot learn value"),
        ([games, "--out", "folder.npz"], "folder.npz is a folder: --out names another file"),
        ([games, "--out", "a.npz", "--hidden", "17"], "--hidden 17: 0, or a multiple of 16 up to 128 is possible"),
        ([games, "--out", "a.npz", "--from", "b.npz"], "b.npz cannot be read"),
        ([games, "--out", "a.npz", "--every", "0"], "1<=x<=1000"),
        ([few, "--out", "a.npz"], "at least 1000 are needed: record more games on more maps"),
        ([one, "--out", "a.npz"], "these games are on one map"),
    ):
        code, said = invoke(tmp_path, "learn", "value", *words)
        assert code == 2, said
        assert message in " ".join(said.split()), said
    assert {path.name for path in tmp_path.iterdir()} == names
