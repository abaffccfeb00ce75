"""The decisions of self-play and the gradient of PPO, against slow computations in float64."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from behaviours.common.evaluation import Weights, compiled_weights
from behaviours.common.map_tables import MAP_TABLES, map_tables_of
from behaviours.net.features import FEATURES, FOUND, MOVE_SLOTS
from behaviours.net.network import compiled_networks
from behaviours.rollout.policy import LIBRARY, compiled_policies
from sim.game import GAME, SEATS
from sim.generator import generate
from vindibot.learning.collecting import (
    LEARNER,
    PIECE,
    STATISTICS,
    Guests,
    Piece,
    TrainingGames,
    begin_all,
    collect,
    new_piece,
)
from vindibot.learning.gradient import ERRORS, Loss, ppo_gradient
from vindibot.learning.network import first_parameters, rounded, split

HIDDEN = 16
GAMES = 12
DISCOUNT, TRACE = 0.97, 0.9
LOSS = Loss(0.2, 0.05, 0.5)


def table(rounds: int = 40) -> TrainingGames:
    maps = [generate(seed) for seed in range(3)]
    return TrainingGames(
        np.zeros(GAMES, GAME),
        np.zeros(GAMES, np.int64),
        np.zeros((GAMES, SEATS), np.int64),
        np.arange(1, GAMES + 1).astype(np.uint64) * np.uint64(7919),
        np.zeros((GAMES, SEATS)),
        np.concatenate([one.new_game(max_turns=4 * rounds) for one in maps]),
        np.concatenate([map_tables_of(one) for one in maps]).astype(MAP_TABLES),
        np.ones(3, np.int8),
    )


def guests(parts: tuple[int, int, int], parameters: NDArray[np.float32]) -> Guests:
    policies = compiled_policies(LIBRARY[:2]).copy()
    networks = compiled_networks([rounded(parameters, HIDDEN)[0]])
    return Guests(policies, networks, compiled_weights(Weights()).copy(), np.arange(3), np.array(parts))


def parameters_with_opinions() -> NDArray[np.float32]:
    """Parameters whose moves are not all equally likely."""
    parameters = first_parameters(HIDDEN, 3)
    rng = np.random.default_rng(1)
    for number in range(2):
        _, linear, out = split(parameters, HIDDEN, number)
        linear[1:], out[:] = rng.normal(0, 0.3, FEATURES - 1), rng.normal(0, 0.3, HIDDEN)
    return parameters


def collected(
    parts: tuple[int, int, int] = (200, 200, 200), pieces: int = 1
) -> tuple[NDArray[np.float32], list[Piece], TrainingGames, NDArray[np.float64], Guests]:
    parameters, games = parameters_with_opinions(), table()
    rivals, sums, found = guests(parts, parameters), np.zeros(len(STATISTICS)), []
    begin_all(games, rivals)
    for _ in range(pieces):
        piece = new_piece()
        collect(games, rivals, parameters, HIDDEN, np.zeros(1, FOUND), piece, DISCOUNT, TRACE, sums)
        found.append(piece)
    return parameters, found, games, sums, rivals


def forward(weights: NDArray[np.float64], number: int, piece: Piece, decision: int, move: int) -> float:
    """The result of a network in float64, for a decision of a piece and a move."""
    rows, linear, out = split(weights, HIDDEN, number)
    own = piece.moves[decision].reshape(5, MOVE_SLOTS)[move].astype(int)
    features = [*piece.state[decision].astype(int).tolist(), *own[own > 0].tolist()]
    return float(linear[features].sum() + np.maximum(rows[features].sum(axis=0), 0) @ out)


def scores(weights: NDArray[np.float64], piece: Piece, decision: int) -> NDArray[np.float64]:
    legal = piece.moves[decision].reshape(5, MOVE_SLOTS)[:, 0] >= 0
    return np.array([forward(weights, 0, piece, decision, move) if legal[move] else -np.inf for move in range(5)])


def odds_of(weights: NDArray[np.float64], piece: Piece, decision: int) -> NDArray[np.float64]:
    found = scores(weights, piece, decision)
    odds: NDArray[np.float64] = np.exp(found - found.max())
    return odds / odds.sum()


def loss_of(weights: NDArray[np.float64], piece: Piece, decisions: list[int]) -> float:
    total = 0.0
    for decision in decisions:
        odds = odds_of(weights, piece, decision)
        ratio = np.exp(np.log(odds[piece.chosen[decision]]) - piece.logarithm[decision])
        advantage = float(piece.advantage[decision])
        total -= min(ratio * advantage, np.clip(ratio, 1 - LOSS.clip, 1 + LOSS.clip) * advantage)
        positive = odds[odds > 0]
        total += LOSS.entropy * (positive * np.log(positive)).sum()
        total += LOSS.value / 2 * (forward(weights, 1, piece, decision, 0) - float(piece.target[decision])) ** 2
    return float(total)


def test_the_gradient_is_that_of_the_loss() -> None:
    """Against differences of the loss, for weights of all kinds, after the net has changed since it made the decisions."""
    parameters, (piece,), *_ = collected()
    rng = np.random.default_rng(5)
    decisions = rng.choice(np.flatnonzero(piece.chosen >= 0), 25, replace=False)
    parameters += rng.normal(0, 0.02, len(parameters)).astype(np.float32)
    for number in range(2):
        rows, linear, _ = split(parameters, HIDDEN, number)
        rows[0], linear[0] = 0, 0  # no feature
    gradient, errors = np.zeros_like(parameters), np.zeros(len(ERRORS))
    ppo_gradient(piece, decisions, parameters, HIDDEN, gradient, LOSS, errors)
    weights, step = parameters.astype(np.float64), 1e-5
    big = np.argsort(-np.abs(gradient))
    chosen = [*big[:25].tolist(), *rng.choice(np.flatnonzero(gradient), 25, replace=False).tolist()]
    for place in chosen:
        up, down = weights.copy(), weights.copy()
        up[place] += step
        down[place] -= step
        slope = (loss_of(up, piece, decisions.tolist()) - loss_of(down, piece, decisions.tolist())) / (2 * step)
        assert gradient[place] == pytest.approx(slope, rel=0.02, abs=2e-3), place
    missed = [forward(weights, 1, piece, decision, 0) - float(piece.target[decision]) for decision in decisions.tolist()]
    assert errors[ERRORS.index("value")] == pytest.approx(np.square(missed).sum(), rel=1e-3)
    assert 0 < errors[ERRORS.index("clipped")] < len(decisions)  # both cases of the objective occur


def test_decisions_have_the_probability_of_their_move() -> None:
    parameters, (piece,), _, sums, _ = collected()
    weights, decisions = parameters.astype(np.float64), np.flatnonzero(piece.chosen >= 0)
    entropy = 0.0
    for decision in decisions.tolist():
        odds = odds_of(weights, piece, decision)
        assert piece.logarithm[decision] == pytest.approx(np.log(odds[piece.chosen[decision]]), abs=1e-4)
        assert piece.value[decision] == pytest.approx(forward(weights, 1, piece, decision, 0), abs=1e-4)
        entropy -= float((odds[odds > 0] * np.log(odds[odds > 0])).sum())
    named = dict(zip(STATISTICS, sums.tolist(), strict=True))
    assert named["decisions"] == len(decisions)
    assert named["entropy"] == pytest.approx(entropy, rel=1e-4)


def test_moves_are_drawn_with_their_probabilities() -> None:
    """The number of decisions in which a kind of direction was chosen, against the sum of its probabilities."""
    parameters, (piece,), *_ = collected((0, 0, 0))
    weights, decisions = parameters.astype(np.float64), np.flatnonzero(piece.chosen >= 0)
    odds = np.array([odds_of(weights, piece, decision) for decision in decisions.tolist()])
    for move in range(5):
        deviation = np.sqrt((odds[:, move] * (1 - odds[:, move])).sum())
        assert abs((piece.chosen[decisions] == move).sum() - odds[:, move].sum()) < 4 * deviation


def test_rewards_of_a_game_add_up_to_its_lead() -> None:
    """Rewards of a seat in a whole game, over several pieces, are its final lead divided by the number of mines."""
    _, pieces, *_ = collected((0, 0, 0), pieces=4)
    rewards = np.concatenate([piece.reward[: GAMES * PIECE * 4].reshape(GAMES, PIECE, 4) for piece in pieces], axis=1)
    ends = np.concatenate([piece.ends[: GAMES * PIECE * 4].reshape(GAMES, PIECE, 4) for piece in pieces], axis=1)
    whole = 0
    for game in range(GAMES):
        last = np.flatnonzero(ends[game, :, 0])
        for first, end in itertools.pairwise(last.tolist()):
            assert end - first == 40  # rounds of a game
            sums = rewards[game, first + 1 : end + 1].sum(axis=0)
            assert sums.sum() == pytest.approx(0, abs=1e-3)  # the leads of four heroes
            whole += int(np.abs(sums).max() > 0)
    assert whole > GAMES // 2


def test_advantages_are_those_of_gae() -> None:
    _, pieces, *_ = collected((250, 250, 250), pieces=2)
    piece = pieces[1]
    shape = (GAMES, PIECE, 4)
    chosen, ends, rewards, values, advantages = (
        getattr(piece, name)[: GAMES * PIECE * 4].reshape(shape).astype(np.float64)
        for name in ("chosen", "ends", "reward", "value", "advantage")
    )
    checked = 0
    for game in range(GAMES):
        for seat in range(4):
            for turn in range(PIECE - 8):
                if chosen[game, turn, seat] < 0:
                    continue
                total, factor, place = 0.0, 1.0, turn
                while place < PIECE - 1:
                    over = bool(ends[game, place, seat])
                    after = 0.0 if over else values[game, place + 1, seat]
                    total += factor * (rewards[game, place, seat] + DISCOUNT * after - values[game, place, seat])
                    if over:
                        break
                    factor *= DISCOUNT * TRACE
                    place += 1
                if place < PIECE - 1:  # the game ended in the piece, so no value after the piece counts
                    assert advantages[game, turn, seat] == pytest.approx(total, abs=1e-3)
                    checked += 1
    assert checked > 50


@pytest.mark.parametrize("count", [1, 2, 3])
def test_guests_have_their_seats(count: int) -> None:
    """In 600 of 1000 games, `count` seats are guests."""
    parts = 600 * (count == 1), 600 * (count == 2), 600 * (count == 3)
    *_, games, sums, rivals = collected(parts, pieces=6)
    named = dict(zip(STATISTICS, sums.tolist(), strict=True))
    assert 0 < named["guest_games"] < named["games"]
    assert named["seats"] == (4 - count) * named["guest_games"]
    assert set(np.unique(games.seats)) <= {LEARNER, *range(len(rivals.drawn))}
    assert set(np.unique((games.seats != LEARNER).sum(axis=1))) == {0, count}


def test_closed_maps_get_no_new_games() -> None:
    parameters, games = parameters_with_opinions(), table(10)
    rivals = guests((0, 0, 0), parameters)
    begin_all(games, rivals)
    games.open[1] = 0
    memory: tuple[Any, ...] = np.zeros(1, FOUND), new_piece()
    collect(games, rivals, parameters, HIDDEN, *memory, DISCOUNT, TRACE, np.zeros(len(STATISTICS)))
    assert 1 not in games.where
