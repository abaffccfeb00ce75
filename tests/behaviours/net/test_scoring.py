"""Scores of nets, on positions of recorded games, against a second computation in numpy."""

from __future__ import annotations

import gzip

import numpy as np
import pytest

from behaviours.common.evaluation import Weights, compiled_weights
from behaviours.common.map_tables import map_tables_of
from behaviours.net.features import FEATURES, FOUND, MOVE_SLOTS, RANGES
from behaviours.net.move_features import FEATURES as BASIC_FEATURES
from behaviours.net.network import UNIT, Net, NetError, Network, compiled_networks
from behaviours.net.scoring import net_move
from behaviours.rollout.policy import NO_GOAL, compiled_policies, follow
from sim.game import Games, mover
from sim.maps import Map, map_of
from tests.support.nets import LARGEST, features_in, random_network
from tests.support.paths import TOP
from tests.support.positions import small_positions
from vindibot.games.files.game_files import read_records
from vindibot.games.game_record import loads
from vindibot.games.history import GameHistory

#: A position, its map, and the hero that decides.
Decision = tuple[Games, Map, int]
DATA = TOP / "tests" / "data"
NO_SCORE = -(1 << 63)
WEIGHTS = compiled_weights(Weights())


@pytest.fixture(scope="module")
def decisions() -> list[Decision]:
    """Return 12,000 decisions of recorded games, and some decisions in random positions."""
    found: list[Decision] = []
    lines = gzip.decompress((DATA / "standoffs.jsonl.gz").read_bytes()).decode().splitlines()
    records = [loads(line) for line in lines]
    for name in ("good.games.jsonl", "guarded-spawn.games.jsonl"):
        records += read_records(DATA / name)
    for record in records:
        where = record.game_map()
        history = GameHistory.before_first_ply(record)  # some of these records stop before the end of the game
        history.play_all(record.moves)
        found += [(ply.before, where, ply.mover) for ply in history if ply.mover is not None]
    chosen = np.linspace(0, len(found) - 1, 12_000).astype(int)
    assert len(set(chosen)) > 10_000
    return [found[number] for number in chosen] + [(games, map_of(games), mover(games)) for games in small_positions(3, 20)]


def features_of(decisions: list[Decision]) -> tuple[np.ndarray, np.ndarray]:
    """Return the features of the positions (n x slots) and of the moves (n x 5 x slots), as int64."""
    found, states, moves = np.zeros(1, FOUND), [], []
    for games, where, hero in decisions:
        features_in(games, 0, hero, map_tables_of(where), found)
        states.append(found["state"][0].astype(np.int64))
        moves.append(found["moves"][0].astype(np.int64).reshape(5, MOVE_SLOTS))
    return np.array(states), np.array(moves)


def expected(network: Network, states: np.ndarray, moves: np.ndarray) -> np.ndarray:
    """Return the scores of the moves (n x 5) by a network, computed with int64 in numpy."""
    rows, linear, out = (weights.astype(np.int64) for weights in (network.rows, network.linear, network.out))
    rows_of_move, linear_of_move = rows.copy(), linear.copy()
    rows_of_move[0], linear_of_move[0] = 0, 0  # in a slot of a move, feature 0 means no feature
    scores = np.full(moves.shape[:2], NO_SCORE)
    inputs = rows[states].sum(axis=1)
    for move in range(5):
        features = np.maximum(moves[:, move], 0)
        units = np.maximum(inputs + rows_of_move[features].sum(axis=1), 0)
        result = units @ out + UNIT * linear_of_move[features].sum(axis=1)
        legal = moves[:, move, 0] >= 0
        scores[legal, move] = result[legal]
    return scores


def even_network(weight: int) -> Network:
    """Return a network of which all rows have the same weight, and all output weights have its size."""
    rows, out = np.full((FEATURES, 128), weight, np.int16), np.full(128, abs(weight), np.int16)
    rows[0] = 0
    return Network(rows, np.zeros(FEATURES, np.int16), out)


def test_a_net_whose_sums_could_be_too_large_is_refused() -> None:
    assert Net(even_network(LARGEST))
    with pytest.raises(NetError, match="weights that are too large"):
        Net(even_network(LARGEST + 1), name="mine")


def test_a_move_has_no_more_features_of_a_range_than_the_limits_of_nets_count(decisions: list[Decision]) -> None:
    first, most = np.array(RANGES).T
    states, moves = features_of(decisions[::4])
    features = np.concatenate([np.repeat(states[:, None], 5, axis=1), moves], axis=2)[moves[:, :, 0] >= 0]
    ranges = first.searchsorted(features, side="right") - 1
    counts = np.array([(ranges == number).sum(axis=1).max() for number in range(len(first))])
    assert (counts <= most).all()
    assert counts.sum() > 50, "most ranges occur"


def test_rounded_weights_fit_and_change_the_scores_little(decisions: list[Decision]) -> None:
    rng = np.random.default_rng(1)
    rows, linear, out = rng.normal(0, 0.5, (FEATURES, 32)), rng.normal(0, 1, FEATURES), rng.normal(0, 1, 32)
    rows[0] = linear[0] = 0
    network = Network.rounded(rows, linear, out)
    assert network.fits
    plain = Network(*(np.rint(weights * UNIT).astype(np.int16) for weights in (rows, linear, out)))
    assert not plain.fits
    features = features_of(decisions[:200])
    scores, wanted = expected(network, *features), expected(plain, *features)
    assert (scores[wanted != NO_SCORE] - wanted[wanted != NO_SCORE]).std() < 0.01 * wanted[wanted != NO_SCORE].std()


@pytest.mark.slow
def test_scores_equal_those_of_numpy(decisions: list[Decision]) -> None:
    """All numbers are equal, with weights of any size; also with the largest weights, which make the largest sums."""
    networks = [random_network(np.random.default_rng(hidden), hidden) for hidden in (0, 16, 64, 128)]
    networks += [even_network(LARGEST), even_network(-LARGEST)]
    compiled, found = compiled_networks(networks), np.zeros(1, FOUND)
    for begin in range(0, len(decisions), 2000):
        part = decisions[begin : begin + 2000]
        features = features_of(part)
        for number, network in enumerate(networks):
            scores = expected(network, *features)
            got = np.zeros((len(part), 5), np.int64)
            for row, (games, where, hero) in enumerate(part):
                tables = map_tables_of(where)
                move = net_move(compiled, number, games, 0, hero, tables, found, got[row])
                assert move == scores[row].argmax()
            assert (got == scores).all()


def test_a_net_without_hidden_units_plays_like_the_policy_of_rollout(decisions: list[Decision]) -> None:
    weights = np.random.default_rng(5).integers(-2000, 2000, BASIC_FEATURES).astype(np.int16)
    weights[0] = 0
    net = Net(Network.linear_only(weights))
    compiled, policies = compiled_networks([net.policy]), compiled_policies((), (net,))
    found, scores = np.zeros(1, FOUND), np.zeros(5, np.int64)
    for games, where, hero in decisions[::5]:
        if games[0].hero[hero].crashed:
            continue
        tables = map_tables_of(where)
        assert net_move(compiled, 0, games, 0, hero, tables, found, scores) == follow(
            games, 0, hero, tables, WEIGHTS, policies, 0, NO_GOAL
        )
