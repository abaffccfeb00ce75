"""Means of blocks: Student's distribution compared with SciPy, and the jackknife with the interval of a mean."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.special import stdtrit

from tests.support.compare import jackknife
from vindibot.statistics.means import mean_interval, student_quantile


@pytest.mark.parametrize("freedom", [1, 2, 3, 5, 10, 39, 400, 100_000])
@pytest.mark.parametrize("level", [0.5, 0.95, 0.999])
def test_the_quantile_is_that_of_students_distribution(freedom: int, level: float) -> None:
    assert student_quantile(freedom, level) == pytest.approx(stdtrit(freedom, (1 + level) / 2), rel=1e-4)


def test_the_jackknife_of_a_mean_has_the_interval_of_a_mean() -> None:
    values = np.random.default_rng(3).normal(2, 1, 30)
    assert jackknife(lambda kept: float(values[kept].mean()), 30) == pytest.approx(mean_interval(values))


def test_one_block_has_no_interval() -> None:
    mean, low, high = mean_interval(np.array([3.0]))
    assert (mean, np.isnan(low), np.isnan(high)) == (3.0, True, True)
    assert np.isnan(jackknife(lambda kept: 3.0, 1)[1])


@pytest.mark.slow
def test_the_intervals_hold_the_mean() -> None:
    rng = np.random.default_rng(9)
    held = [low <= 0 <= high for _, low, high in (mean_interval(rng.normal(size=8)) for _ in range(2000))]
    assert 0.93 < np.mean(held) < 0.97
