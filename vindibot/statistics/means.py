"""Means over blocks with the intervals of Student's distribution."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
#: Number of points of the integral of Student's density.
_POINTS = 20_001


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
