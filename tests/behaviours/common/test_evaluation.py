"""Evaluation and cheap policy: scores and moves on many positions, and duels."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

from behaviours.common.duel import duel_table
from behaviours.common.evaluation import Weights, compiled_weights, score
from behaviours.common.map_tables import map_tables_of
from behaviours.common.policy import policy
from sim.game import Games, mover
from sim.maps import map_of
from tests.support.positions import digest, played_positions, present, small_positions


def random_weights(rng: np.random.Generator) -> Weights:
    """Weights from all over their ranges, the defaults among them."""
    given: dict[str, Any] = {}
    for name, field in Weights.model_json_schema()["properties"].items():
        if "minimum" in field and rng.random() < 0.6:
            least = field["minimum"]
            most = min(field["maximum"], 100)
            given[name] = float(rng.choice([least, most, rng.uniform(least, most)], p=[0.2, 0.1, 0.7]))
    return Weights(**given)


def scores(positions: Iterator[Games]) -> list[int]:
    """Return the scores of all heroes, with the default weights and with random ones."""
    rng, found = np.random.default_rng(5), []
    for games in positions:
        tables = map_tables_of(map_of(games))
        for weights in (compiled_weights(Weights()), compiled_weights(random_weights(rng))):
            found += [int(score(games, 0, hero, tables, weights)) for hero in present(games)]
    return found


def moves(positions: Iterator[Games]) -> list[int]:
    """Return the moves of the cheap policy."""
    return [policy(games, 0, mover(games), map_tables_of(map_of(games))) for games in positions]


#: What the kernels computed when they equalled a second implementation in plain Python. A failing test shows the new digest.
RECORDED = {
    "scores, small boards": (scores, small_positions(1, 60), "d6f6ed82cb4cd8c3"),
    "scores, played games": (scores, played_positions(1, 8), "1d31b081af6207d9"),
    "moves, small boards": (moves, small_positions(2, 300), "61bd358f6ae9a853"),
    "moves, played games": (moves, played_positions(2, 40), "8f23554226916173"),
}


@pytest.mark.parametrize(("compute", "positions", "recorded"), RECORDED.values(), ids=RECORDED)
def test_scores_and_moves_are_those_that_were_recorded(
    compute: Callable[[Iterator[Games]], list[int]], positions: Iterator[Games], recorded: str
) -> None:
    found = compute(positions)
    assert digest(found) == recorded
    assert len(set(found)) >= 5


def wins(striker: int, other: int) -> bool:
    """Return whether the hero that strikes first wins a duel: 20 life per blow, and 1 for thirst after an own ply."""
    lives, turn = [striker, other], 0
    while True:
        lives[1 - turn] -= 20
        if lives[1 - turn] <= 0:
            return turn == 0
        lives[turn] = max(1, lives[turn] - 1)
        turn = 1 - turn


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
