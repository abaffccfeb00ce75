"""Plans of matches, compared with the sequential test itself on made-up blocks."""

from __future__ import annotations

import numpy as np
import pytest

from vindibot.statistics.differences import normalised_difference
from vindibot.statistics.hypotheses import Hypotheses
from vindibot.statistics.means import mean_interval
from vindibot.statistics.ratings import elo, expected
from vindibot.statistics.sprt import SequentialTest, blocks_for_interval, expected_blocks


@pytest.mark.parametrize("difference", [0.0, 10.0, 20.0])
def test_the_expected_length_is_that_of_the_test(difference: float) -> None:
    hypotheses, spread = Hypotheses(0.0, 20.0), 0.1
    planned, chance = expected_blocks(spread, difference, hypotheses)
    rng = np.random.default_rng(1)
    lengths, wins = [], 0
    for _ in range(300):
        test, count, verdict = SequentialTest(hypotheses), 0, "running"
        while verdict == "running":
            count += 1
            verdict = test.add(float(rng.normal(expected(difference), spread))).verdict
        lengths.append(count)
        wins += verdict == "H1"
    assert planned == pytest.approx(np.mean(lengths), rel=0.15)
    assert chance == pytest.approx(wins / 300, abs=0.07)


def test_an_interval_has_the_planned_width() -> None:
    assert expected_blocks(0.01, 500.0) == (20.0, 1.0), "a test does not end before the fewest blocks"
    spread, half = 0.12, 20.0
    blocks = blocks_for_interval(spread, half)
    rng = np.random.default_rng(2)
    widths = []
    for _ in range(200):
        scores = rng.normal(0.5, spread, blocks)
        _, low, high = mean_interval(scores)
        widths.append((elo(high) - elo(low)) / 2)
    assert np.mean(widths) == pytest.approx(half, rel=0.03)
    assert blocks_for_interval(spread, half / 2) == pytest.approx(4 * blocks, rel=0.05)


def test_the_normalised_difference_does_not_depend_on_the_scale() -> None:
    rng = np.random.default_rng(3)
    scores = rng.normal(0.55, 0.1, 40)
    found = normalised_difference(scores.tolist())
    wide = normalised_difference((0.5 + 2 * (scores - 0.5)).tolist())
    assert found is not None
    assert wide is not None
    assert wide.value == pytest.approx(found.value)
    assert found.value == pytest.approx((scores.mean() - 0.5) / scores.std(ddof=1))
    assert normalised_difference([0.5] * 40) is None, "no block differs"
    assert normalised_difference([0.4, 0.6]) is None, "too few blocks"


def test_its_interval_holds_the_truth_as_often_as_it_says() -> None:
    rng = np.random.default_rng(4)
    held = 0
    for _ in range(1000):
        found = normalised_difference(rng.normal(0.58, 0.1, 20).tolist())
        assert found is not None
        held += found.low <= 0.8 <= found.high
    assert 0.93 < held / 1000 < 0.98
