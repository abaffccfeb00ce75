"""The match of two bots, A and B: a sequential test of which is stronger, and an estimate of the difference.

The score of a game is the share of pairs of seats (one of A, one of B) in which A has more gold; a tie counts one half. The
score of a block is the mean of its games. Blocks are independent and games of one block are not, so only block scores are used.

`SequentialTest` is a generalised sequential probability ratio test (Wald's test, with the unknown spread of the block scores
estimated from the blocks themselves). H0: A's true mean score corresponds to a difference of `elo0`; H1: to `elo1`.
After n blocks with mean m and variance v (around their mean)::

    LLR = (n - 3)/2 * log( (v + (m - s0)^2) / (v + (m - s1)^2) )

This is the likelihood ratio of normal scores, maximised over the variance under each hypothesis. The factor is n - 3
in place of n because 1/v, estimated from n scores, is too large by n / (n - 3) on average. The test ends when LLR reaches
log((1 - beta) / alpha), H1, or log(beta / (1 - alpha)), H0. The LLR jumps over its bounds by about 0.583 of a step's spread
(Siegmund), so the bounds are closer by that much, which brings the true error rates to the requested ones. This LLR grows
slowly if the mean is far outside of s0..s1, so a mean five standard errors beyond both also ends the test. There is no
verdict before `fewest` blocks, since the variance of a few blocks is unreliable, and none if too few of the games are
distinct: repeated games are no new evidence.

A match that the test has stopped exaggerates the size of the difference. `estimate_difference` estimates it from a number of
blocks that was fixed in advance.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from statistics import NormalDist
from typing import Literal

import numpy as np

from vindibot.arena.ratings import MIN_BLOCKS, elo, expected
from vindibot.arena.results import GameLine
from vindibot.arena.settings import SprtSettings

#: "H1": A is stronger (by `elo1` rather than `elo0`). "H0": it is not. "running": no verdict yet. "repeated": too few of
#: the games are distinct.
Verdict = Literal["H0", "H1", "running", "repeated"]

#: Mean overshoot of the LLR over a bound, in spreads of a step (Siegmund 1985, for normal steps).
_OVERSHOOT = 0.583
#: Number of standard errors beyond both hypotheses that ends the test.
_FAR = 5.0
#: Added to the sum of squared deviations of block scores, so that the variance is above 0 even if all scores are equal.
_MIN_SQUARES = 0.01
#: Resamples for the interval of the difference.
RESAMPLES = 4000


@dataclass(frozen=True)
class SprtState:
    """The state of the test: the verdict, the LLR, the bounds between which it runs, the number of blocks, and the share of
    distinct games (None if unknown). `los` is the likelihood (0..1) that A is stronger than B, from the mean of the block scores
    and its standard error (normal); None below `MIN_BLOCKS` blocks."""

    verdict: Verdict
    llr: float
    lower: float
    upper: float
    blocks: int
    distinct: float | None = None
    los: float | None = None


@dataclass(frozen=True)
class EloEstimate:
    """A's advantage, from a fixed number of blocks: mean score (0..1) and rating points, with 95 % intervals."""

    score: float
    score_low: float
    score_high: float
    elo: float
    low: float
    high: float
    blocks: int


def game_score(line: GameLine, a: str) -> float | None:
    """Return A's score in one game: the share of pairs (a seat of A, a seat of another) in which A has more gold, ties one half.
    None if A has no seat or all four."""
    own = [seat.gold for seat in line.seats if seat.bot == a]
    others = [seat.gold for seat in line.seats if seat.bot != a]
    pairs = [((gold > other) + (gold >= other)) / 2 for gold in own for other in others]
    return sum(pairs) / len(pairs) if pairs else None


def whole_blocks(games: Iterable[GameLine]) -> dict[int, list[GameLine]]:
    """Return the games of the complete blocks, by block, in the order of the blocks and of their games."""
    found: dict[int, list[GameLine]] = {}
    for line in sorted(games, key=lambda line: (line.block, line.game)):
        found.setdefault(line.block, []).append(line)
    return {block: lines for block, lines in found.items() if len(lines) >= lines[0].games}


def block_score(lines: Iterable[GameLine], a: str) -> float | None:
    """Return A's score in the games of one block, None if A never met another bot."""
    scores = [score for line in lines if (score := game_score(line, a)) is not None]
    return sum(scores) / len(scores) if scores else None


