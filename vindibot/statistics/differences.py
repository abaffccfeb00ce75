"""The difference in strength of two bots A and B, estimated from the scores of A in blocks of games.

The estimate needs a number of blocks that was fixed in advance. If a test has stopped a match (`vindibot.statistics.sprt`), the
scores of the match exaggerate the difference.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from vindibot.statistics.means import student_quantile
from vindibot.statistics.ratings import MIN_BLOCKS, elo
from vindibot.statistics.shares import estimate_share

#: Number of half points in a block of a match: six games, and in each game four pairs. A tie is half a point.
HALF_POINTS = 48


@dataclass(frozen=True)
class EloEstimate:
    """A's advantage over B as a score (0..1) and in rating points, each with its 95 % interval. All numbers are finite.

    `blocks` is the number of blocks.
    """

    score: float
    score_low: float
    score_high: float
    elo: float
    low: float
    high: float
    blocks: int


def estimate_difference(scores: Sequence[float]) -> EloEstimate | None:
    """Return A's advantage, estimated from block scores. Return None if there are fewer than `MIN_BLOCKS` blocks.

    The number of blocks must have been fixed before the first game. A block counts as `HALF_POINTS` trials, of which A wins the
    share that is its score.
    """
    if len(scores) < MIN_BLOCKS:
        return None
    estimate = estimate_share([score * HALF_POINTS for score in scores], [HALF_POINTS] * len(scores))
    shares = estimate.share, estimate.low, estimate.high
    return EloEstimate(*shares, elo(shares[0]), elo(shares[1]), elo(shares[2]), len(scores))


@dataclass(frozen=True)
class NormalisedDifference:
    """A's advantage in standard deviations of the score of a block, with its 95 % interval.

    Rating points depend on the games: in long games the better bot is ahead more often. The normalised difference says how many
    blocks a test needs. With half of the normalised difference, a test needs four times as many blocks.
    """

    value: float
    low: float
    high: float


def normalised_difference(scores: Sequence[float]) -> NormalisedDifference | None:
    """Return the mean of ``score - 0.5`` of the blocks by its standard deviation.

    Return None if there are fewer than `MIN_BLOCKS` blocks, or if all blocks have the same score. The standard error of this
    effect size with n blocks and the value d is sqrt(1 / n + d^2 / (2 (n - 1))) (Hedges and Olkin 1985, for one sample).
    """
    count = len(scores)
    if count < MIN_BLOCKS:
        return None
    spread = float(np.std(scores, ddof=1))
    if spread < 1e-9:
        return None
    value = (float(np.mean(scores)) - 0.5) / spread
    half = student_quantile(count - 1) * math.sqrt(1 / count + value**2 / (2 * (count - 1)))
    return NormalisedDifference(value, value - half, value + half)
