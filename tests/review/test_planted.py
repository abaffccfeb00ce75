"""Six moves of good games are replaced by bad ones: a review of the changed game finds each of them and names its kind."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import pytest

from sim.game import DIRECTIONS
from tests.support.paths import DATA
from vindibot.config.bots import load_bot
from vindibot.games.files.game_files import read_records
from vindibot.games.files.review import ReviewedTurn, Thresholds
from vindibot.games.history import GameHistory
from vindibot.review.turns import Reviewer, positions, review_turn
from vindibot.review.values import NODES, ROUNDS

#: Games of `strong` (three heroes) and `seed`, 60,000 nodes per move.
GOOD = DATA / "good.games.jsonl"


@dataclass(frozen=True)
class Replaced:
    """A bad move in a good game: the game (0 or 1), the ply, the move that was played, the bad move, and its kind."""

    game: int
    ply: int
    good: str
    bad: str
    kind: str


REPLACED = (
    Replaced(0, 82, "South", "North", "walked into a fight"),  # beside an enemy with more life
    Replaced(0, 391, "South", "Stay", "stood still"),
    Replaced(1, 83, "East", "North", "left a tavern open"),  # with 20 life, and an enemy three steps away
    Replaced(1, 276, "East", "Stay", "drank too late"),  # with 21 life
    Replaced(1, 98, "West", "Stay", "stalled"),  # on 3 x 3 squares for twelve rounds
    Replaced(1, 925, "West", "North", "passed by a mine"),
)


@pytest.fixture(scope="module")
def reviewer() -> Reviewer:
    return Reviewer(load_bot("versions/strong-1"), NODES, ROUNDS, Thresholds())


def reviewed(number: int, ply: int, move: str, reviewer: Reviewer) -> ReviewedTurn:
    """Return the review of the turn in a game in which this move replaces the move that was played."""
    record = [*read_records(GOOD)][number]
    moves: list[Any] = [*record.moves]
    moves[ply] = DIRECTIONS.index(move)
    history = GameHistory.of(replace(record, moves=tuple(moves)))
    position = next(one for one in positions(history, (ply % 4,)) if one.number == ply)
    return review_turn(position, reviewer)


@pytest.mark.parametrize("planted", REPLACED, ids=lambda planted: planted.kind)
def test_a_replaced_move_is_found_and_named(planted: Replaced, reviewer: Reviewer) -> None:
    found = reviewed(planted.game, planted.ply, planted.bad, reviewer)
    assert found.move == planted.bad
    assert found.mark
    assert found.kind == planted.kind
    kept = reviewed(planted.game, planted.ply, planted.good, reviewer)
    assert (kept.move, kept.mark) == (planted.good, "")