def distinct_share(games: Iterable[GameLine]) -> float | None:
    """Return the share of distinct games among those with a digest of their moves, None if there are none."""
    played = [line.played for line in games if line.played]
    return len(set(played)) / len(played) if played else None


@dataclass
class SequentialTest:
    """The test over the blocks so far. Call `add` in their order, and stop at the first verdict."""

    settings: SprtSettings = field(default_factory=SprtSettings)
    _count: int = 0
    _mean: float = 0.0
    _squares: float = 0.0  # the sum of squared deviations from the mean
    _verdict: Verdict = "running"

    def __post_init__(self) -> None:
        if self.settings.conflicts():
            raise ValueError(f"elo1 must be more than elo0, not {self.settings.elo1:g} against {self.settings.elo0:g}")
        self._s0, self._s1 = expected(self.settings.elo0), expected(self.settings.elo1)

    def add(self, score: float, distinct: float | None = None) -> SprtState:
        """Add the next block's score (0..1), and return the new state. `distinct` is the share of distinct games so far, if
        known. The verdicts H0 and H1 are final: later blocks do not change them."""
        self._count += 1
        before = score - self._mean
        self._mean += before / self._count
        self._squares += before * (score - self._mean)
        return self.state(distinct)

    def state(self, distinct: float | None = None) -> SprtState:
        """Return the present state."""
        llr, step = self._llr()
        settings = self.settings
        lower = math.log(settings.beta / (1 - settings.alpha)) + _OVERSHOOT * step
        upper = math.log((1 - settings.beta) / settings.alpha) - _OVERSHOOT * step
        if self._verdict == "running" and self._count >= settings.fewest:
            if distinct is not None and distinct < settings.distinct:
                return SprtState("repeated", llr, lower, upper, self._count, distinct, self._los())
            errors_beyond = self._errors_beyond()
            if llr >= upper or errors_beyond > _FAR:
                self._verdict = "H1"
            elif llr <= lower or errors_beyond < -_FAR:
                self._verdict = "H0"
        return SprtState(self._verdict, llr, lower, upper, self._count, distinct, self._los())

    def _llr(self) -> tuple[float, float]:
        """Return the log likelihood ratio, and the spread of one block's part in it."""
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
        """Return the number of standard errors by which the mean lies above both hypotheses (below: negative), 0 if between."""
        outside = max(0.0, self._mean - self._s1) + min(0.0, self._mean - self._s0)
        return outside / math.sqrt(self._variance() / self._count)


def run_sprt(games: Iterable[GameLine], a: str, settings: SprtSettings | None = None) -> SprtState:
    """Return the state of the test after these games.

    It adds block by block, in the order of the blocks, up to the first incomplete block or the first verdict. So the verdict
    depends neither on the order in which games ended, nor on games after it.
    """
    test = SequentialTest(settings or SprtSettings())
    state = test.state()
    distinct: set[str] = set()
    total = 0
    for number, (block, lines) in enumerate(whole_blocks(games).items()):
        score = block_score(lines, a)
        if block != number or score is None:
            break
        played = [line.played for line in lines if line.played]
        distinct.update(played)
        total += len(played)
        state = test.add(score, len(distinct) / total if total else None)
        if state.verdict in ("H0", "H1"):
            break
    return state


def estimate_difference(scores: Sequence[float], seed: int = 0) -> EloEstimate | None:
    """Return A's advantage, from the scores of a number of blocks that was fixed before the first game; None below
    `MIN_BLOCKS`.

    The interval is a bootstrap over blocks, widened by sqrt(n / (n - 1)) because the spread of few blocks is underestimated.
    In rating points, an end is infinite if its score is 0 or 1.
    """
    if len(scores) < MIN_BLOCKS:
        return None
    values = np.asarray(scores, dtype=np.float64)
    rng = np.random.default_rng(seed)
    means = [values[rng.integers(len(values), size=len(values))].mean() for _ in range(RESAMPLES)]
    mean = float(values.mean())
    ends = (np.percentile(means, (2.5, 97.5)) - mean) * math.sqrt(len(values) / (len(values) - 1))
    low, high = np.clip(mean + ends, 0, 1).tolist()
    return EloEstimate(mean, low, high, elo(mean), elo(low), elo(high), len(values))
