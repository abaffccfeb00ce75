"""Plans of matches: how many blocks the sequential test needs on average, and how many an interval of a given width needs.

The numbers follow from the standard deviation of the block scores of earlier games. A block is one map and seed in all seatings.
"""

from __future__ import annotations

import math

from vindibot.statistics.hypotheses import Hypotheses
from vindibot.statistics.means import student_quantile
from vindibot.statistics.ratings import POINTS, expected

#: Number of blocks by which the test is longer than Wald's formula says, because it estimates the variance of the blocks.
UNKNOWN_VARIANCE = 3.0


def expected_blocks(spread: float, difference: float, hypotheses: Hypotheses | None = None) -> tuple[float, float]:
    """Return the expected number of blocks until the sequential test has a verdict, and the probability (0..1) of the verdict H1.

    `spread` is the standard deviation of the score of a block, above 0. `difference` is the true difference of the bots in rating
    points. The log likelihood ratio is taken as a Brownian motion with drift between two bounds (Wald). The test has no verdict
    before `hypotheses.fewest` blocks.
    """
    given = hypotheses or Hypotheses()
    s0, s1, true = expected(given.elo0), expected(given.elo1), expected(difference)
    upper, lower = math.log((1 - given.beta) / given.alpha), math.log(given.beta / (1 - given.alpha))
    drift = (s1 - s0) * (true - (s0 + s1) / 2) / spread**2
    variance = (s1 - s0) ** 2 / spread**2
    if abs(drift) * max(upper, -lower) < 1e-6 * variance:
        chance, blocks = -lower / (upper - lower), -upper * lower / variance
    else:
        # exp(-2 drift x / variance) is a martingale; its exponents are cut so that they do not overflow.
        rate = 2 * drift / variance
        above, below = math.exp(min(700.0, -rate * upper)), math.exp(min(700.0, -rate * lower))
        chance = (1 - below) / (above - below)
        blocks = (chance * upper + (1 - chance) * lower) / drift
    return max(float(given.fewest), blocks + UNKNOWN_VARIANCE), chance


def blocks_for_interval(spread: float, half_width: float) -> int:
    """Return the number of blocks after which the 95 % interval of the difference is at most `half_width` points to each side.

    `spread` is the standard deviation of the score of a block. The formula is for bots of nearly equal strength, where a score of
    0.5 + x is ``4 x POINTS`` points.
    """
    points = 4 * POINTS * spread
    blocks = max(2, math.ceil((1.96 * points / half_width) ** 2))
    while student_quantile(blocks - 1) * points / math.sqrt(blocks) > half_width:
        blocks += max(1, blocks // 200)
    return blocks
