"""The estimate of a share from counts in blocks: the share itself, and an interval that holds the true share.

In block i, `counts[i]` of `trials[i]` trials succeed. The trials of a block may depend on each other, since they have one map and
one seed. Blocks are independent. The model is the beta-binomial distribution. Each block has a probability of its own, drawn from
a beta distribution whose mean is the true share s. The correlation r (0..1) of two trials of a block is the same in all blocks.
With r = 0 all trials are independent. With r = 1 all trials of a block have the same result. Then the log likelihood of a block
with k of n successes is, up to a constant::

    log B(k + s m, n - k + (1 - s) m) - log B(s m, (1 - s) m)          m = 1 / r - 1

Prior: one independent trial, of which `PRIOR` succeeds and `PRIOR` fails. It is the prior of the ratings
(`vindibot.statistics.luce`), and Jeffreys' prior of a share. The prior of the variance of a block with n trials is uniform in its
logarithm, between the variance of n independent trials and the variance of a single trial. So the interval has a positive width
even if all blocks are equal, and it contains neither 0 nor 1.

The ends of the interval are never 0 or 1, so a true share of exactly 0 or 1 is in no interval. A match between bots of finite
strength has no such share. If all trials succeed, the interval means this: if the truths are drawn from the prior, then among
the samples in which all trials succeed, 95 % of the intervals hold the truth.

The posterior is computed on a grid of s and r, and summed over r. Its mean is the estimate, its quantiles are the interval.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from vindibot.statistics.luce import PRIOR

Floats = NDArray[np.float64]

#: Probability with which an interval holds the true share.
LEVEL = 0.95
#: The grid of the logarithm of s / (1 - s), and the number of correlations.
_LOGITS = np.linspace(-20.0, 20.0, 401)
_CORRELATIONS = 48
#: The prior of s on the grid of logits.
_PRIOR = -PRIOR * (np.logaddexp(0, _LOGITS) + np.logaddexp(0, -_LOGITS))
#: Number of points of the fine grid, and the logarithm of the density, relative to its largest value, at which this grid ends.
_FINE, _DEPTH = 2001, -25.0


@dataclass(frozen=True)
class ShareEstimate:
    """An estimated share (0..1), and the ends of its interval."""

    share: float
    low: float
    high: float


def estimate_share(counts: Sequence[float], trials: Sequence[float]) -> ShareEstimate:
    """Return the estimated share of successes. Block i has `counts[i]` successes in `trials[i]` trials.

    Blocks without a trial are left out. Counts may be
    fractions. The result is deterministic, and does not depend on the order of the blocks.
    """
    blocks = Counter((float(count), float(tried)) for count, tried in zip(counts, trials, strict=True) if tried)
    most = max((tried for _, tried in blocks), default=1.0)
    density = np.zeros((_CORRELATIONS, len(_LOGITS)))
    for (count, tried), times in sorted(blocks.items()):
        density += times * _block(count, tried, most)
    highest = density.max(axis=0)
    logs = highest + np.log(np.exp(density - highest).sum(axis=0)) + _PRIOR
    logits, weights = _refined(logs)
    shares = 1 / (1 + np.exp(-logits))
    below = np.cumsum(weights) - weights / 2
    low, high = np.interp(((1 - LEVEL) / 2, (1 + LEVEL) / 2), below, shares).tolist()
    return ShareEstimate(float(weights @ shares), low, high)


def _refined(logs: Floats) -> tuple[Floats, Floats]:
    """Return a fine grid of logits where the density is large, and the weight of each point. The weights add up to 1.

    `logs` are logarithms of the density on the coarse grid. Between its points, they are interpolated by cubic polynomials
    (Catmull and Rom), which are exact for a parabola, as the logarithm of a normal density.
    """
    peak = int(logs.argmax())
    inside = np.flatnonzero(logs > logs[peak] + _DEPTH)
    first, last = max(1, min(inside[0], peak - 1)), min(len(logs) - 2, max(inside[-1], peak + 1))
    while True:
        places = np.linspace(first, last, _FINE)
        left = np.clip(places.astype(np.int64), 1, len(logs) - 3)
        part = places - left
        before, start, end, after = (logs[left + shift] for shift in (-1, 0, 1, 2))
        slope, twist = (end - before) / 2, (after - start) / 2
        curve = start + part * (
            slope + part * (3 * (end - start) - 2 * slope - twist + part * (2 * (start - end) + slope + twist))
        )
        weights = np.exp(curve - curve.max())
        inner = np.flatnonzero(curve > curve.max() + _DEPTH)
        if len(inner) > _FINE // 10 or last - first < 1e-6:
            return np.interp(places, np.arange(len(logs)), _LOGITS), weights / weights.sum()
        first, last = places[max(0, inner[0] - 1)], places[min(_FINE - 1, inner[-1] + 1)]


@lru_cache(maxsize=256)
def _block(count: float, trials: float, most: float) -> Floats:
    """Return the log likelihood of a block on the grid: correlations x logits. `most` is the largest number of trials."""
    variances = np.exp(np.linspace(-math.log(most), 0, _CORRELATIONS)) if most > 1 else np.ones(1)
    correlations = (most * variances - 1) / (most - 1) if most > 1 else np.full(1, 0.5)
    spread = (1 / np.clip(correlations, 1e-7, 1 - 1e-4) - 1)[:, None]
    wins = spread / (1 + np.exp(-_LOGITS))
    losses = spread / (1 + np.exp(_LOGITS))
    logs: Floats = _log_rising(wins, count) + _log_rising(losses, trials - count) - _log_rising(spread, trials)
    return logs


def _log_rising(base: Floats, steps: float) -> Floats:
    """Return the logarithm of gamma(base + steps) / gamma(base), by Stirling's series. `base` > 0, `steps` >= 0."""
    shifted = base + 8
    logarithm = (shifted + steps - 0.5) * np.log1p(steps / shifted) + steps * (np.log(shifted) - 1)
    logarithm += _stirling(shifted + steps) - _stirling(shifted)
    for shift in range(8):
        logarithm -= np.log1p(steps / (base + shift))
    return logarithm


def _stirling(value: Floats) -> Floats:
    return (1 / 12 - (1 / 360 - 1 / 1260 / value**2) / value**2) / value
