"""Six bad moves on boards that a person can read: a review finds each of them and names what was wrong."""

from __future__ import annotations

import numpy as np
import pytest

from sim.board import parse
from sim.game import GAME
from tests.support.planted import PLANTED, WAITED, Planted
from vindibot.config.bots import load_bot
from vindibot.games.files.review import Thresholds
from vindibot.review.turns import Reviewer, TurnPosition, review_turn

#: Number of plies that are played out per turn.
NODES = 300_000


@pytest.fixture(scope="module")
def reviewer() -> Reviewer:
    return Reviewer(load_bot("versions/strong-1"), NODES, 40, Thresholds())


def position_of(planted: Planted, move: int) -> TurnPosition:
    games = parse(planted.board)
    recent = np.concatenate([games] * WAITED) if planted.waited else np.zeros(0, GAME)
    recent["turn"] -= 4 * np.arange(len(recent), 0, -1, dtype=recent["turn"].dtype)
    turn = int(games["turn"].item(0))
    return TurnPosition(0, turn, 0, move, games, recent)


@pytest.mark.parametrize("planted", PLANTED, ids=lambda planted: planted.kind)
def test_a_planted_bad_move_is_found_and_named(planted: Planted, reviewer: Reviewer) -> None:
    found = review_turn(position_of(planted, planted.move), reviewer)
    assert found.mark
    assert found.kind == planted.kind
    best = ("Stay", "North", "South", "East", "West").index(found.best)
    good = review_turn(position_of(planted, best), reviewer)
    assert (good.mark, good.kind, good.loss) == ("", "", 0)
