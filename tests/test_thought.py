"""Thoughts, votes with what led to them: what is one, and that it comes through whole."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from behaviours.base import LONGEST_LINE, Thought, VoteError, plain_thought, plain_votes
from sim.game import EAST, NORTH, SOUTH, WEST, square

GOAL = square(3, 5)
WHOLE = Thought({NORTH: 1}, depth=9, score=-12.5, nodes=81234, line=(NORTH, EAST, 0, SOUTH, WEST), goal=GOAL)
PLAIN_VOTES = (0.0, 1.0, 0.0, 0.0, 0.0)


def test_a_thought_is_brought_into_one_form() -> None:
    plain = plain_thought(WHOLE)
    assert plain == Thought(PLAIN_VOTES, 9, -12.5, 81234, (1, 3, 0, 2, 4), GOAL)
    assert plain_thought(plain) == plain
    arrays = Thought(np.eye(5)[1], np.int32(9), np.float32(-12.5), np.int64(81234), np.array([1, 3, 0, 2, 4]), np.int16(GOAL))
    assert plain_thought(arrays) == plain
    assert plain_votes(WHOLE) == plain_votes(arrays) == PLAIN_VOTES
    assert plain_thought(Thought(None)) == Thought(None)
    assert plain_votes(Thought(None, depth=3)) is None
    assert plain_thought(1) is None


def test_a_long_line_is_cut_off() -> None:
    plain = plain_thought(Thought(0, line=[1, 2] * 40))
    assert plain is not None
    assert plain.line == (1, 2) * (LONGEST_LINE // 2)


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"votes": float("nan")}, "not a float"),
        ({"votes": [0.0, float("nan"), 0, 0, 0]}, "a vote of nan is not finite"),
        ({"votes": Thought(1)}, "a thought themselves"),
        ({"depth": -1}, "depth of a thought must be a whole number from 0, not -1"),
        ({"depth": 2.5}, "depth"),
        ({"depth": True}, "depth"),
        ({"nodes": 2**63}, "nodes"),
        ({"score": float("inf")}, "a score of inf is not finite"),
        ({"score": "good"}, "no number"),
        ({"line": (1, 7)}, "7 is no direction"),
        ({"line": "NE"}, "a sequence of directions"),
        ({"line": None}, "a sequence of directions"),
        ({"goal": 0}, "a square of the board"),
        ({"goal": (3, 4)}, "goal"),
    ],
)
def test_what_is_no_thought_is_said(fields: dict[str, Any], message: str) -> None:
    with pytest.raises(VoteError, match=message):
        plain_thought(Thought(**{"votes": 1, **fields}))
