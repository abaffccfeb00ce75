"""Evaluation and policy: kernels and second opinion agree."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from behaviours.common.duel import duel_table
from behaviours.common.evaluation import UNIT, Weights, compiled_weights, score
from behaviours.common.map_tables import map_tables_of
from behaviours.common.policy import policy
from sim.board import draw
from sim.game import Games, mover
from sim.maps import map_of
from tests.support.positions import dead_ends_of, played_positions, small_positions
from tests.support.reference import reference
from tests.support.reference_evaluation import Evaluation, policy as plain_policy, present, wins


def random_weights(rng: np.random.Generator) -> Weights:
    """Weights from all over their ranges, the defaults among them."""
    given: dict[str, Any] = {}
    for name, field in Weights.model_json_schema()["properties"].items():
        if "minimum" in field and rng.random() < 0.6:
            least = field["minimum"]
            most = min(field["maximum"], 100)
            given[name] = float(rng.choice([least, most, rng.uniform(least, most)], p=[0.2, 0.1, 0.7]))
    return Weights(**given)


def agree(games: Games, weights: Weights) -> None:
    game, twin = reference(games), Evaluation(weights)
    arrays, dead_ends = (map_tables_of(map_of(games)), compiled_weights(weights)), dead_ends_of(games)
    for hero in present(game):
        wanted = UNIT * twin.score(game, hero, dead_ends)
        assert abs(score(games, 0, hero, *arrays) - wanted) <= 0.5 + 1e-6, f"hero {hero + 1}, {weights}\n{draw(games)}"


@pytest.mark.parametrize("positions", [small_positions(1, 60), played_positions(1, 8)], ids=["small", "played"])
def test_kernel_and_second_opinion_agree_on_scores(positions: Iterator[Games]) -> None:
    rng = np.random.default_rng(5)
    for games in positions:
        agree(games, Weights())
        agree(games, random_weights(rng))


@pytest.mark.parametrize("positions", [small_positions(2, 300), played_positions(2, 40)], ids=["small", "played"])
def test_kernel_and_second_opinion_agree_on_moves(positions: Iterator[Games]) -> None:
    moves = set()
    for games in positions:
        hero = mover(games)
        move = policy(games, 0, hero, map_tables_of(map_of(games)))
        assert move == plain_policy(reference(games), hero), f"hero {hero + 1}\n{draw(games)}"
        moves.add(move)
    assert moves == set(range(5))


def test_duels_are_fought_as_the_second_opinion_says() -> None:
    table = duel_table().reshape(101, 101)
    for striker in range(1, 101):
        for other in range(1, 101):
            assert table[striker, other] == wins(striker, other)


def test_the_score_does_not_change_the_game() -> None:
    for games in small_positions(5, 20):
        before = games.tobytes()
        score(games, 0, mover(games), map_tables_of(map_of(games)), compiled_weights(Weights()))
        policy(games, 0, mover(games), map_tables_of(map_of(games)))
        assert games.tobytes() == before
