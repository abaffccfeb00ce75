"""Stalled rounds, compared with a slow count that checks every run of rounds."""

from __future__ import annotations

from collections.abc import Sequence

from hypothesis import example, given, strategies as st

from sim.game import square
from vindibot.arena.referee import SHORTEST, SIDE, stalled_rounds

Place = tuple[int, int]


def brute(places: Sequence[Place]) -> int:
    stalled: set[int] = set()
    for start in range(len(places)):
        for end in range(start + SHORTEST, len(places) + 1):
            rows, columns = zip(*places[start:end], strict=True)
            if max(rows) - min(rows) < SIDE and max(columns) - min(columns) < SIDE:
                stalled.update(range(start, end))
    return len(stalled)


def counted(places: Sequence[Place]) -> int:
    return stalled_rounds([square(row, column) for row, column in places])


@st.composite
def games(draw: st.DrawFn) -> list[Place]:
    """Draw the squares of a hero that stays near one square for a while, then near the next."""
    places: list[Place] = []
    for _ in range(draw(st.integers(0, 4))):
        row, column = draw(st.integers(0, 23)), draw(st.integers(0, 23))
        near = st.tuples(st.integers(row, min(27, row + draw(st.integers(0, SIDE)))), st.integers(column, column + SIDE - 1))
        rounds = draw(st.integers(1, SHORTEST + 10))
        places += draw(st.lists(near, min_size=rounds, max_size=rounds))
    return places


@given(games())
@example([(0, 0)] * 39 + [(0, 4)] * 5 + [(0, 8)] * 39)  # two runs that overlap: a round counts once
def test_stalled_rounds_are_those_in_any_long_run_within_a_small_square(places: list[Place]) -> None:
    assert counted(places) == counted(places[::-1]) == brute(places)


def test_a_square_of_five_is_small() -> None:
    assert [counted([(0, 0), corner] * 20) for corner in ((0, 0), (4, 4), (0, 5))] == [SHORTEST, SHORTEST, 0]
