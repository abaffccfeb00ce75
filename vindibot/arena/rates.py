"""The interval of a rate, such as the number of deaths per hero and game, from counts in blocks.

It comes from a bootstrap over the n blocks. It is widened by sqrt(n / (n - 1)), because the bootstrap underestimates the spread
of a few blocks. As for ratings (`vindibot.arena.ratings`), each resample also draws the weight of the prior from an exponential
distribution. Here the prior is `PRIOR` events. So the interval has a positive width even if all blocks are equal.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from vindibot.arena.luce import PRIOR

#: Number of resamples of the bootstrap.
RESAMPLES = 4000


def rate_interval(counts: Sequence[float], sizes: Sequence[float], seed: int = 0) -> tuple[float, float]:
    """Return the 95 % interval of the number of events per unit. Block i has `counts[i]` events in `sizes[i]` units.

    There must be at least two blocks. `seed` is the seed of the bootstrap.
    """
    rng = np.random.default_rng(seed)
    events, units, blocks = np.asarray(counts, np.float64), np.asarray(sizes, np.float64), len(counts)
    chosen = rng.integers(blocks, size=(RESAMPLES, blocks))
    prior = PRIOR * rng.exponential(size=RESAMPLES)
    mean = events.sum() / units.sum()
    drawn = events[chosen].sum(axis=1) / units[chosen].sum(axis=1) - mean
    drawn = mean + drawn * math.sqrt(blocks / (blocks - 1)) + prior / units.sum()
    low, high = np.percentile(drawn, (2.5, 97.5)).tolist()
    return max(0.0, low), high
