"""A sequential test that decides whether bot A is stronger than bot B, from the scores of blocks of games.

The games of a block have one map and one seed. The score of a block (0..1) is the mean score of A over its games. Blocks are
independent, but the games of one block are not. So only block scores are used.

`SequentialTest` is a generalised sequential probability ratio test. It is Wald's test, but it estimates the unknown variance of
the block scores from the blocks. Under hypothesis H0, A's true mean score is s0, the score for a difference of `elo0` points.
Under H1, it is s1, the score for `elo1` points. The log likelihood ratio (LLR) after n blocks with mean m and variance v is::

    LLR = (n - 3)/2 * log( (v + (m - s0)^2) / (v + (m - s1)^2) )

This is the LLR of normal scores, with the most likely variance under each hypothesis. The factor is n - 3 and not n. The reason
is that 1/v is estimated from n scores. On average this estimate is too large by the factor n / (n - 3).

- The verdict is H1 when the LLR reaches log((1 - beta) / alpha), and H0 when it reaches log(beta / (1 - alpha)).
- The LLR grows in steps, so at the verdict it exceeds a bound by about 0.583 standard deviations of a step (Siegmund). So both
  bounds are moved inwards by this amount. Then the true error rates are about equal to alpha and beta.
- The LLR grows slowly if the mean is far outside s0..s1. So the test also ends when the mean is more than five standard errors
  above s0 and s1, or below both.
- There is no verdict before `fewest` blocks, since the variance of a few blocks is unreliable.
- There is no verdict if too many games are equal, move by move, since a repeated game is no new evidence.

The plan of a match (`expected_blocks`, `blocks_for_interval`) follows from the standard deviation of the block scores of earlier
games.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from statistics import NormalDist
from typing import Literal

from vindibot.statistics.hypotheses import Hypotheses
from vindibot.statistics.means import student_quantile
from vindibot.statistics.ratings import MIN_BLOCKS, POINTS, expected

#: "H1": A is stronger by `elo1` rather than by `elo0`. "H0": the opposite. "running": there is no verdict yet. "repeated": there
#: is no verdict, since too few games are distinct.
Verdict = Literal["H0", "H1", "running", "repeated"]

#: Mean amount by which the LLR exceeds a bound, in standard deviations of a step (Siegmund 1985, for normal steps).
_OVERSHOOT = 0.583
#: The test ends if the mean is more than this number of standard errors above both expected scores s0 and s1, or below both.
_FAR = 5.0
#: This is added to the sum of squared deviations of the block scores. So the variance is above 0 even if all scores are equal.
_MIN_SQUARES = 0.01
#: Number of blocks by which the test is longer than Wald's formula says, because it estimates the variance of the blocks.
UNKNOWN_VARIANCE = 3.0


@dataclass(frozen=True)
class SprtState:
    """The state of the test: the verdict, the LLR, its bounds, and the number of blocks.

    `los` is the likelihood (0..1) that A is stronger than B. It follows from the mean and the standard error of the block scores,
    as for a normal distribution. It is None below `MIN_BLOCKS` blocks.
    """

    verdict: Verdict
    llr: float
    lower: float
    upper: float
    blocks: int
    los: float | None

    @property
    def by_mean(self) -> bool:
        """Whether the mean score decided: the LLR is within its bounds, but the mean is five standard errors outside."""
        return self.verdict in ("H0", "H1") and self.lower < self.llr < self.upper


@dataclass
class SequentialTest:
    """The sequential test. Call `add` for each block, in the order of the blocks, until there is a verdict."""

    hypotheses: Hypotheses = field(default_factory=Hypotheses)
    _count: int = 0
    _mean: float = 0.0
    _squares: float = 0.0  # the sum of squared deviations from the mean
    _verdict: Verdict = "running"

    def __post_init__(self) -> None:
        self._s0, self._s1 = expected(self.hypotheses.elo0), expected(self.hypotheses.elo1)

    def add(self, score: float, distinct: float | None = None) -> SprtState:
        """Add the next block's score (0..1), and return the new state.

        `distinct` is the share of distinct games so far, None if unknown. Later blocks do not change a verdict of H0 or H1.
        """
        self._count += 1
        before = score - self._mean
        self._mean += before / self._count
        self._squares += before * (score - self._mean)
        return self.state(distinct)

    def state(self, distinct: float | None = None) -> SprtState:
        """Return the present state of the test. For `distinct` see `add`."""
        llr, step = self._llr()
        hypotheses = self.hypotheses
        lower = math.log(hypotheses.beta / (1 - hypotheses.alpha)) + _OVERSHOOT * step
        upper = math.log((1 - hypotheses.beta) / hypotheses.alpha) - _OVERSHOOT * step
        verdict = self._verdict
        if verdict == "running" and self._count >= hypotheses.fewest:
            errors_beyond = self._errors_beyond()
            if distinct is not None and distinct < hypotheses.distinct:
                verdict = "repeated"
            elif llr >= upper or errors_beyond > _FAR:
                verdict = self._verdict = "H1"
            elif llr <= lower or errors_beyond < -_FAR:
                verdict = self._verdict = "H0"
        return SprtState(verdict, llr, lower, upper, self._count, self._los())

    def _llr(self) -> tuple[float, float]:
        """Return the log likelihood ratio, and the standard deviation of a single block's contribution to it."""
        if self._count < 2:
            return 0.0, 0.0
        variance = self._variance()
        to0, to1 = variance + (self._mean - self._s0) ** 2, variance + (self._mean - self._s1) ** 2
        return max(0, self._count - 3) / 2 * math.log(to0 / to1), min(1.0, (self._s1 - self._s0) / math.sqrt(variance))

    def _los(self) -> float | None:
        """Return the likelihood that A is stronger than B, never exactly 0 or 1."""
        if self._count < MIN_BLOCKS:
            return None
        error = math.sqrt(self._variance() / (self._count - 1))
        return min(max(NormalDist().cdf((self._mean - 0.5) / error), 1e-9), 1 - 1e-9)

    def _variance(self) -> float:
        return (self._squares + _MIN_SQUARES) / self._count

    def _errors_beyond(self) -> float:
        """Return the number of standard errors by which the mean is outside the range s0..s1 of the expected scores.

        The number is positive above the range, negative below it, and 0 within it.
        """
        outside = max(0.0, self._mean - self._s1) + min(0.0, self._mean - self._s0)
        return outside / math.sqrt(self._variance() / self._count)


def expected_blocks(spread: float, difference: float, hypotheses: Hypotheses | None = None) -> tuple[float, float]:
    """Return the expected number of blocks until the sequential test has a verdict, and the probability (0..1) of the verdict H1.

    `spread` is the standard deviation of the score of a block, above 0. `difference` is the true difference of the bots in rating
    points. The log likelihood ratio is taken as a Brownian motion with drift between two bounds (Wald). The test has no verdict
    before `hypotheses.fewest` blocks.
    """
    hypotheses = hypotheses or Hypotheses()
    s0, s1, true = expected(hypotheses.elo0), expected(hypotheses.elo1), expected(difference)
    upper, lower = math.log((1 - hypotheses.beta) / hypotheses.alpha), math.log(hypotheses.beta / (1 - hypotheses.alpha))
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
    return max(float(hypotheses.fewest), blocks + UNKNOWN_VARIANCE), chance


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
