"""Means and rates over blocks, with their intervals.

The interval of a mean is that of Student's distribution. The interval of a rate, such as the number of deaths per hero and game,
comes from counts in blocks, by a bootstrap over the n blocks. A bootstrap alone has an interval of width 0 if all blocks are
equal, and it underestimates the spread of a few blocks. So its deviations are widened by sqrt(n / (n - 1)), and the variance of a
block has a prior: it counts like one more block, whose variance is that of independent events. So 1 / n of the variance for
independent events is added, and the tails are those of Student's distribution with n degrees of freedom (`student`).

The rate itself has the prior of the ratings (`vindibot.statistics.ratings`): each resample also draws the weight of `PRIOR`
events from an exponential distribution.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
#: Number of points of the integral of Student's density.
_POINTS = 20_001
#: Number of events that the prior adds (Jeffreys' prior of a rate).
PRIOR = 0.5
#: Number of resamples of the bootstrap, and largest number of values that are drawn at once.
RESAMPLES, _CHUNK = 4000, 1 << 20


def student_quantile(freedom: int, level: float = 0.95) -> float:
    """Return the number of standard errors on each side of a mean that hold the truth with probability `level` (0..1).

    With x = sqrt(n) tan(a), Student's density with n degrees of freedom is proportional to cos(a)^(n - 1). Its integral over `a`
    is computed by the trapezoidal rule, and `freedom` is n.
    """
    end = min(math.pi / 2, 40 / math.sqrt(freedom))
    angles = np.linspace(0, end, _POINTS)
    heights = np.cos(angles).clip(0) ** (freedom - 1)
    below = np.concatenate([[0.0], np.cumsum(heights[1:] + heights[:-1])])
    return math.sqrt(freedom) * math.tan(float(np.interp(level * below[-1], below, angles)))


def mean_interval(values: Floats) -> tuple[float, float, float]:
    """Return the mean of the values of blocks and its 95 % interval. With one value, the interval is not a number."""
    mean = float(values.mean())
    if len(values) < 2:
        return mean, math.nan, math.nan
    half = student_quantile(len(values) - 1) * float(values.std(ddof=1)) / math.sqrt(len(values))
    return mean, mean - half, mean + half


def student(resampled: Floats, noise: Floats, blocks: int, rng: np.random.Generator) -> Floats:
    """Return deviations from an estimate that include the prior of the variance.

    `resampled` has the deviations of a bootstrap over `blocks` blocks, one row per resample. `noise` has normal deviations of the
    same shape, whose variance is that of the estimate if all events are independent.
    """
    both = resampled * math.sqrt(blocks / (blocks - 1)) + noise / math.sqrt(blocks)
    factors = np.sqrt(blocks / rng.chisquare(blocks, len(both)))
    return both * factors.reshape(-1, *[1] * (both.ndim - 1))


def rate_interval(counts: Sequence[float], sizes: Sequence[float], seed: int = 0) -> tuple[float, float]:
    """Return the 95 % interval of the number of events per unit. Block i has `counts[i]` events in `sizes[i]` units.

    There must be at least two blocks. `seed` is the seed of the bootstrap.
    """
    rng = np.random.default_rng(seed)
    events, units, blocks = np.asarray(counts, np.float64), np.asarray(sizes, np.float64), len(counts)
    drawn = np.empty(RESAMPLES)
    rows = max(1, _CHUNK // blocks)
    for first in range(0, RESAMPLES, rows):
        chosen = rng.integers(blocks, size=(min(rows, RESAMPLES - first), blocks))
        drawn[first : first + rows] = events[chosen].sum(axis=1) / units[chosen].sum(axis=1)
    prior = PRIOR * rng.exponential(size=RESAMPLES)
    mean = events.sum() / units.sum()
    noise = rng.normal(0, math.sqrt(events.sum() + PRIOR) / units.sum(), RESAMPLES)
    drawn = mean + student(drawn - mean, noise, blocks, rng) + prior / units.sum()
    low, high = np.percentile(drawn, (2.5, 97.5)).tolist()
    return max(0.0, low), high
