"""Counting votes: weights, candidates, ties."""

from __future__ import annotations

from collections import Counter
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, strategies as st

from sim.game import EAST, NORTH, SOUTH, STAY, WEST
from vindibot.games.ballot import Ballot, BallotEntry, tally


def rng(seed: int = 1) -> np.random.Generator:
    return np.random.default_rng(seed)


def test_the_largest_weighted_sum_wins() -> None:
    tavern = BallotEntry("tavern-finder", 0.9, [0, 1, 0, 0, 0])
    mine = BallotEntry("mine-finder", 0.5, [0, 0, 1, 0, 0])
    harvest = BallotEntry("harvest", 0.5, [0, 0, 0.9, 0, -2])
    ballot = tally([tavern, mine, harvest], (STAY, NORTH, SOUTH, EAST, WEST), rng(), margin_ms=700.5)
    assert ballot.direction == SOUTH
    assert ballot.sums == pytest.approx([0, 0.9, 0.95, 0, -1])
    assert ballot.entries == [tavern, mine, harvest]
    assert (ballot.margin_ms, ballot.fallback) == (700.5, False)


def test_ties_are_drawn_evenly_and_by_the_seed() -> None:
    entries = [BallotEntry("any", 1, [0, 1, 1, 0, 1])]
    drawn = [tally(entries, range(5), rng(seed)).direction for seed in range(600)]
    assert drawn == [tally(entries, range(5), rng(seed)).direction for seed in range(600)]
    counts = Counter(drawn)
    assert set(counts) == {NORTH, SOUTH, WEST}
    assert min(counts.values()) > 130


def test_the_fallback_counts_only_if_no_trait_answered() -> None:
    late = BallotEntry("search", 1, None, 900, "late")
    assert tally([late], range(5), rng(), fallback=WEST) == Ballot(
        [late], [0.0] * 5, (STAY, NORTH, SOUTH, EAST, WEST), WEST, 0.0, True
    )
    assert tally([], range(5), rng(), fallback=WEST).fallback
    # Someone without an opinion has answered: the candidates tie.
    silent = [late, BallotEntry("combat", 1, None)]
    assert {tally(silent, range(5), rng(seed), fallback=WEST).direction for seed in range(60)} == set(range(5))
    # The last votes in time of an anytime trait are votes.
    partial = BallotEntry("search", 1, [0, 0, 1, 0, 0], 900, "late")
    assert tally([partial], range(5), rng(), fallback=WEST).direction == SOUTH


@pytest.mark.parametrize("candidates", [(), (5,), (-1, 0)])
def test_there_must_be_a_candidate(candidates: tuple[int, ...]) -> None:
    with pytest.raises(ValueError, match="candidates"):
        tally([], candidates, rng())


_weight = st.floats(-1e308, 1e308) | st.sampled_from([0.1, 0.2, 0.3, 1.0, -1.0, 0.0])
_votes = st.none() | st.lists(_weight, min_size=5, max_size=5)


@given(
    st.lists(st.tuples(_weight, _votes), max_size=6),
    st.sets(st.integers(0, 4), min_size=1),
    st.integers(0, 9),
    st.randoms(use_true_random=False),
)
def test_against_exact_arithmetic(
    votes: list[tuple[float, list[float] | None]], candidates: set[int], seed: int, shuffle
) -> None:
    entries = [BallotEntry(str(index), weight, vote) for index, (weight, vote) in enumerate(votes)]
    ballot = tally(entries, tuple(candidates), rng(seed))
    for direction in range(5):
        exact = sum((Fraction(entry.weighted[direction]) for entry in entries), Fraction(0))
        assert ballot.sums[direction] == (float(exact) if direction in candidates else 0)
    assert ballot.direction in candidates
    assert ballot.sums[ballot.direction] == max(ballot.sums[direction] for direction in candidates)
    shuffle.shuffle(entries)
    again = tally(entries, tuple(reversed(sorted(candidates))), rng(seed))  # noqa: C413 - an order of its own
    assert (again.sums, again.direction) == (ballot.sums, ballot.direction)
