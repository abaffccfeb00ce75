"""``vindibot learn imitate``: nets fitted to recorded moves, as opponent models and as players."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from behaviours.common.map_tables import map_tables_of
from behaviours.net.features import FOUND, MOVE_SLOTS, STATE_SLOTS
from behaviours.net.move_features import FEATURES as BASIC_FEATURES, SLOTS
from behaviours.net.network import UNIT, Net, Network, compiled_networks, load_nets, save_nets
from behaviours.net.scoring import net_move
from behaviours.rollout.policy import LIBRARY
from behaviours.rollout.trait import Rollout
from sim.rules import step
from tests.support.commands import invoke
from vindibot import __version__
from vindibot.config.bots import load_bot
from vindibot.games.files.game_files import read_records
from vindibot.games.history import GameHistory
from vindibot.learning import decisions, imitation
from vindibot.learning.decisions import Columns, MoveDecisions, decisions_of
from vindibot.learning.gradient import SUMS, cross_entropy, cross_entropy_gradient
from vindibot.learning.imitation import fit_net
from vindibot.learning.network import first_parameters, network_size, split


def table(said: str) -> dict[str, list[str]]:
    """Return the rows of the table that the command prints, by the name of the bot."""
    return {line.split()[0]: line.split()[1:] for line in said.splitlines() if line.split()[3:] and "%" in line}


def rollout(path: Path) -> Rollout:
    found = next(behaviour for spec, behaviour in load_bot(str(path)).build() if spec.label == "rollout")
    assert isinstance(found, Rollout)
    return found


@pytest.mark.slow
def test_a_bot_learns_how_others_move(games: Path, tmp_path: Path) -> None:
    code, said = invoke(tmp_path, "learn", "imitate", "versions/strong-1", games, "--out", "more.toml")
    assert code == 0, said
    rows = table(said)
    share = {bot: float(row[2].rstrip("%")) for bot, row in rows.items()}
    assert set(rows) == {"careful", "hunter", "random", "stay"}
    assert share["stay"] == 100
    assert share["hunter"] > 60
    assert share["random"] < 50
    assert rows["hunter"][3] == rows["careful"][3] == "100.0%"
    nets = load_nets(tmp_path / "more.npz")
    assert [net.name for net in nets] == ["careful", "hunter", "random", "stay"]
    assert all(net.policy.is_basic and net.about["vindibot"] == __version__ for net in nets)
    assert rollout(tmp_path / "more.toml").learned == (str(tmp_path / "more.npz"),)
    assert 'learned = [\n    "more.npz",\n]' in (tmp_path / "more.toml").read_text()
    # the models of a bot are kept, and new ones follow them, also those of a built-in bot
    code, said = invoke(tmp_path, "learn", "imitate", "more.toml", games, "--only", "hunter", "--out", "again.toml")
    assert code == 0, said
    assert rollout(tmp_path / "again.toml").learned == (str(tmp_path / "more.npz"), str(tmp_path / "again.npz"))
    (again,) = load_nets(tmp_path / "again.npz")
    assert (again.policy.linear == nets[1].policy.linear).all()
    code, said = invoke(tmp_path, "learn", "imitate", "versions/strong-3", games, "--only", "stay", "--out", "sub/last.toml")
    assert code == 0, said
    assert '"versions/models.npz",\n    "last.npz"' in (tmp_path / "sub" / "last.toml").read_text()
    assert len(rollout(tmp_path / "sub" / "last.toml").policies()) == 1 + len(LIBRARY) + 9 + 1
    code, said = invoke(tmp_path, "arena", "--match", "again.toml", "seed", "--blocks", 1, "--rounds", 3, "--nodes", 500)
    assert code == 0, said


@pytest.mark.parametrize("hidden", [pytest.param(0, marks=pytest.mark.slow), 16])
def test_a_net_plays_like_a_bot(games: Path, tmp_path: Path, hidden: int) -> None:
    words = [games, "--only", "hunter", "--net", "copy.npz", "--hidden", hidden, "--near", 3]
    code, said = invoke(tmp_path, "learn", "imitate", *words)
    assert code == 0, said
    row = table(said)["hunter"]
    (net,) = load_nets(tmp_path / "copy.npz")
    assert net.policy.hidden == hidden
    assert (net.name, net.about["near"]) == ("hunter", 3)
    held = decisions_of([games], 0.3, ["hunter"])["hunter"]
    held = held.part(held.validation)
    share = predicted(net.policy, games, {int(number) for number in held.maps})
    assert row[2] == f"{share:.1%}"
    assert share > 0.6
    (spec,) = load_bot(str(tmp_path / "copy.toml")).traits
    assert (spec.use, spec.parameters["net"]) == ("learned", str(tmp_path / "copy.npz"))
    code, said = invoke(tmp_path, "arena", "copy.toml", "random", "--blocks", 1, "--rounds", 3, "--nodes", 10)
    assert code == 0, said
    again, said = invoke(tmp_path, "learn", "imitate", *words)
    assert again == 0, said
    assert (load_nets(tmp_path / "copy.npz")[0].policy.linear == net.policy.linear).all()


def predicted(network: Network, games: Path, maps: set[int]) -> float:
    """Return the share of the moves of hunter on these maps that a network predicts, by its moves in the recorded games."""
    compiled, found, scores = compiled_networks([network]), np.zeros(1, FOUND), np.zeros(5, np.int64)
    numbers: dict[str, int] = {}
    same = count = 0
    for record in read_records(games):
        where = record.game_map()
        if numbers.setdefault(where.digest, len(numbers)) not in maps:
            continue
        for ply in GameHistory.of(record):
            assert ply.mover is not None
            if record.names[ply.mover] == "hunter":
                move = net_move(compiled, 0, ply.before, 0, ply.mover, map_tables_of(where), found, scores)
                count += 1
                same += after(ply.before, move) == after(ply.before, ply.move or 0)
    return same / count


def after(games: np.ndarray, move: int) -> bytes:
    """Return the state after a move, without the direction of the move."""
    then = games.copy()
    step(then, 0, move)
    then["hero"]["last_dir"] = 0
    return bytes(then.tobytes())


def drawn(seed: int, count: int, hidden: int = 0) -> tuple[MoveDecisions, np.ndarray]:
    """Return decisions with random features, whose moves are drawn by a known network, and the probabilities of the moves."""
    rng = np.random.default_rng(seed)
    moves = np.zeros((count, 5, MOVE_SLOTS), np.int16)
    moves[:, :, :SLOTS] = rng.integers(0, 40, (count, 5, SLOTS))
    moves[rng.random((count, 5)) < 0.2, 0] = -1
    moves[:, 0, 0] = 1
    state = np.tile(BASIC_FEATURES + 1 + np.arange(STATE_SLOTS, dtype=np.int16), (count, 1))
    state[:, 0] = BASIC_FEATURES + rng.integers(0, 2, count)
    weights = rng.normal(0, 0.7, 40)
    weights[0] = 0
    seen = np.maximum(moves, 0)
    scores = weights[seen].sum(axis=2)
    if hidden:  # in every second position the opposite is right: only hidden units can see this
        scores *= np.where(state[:, :1] == BASIC_FEATURES, 1, -1)
    scores[moves[:, :, 0] < 0] = -np.inf
    odds = np.exp(scores - scores.max(axis=1, keepdims=True))
    odds /= odds.sum(axis=1, keepdims=True)
    chosen = (rng.random((count, 1)) > odds.cumsum(axis=1)).sum(axis=1).astype(np.int8)
    columns = Columns(state, moves.reshape(count, -1), chosen, np.zeros((count, 1), np.int8), np.zeros(count, np.int8))
    return MoveDecisions(columns, np.arange(count) * 10 // count, np.arange(7, 10)), odds


@pytest.mark.parametrize("hidden", [0, pytest.param(16, marks=pytest.mark.slow)])
def test_a_fit_finds_the_probabilities_behind_the_moves(hidden: int) -> None:
    """On other moves, the fitted probabilities are near the known ones."""
    known, odds = drawn(5, 20_000, hidden)
    fit = fit_net("known", known, hidden)
    held = known.validation
    assert (fit.fitted, fit.held) == (14_000, 6000)
    best = np.log(odds[np.arange(len(odds)), known.columns.chosen])[held].mean()
    assert best - (0.1 if hidden else 0.02) < fit.likelihood <= best + 0.01
    if hidden:
        assert fit_net("known", known, 0).likelihood < best - 0.3
    else:
        parts = (weights / UNIT for weights in (fit.net.policy.rows, fit.net.policy.linear, fit.net.policy.out))
        assert np.abs(np.exp(logarithms_of(*parts, known)) - odds)[held].mean() < 0.02


@pytest.mark.parametrize("hidden", [0, 16])
def test_the_gradient_equals_differences_of_the_loss(hidden: int) -> None:
    some = drawn(3, 40)[0]
    rng = np.random.default_rng(3)
    factors = rng.uniform(0.5, 2, 40).astype(np.float32)
    state, moves, chosen, *_ = some.columns
    parameters = first_parameters(hidden, 2)[: network_size(hidden)].copy()
    parameters += rng.normal(0, 0.1, len(parameters)).astype(np.float32)
    rows, linear, _ = split(parameters, hidden, 0)
    rows[0], linear[0] = 0, 0  # no feature
    gradient, sums = np.zeros_like(parameters), np.zeros(len(SUMS))
    cross_entropy_gradient(state, moves, chosen, factors, np.arange(40), parameters, hidden, gradient, sums)

    def loss(changed: np.ndarray) -> float:
        logarithms = logarithms_of(*split(changed, hidden, 0), some)
        return -float((factors * logarithms[np.arange(40), chosen]).sum())

    again = np.zeros(len(SUMS))
    cross_entropy(state, moves, chosen, np.arange(40), parameters, hidden, again)
    assert sums.tolist() == again.tolist()
    places = rng.permutation(np.flatnonzero(gradient))[:60]
    assert len(places) > 35
    for place in places:
        up, down = parameters.astype(np.float64), parameters.astype(np.float64)
        up[place] += 1e-7
        down[place] -= 1e-7
        assert gradient[place] == pytest.approx((loss(up) - loss(down)) / 2e-7, rel=1e-3, abs=1e-3)


def logarithms_of(rows: np.ndarray, linear: np.ndarray, out: np.ndarray, some: MoveDecisions) -> np.ndarray:
    """Return the logarithms of the probabilities of the moves (n x 5) by a network, computed with float64 in numpy."""
    rows_of_move, linear = rows.copy(), linear.copy()
    rows_of_move[0], linear[0] = 0, 0  # in a slot of a move, feature 0 means no feature
    moves = some.columns.moves.reshape(-1, 5, MOVE_SLOTS)
    seen = np.maximum(moves, 0)
    inputs = rows[some.columns.state].sum(axis=1)[:, None] + rows_of_move[seen].sum(axis=2)
    scores = np.maximum(inputs, 0) @ out + linear[seen].sum(axis=2)
    scores[moves[:, :, 0] < 0] = -np.inf
    scores -= scores.max(axis=1, keepdims=True)
    found: np.ndarray = scores - np.log(np.exp(scores).sum(axis=1, keepdims=True))
    return found


@pytest.mark.parametrize("hidden", [0, 16])
def test_maps_for_validation_are_not_used_for_the_fit(games: Path, hidden: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(imitation, "_PASSES", 2)
    known = decisions_of([games], 0.3, ["hunter"])["hunter"]
    wrong = np.where(known.validation, 0, known.columns.chosen).astype(np.int8)
    other = MoveDecisions(known.columns._replace(chosen=wrong), known.maps, known.held)
    one, two = fit_net("hunter", known, hidden).net.policy, fit_net("hunter", other, hidden).net.policy
    assert all(np.array_equal(getattr(one, name), getattr(two, name)) for name in ("rows", "linear", "out"))


def test_near_means_three_moves(games: Path) -> None:
    known = decisions_of([games], 0.3, ["stay"])["stay"]
    expected = []
    for record in read_records(games):
        distances = record.game_map().distances
        for ply in GameHistory.of(record):
            heroes = ply.before[0].hero
            assert ply.mover is not None
            if record.names[ply.mover] == "stay":
                own = int(heroes[ply.mover].pos)
                expected.append(any(distances[int(heroes[other].pos)][own] <= 3 for other in range(4) if other != ply.mover))
    assert known.columns.near.tolist() == expected


def test_many_decisions_are_thinned(monkeypatch: pytest.MonkeyPatch, games: Path) -> None:
    every = decisions_of([games], 0.3, ["hunter"])["hunter"]
    monkeypatch.setattr(decisions, "MOST", 1000)
    some = decisions_of([games], 0.3, ["hunter"])["hunter"]
    step = -(-len(every) // 1000)
    assert 500 <= len(some) <= 1000 < len(every)
    assert all(np.array_equal(one, other[::step]) for one, other in zip(some.columns, every.columns, strict=True))
    assert np.array_equal(some.maps, every.maps[::step])


def test_wrong_words_are_refused(games: Path, tmp_path: Path) -> None:
    (tmp_path / "own.npz").write_bytes(save_nets([Net(Network.linear_only(np.zeros(3, np.int16)))]))
    (tmp_path / "own.toml").write_text('extends = "strong"\n[traits.rollout]\nlearned = ["own.npz"]\n')
    (tmp_path / "mine.npz").write_bytes(b"mine")
    for words, message in (
        (["strong", games, "--out", "mine.toml"], "mine.npz is there already and was not made by vindibot learn imitate"),
        (["strong", games, "--only", "hunt"], "no game of this bot; the bots are careful, hunter, random, stay"),
        (["seed", games], "--trait rollout: seed has no trait 'rollout' with the parameter learned"),
        (["strong", tmp_path / "none.jsonl"], "none.jsonl"),
        (["strong"], "name the files of game records after BOT"),
        (["strong", games, "--hidden", "16"], "--hidden 16: opponent models have no hidden units; --net FILE writes nets"),
        ([games, "--net", "a.npz", "--hidden", "17"], "--hidden 17: 0, or a multiple of 16 up to 128 is possible"),
        (["strong", games, "--net", "a.npz"], "there is no file of game records strong; with --net, leave out BOT"),
        ([games, "--net", "a.npz", "--out", "b.toml"], "--net writes no opponent models: leave out --out and --trait"),
        ([games, "--net", "a.toml"], "--net: the name of the file must end in .npz"),
        (["strong", games, "--out", "a.npz"], "--out: the name of the file must end in .toml"),
        ([games, "--net", "own.npz"], "own.toml is there already and was not made by vindibot learn imitate"),
        (["own.toml", games, "--out", "own.toml"], "--out: own uses own.toml or own.npz itself; name another file"),
    ):
        code, said = invoke(tmp_path, "learn", "imitate", *words)
        assert code == 2, said
        assert message in " ".join(said.split())
    assert {path.name for path in tmp_path.iterdir()} == {"own.npz", "own.toml", "mine.npz"}
    few = tmp_path / "few.games.jsonl"
    lines = games.read_bytes().splitlines(keepends=True)
    for kept, message in ((lines[:1], "at least two maps"), ([lines[0], lines[-1]], "at least 1000 are needed")):
        few.write_bytes(b"".join(kept))
        code, said = invoke(tmp_path, "learn", "imitate", "strong", few, "--out", "few.toml")
        assert code == 2
        assert message in said.replace("\n", " ")


def test_an_interrupted_fit_keeps_what_is_ready(games: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fit = fit_net

    def one_then_interrupt(bot: str, *more: object) -> object:
        if bot != "careful":
            raise KeyboardInterrupt
        return fit(bot, *more)

    monkeypatch.setattr("vindibot.learning.imitation.fit_net", one_then_interrupt)
    code, said = invoke(tmp_path, "learn", "imitate", "strong", games)
    assert code == 130, said
    assert "careful" in (tmp_path / "strong-learned.toml").read_text()
    assert [net.name for net in load_nets(tmp_path / "strong-learned.npz")] == ["careful"]
