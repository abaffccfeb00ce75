"""The A/B match: which of two bots is stronger, asked after every block, with known rates of error.

The score of a game is the share of pairs of seats (one of A, one of B) in which A has more gold, a tie counting one half;
the score of a block is the mean over its games. Blocks are independent, games of one block are not: only block scores are
used here.

`SequentialTest` is a generalised sequential probability ratio test (Wald's test, with the unknown spread of the block scores
estimated from the blocks themselves). H0: A's true mean score is the one that goes with a difference of `elo0`; H1: with
`elo1`. After n blocks with mean m and variance v (around their mean)::

    LLR = (n - 3)/2 * log( (v + (m - s0)^2) / (v + (m - s1)^2) )

which is what is left of the likelihood ratio of normal scores when each hypothesis may choose its own variance; n - 3 in
place of n, because 1/v is too large by n / (n - 3) on average where v is estimated from n scores. The test
ends when LLR reaches log((1 - beta) / alpha), H1, or log(beta / (1 - alpha)), H0. Since the LLR jumps over its bounds by
about 0.583 of a step's spread (Siegmund), the bounds are that much closer, which brings the true rates of error to the
ones asked for. This LLR grows slowly where the mean is far outside of s0..s1, so a mean that is five standard errors
beyond both ends the test as well. Before `fewest` blocks nothing does, since a variance of a few blocks is not to be
trusted.

Where too few of the games are distinct, the same games are counted over and over, and there is no verdict.

A match that was stopped by the test says who is stronger, but its score exaggerates by how much. The size of the
difference is told by `difference` from a number of blocks that was fixed in advance, and by nothing else.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Literal

import numpy as np

from vindibot.arena.bounds import SprtSettings
from vindibot.arena.ratings import MIN_BLOCKS, elo, expected
from vindibot.arena.results import GameLine

#: What the test says: "H1" A is stronger (by `elo1` rather than `elo0`), "H0" it is not; "running" it cannot say yet;
#: "repeated" too few of the games are distinct.
Verdict = Literal["H0", "H1", "running", "repeated"]

#: How far the LLR jumps over a bound on average, in spreads of a step (Siegmund 1985, for normal steps).
_OVERSHOOT = 0.583
#: So many standard errors beyond both hypotheses, there is nothing left to ask.
_FAR = 5.0
#: Resamples for the interval of the difference.
RESAMPLES = 4000


@dataclass(frozen=True)
class SprtState:
    """Where the test stands: the verdict, the LLR and the bounds between which it still runs, the blocks it is from, and
    the share of distinct games (None if the games tell nothing of it)."""

    verdict: Verdict
    llr: float
    lower: float
    upper: float
    blocks: int
    distinct: float | None = None


@dataclass(frozen=True)
class EloEstimate:
    """How much stronger A is, from a fixed number of blocks: mean score (0..1) and rating points, with 95 % intervals."""

    score: float
    score_low: float
    score_high: float
    elo: float
    low: float
    high: float
    blocks: int


def game_score(line: GameLine, a: str) -> float | None:
    """A's score in one game: the share of pairs (a seat of A, a seat of another) in which A has more gold, ties one half.
    None where A has no seat, or all of them."""
    mine = [seat.gold for seat in line.seats if seat.bot == a]
    others = [seat.gold for seat in line.seats if seat.bot != a]
    pairs = [1.0 if one > other else 0.5 if one == other else 0.0 for one in mine for other in others]
    return sum(pairs) / len(pairs) if pairs else None


def whole_blocks(games: Iterable[GameLine]) -> dict[int, list[GameLine]]:
    """The games of the blocks of which none is missing, by block, in the order of the blocks and of their games."""
    found: dict[int, list[GameLine]] = {}
    for line in games:
        found.setdefault(line.block, []).append(line)
    return {
        block: sorted(lines, key=lambda line: line.game) for block, lines in sorted(found.items()) if len(lines) >= lines[0].games
    }


def block_score(lines: Iterable[GameLine], a: str) -> float | None:
    """A's score in the games of one block; None where A never met anybody."""
    scores = [score for line in lines if (score := game_score(line, a)) is not None]
    return sum(scores) / len(scores) if scores else None


def distinct_share(games: Iterable[GameLine]) -> float | None:
    """The share of distinct games among those that say what was played; None where none does."""
    played = [line.played for line in games if line.played]
    return len(set(played)) / len(played) if played else None


#: Added to the sum of squared deviations of block scores, so that the variance is above 0 where all blocks were alike.
_DOUBT = 0.01


@dataclass
class SequentialTest:
    """The test over the blocks so far; `add` them in their order, and stop at the first verdict."""

    bounds: SprtSettings = field(default_factory=SprtSettings)
    _count: int = 0
    _mean: float = 0.0
    _squares: float = 0.0  # the sum of squared deviations from the mean
    _verdict: Verdict = "running"

    def __post_init__(self) -> None:
        if self.bounds.conflicts():
            raise ValueError(f"elo1 must be more than elo0, not {self.bounds.elo1:g} against {self.bounds.elo0:g}")

    def add(self, score: float, distinct: float | None = None) -> SprtState:
        """Take in the next block's score (0..1). `distinct` is the share of distinct games so far, if known.

        A verdict H0 or H1 is final: what comes later does not change it.
        """
        self._count += 1
        before = score - self._mean
        self._mean += before / self._count
        self._squares += before * (score - self._mean)
        return self.state(distinct)

    def state(self, distinct: float | None = None) -> SprtState:
        """Where the test stands now."""
        llr, step = self._llr()
        lower = math.log(self.bounds.beta / (1 - self.bounds.alpha)) + _OVERSHOOT * step
        upper = math.log((1 - self.bounds.beta) / self.bounds.alpha) - _OVERSHOOT * step
        if self._verdict == "running" and self._count >= self.bounds.fewest:
            if distinct is not None and distinct < self.bounds.distinct:
                return SprtState("repeated", llr, lower, upper, self._count, distinct)
            beyond = self._beyond()
            if llr >= upper or beyond > _FAR:
                self._verdict = "H1"
            elif llr <= lower or beyond < -_FAR:
                self._verdict = "H0"
        return SprtState(self._verdict, llr, lower, upper, self._count, distinct)

    def _llr(self) -> tuple[float, float]:
        """The log likelihood ratio, and the spread of one block's part in it."""
        if self._count < 2:
            return 0.0, 0.0
        s0, s1 = expected(self.bounds.elo0), expected(self.bounds.elo1)
        variance = self._variance()
        to0, to1 = variance + (self._mean - s0) ** 2, variance + (self._mean - s1) ** 2
        return max(0, self._count - 3) / 2 * math.log(to0 / to1), min(1.0, (s1 - s0) / math.sqrt(variance))

    def _variance(self) -> float:
        return (self._squares + _DOUBT) / self._count

    def _beyond(self) -> float:
        """How many standard errors the mean lies above both hypotheses (or below, negative); 0 if between them."""
        s0, s1 = expected(self.bounds.elo0), expected(self.bounds.elo1)
        return (max(0.0, self._mean - s1) + min(0.0, self._mean - s0)) / math.sqrt(self._variance() / self._count)


def run_sprt(games: Iterable[GameLine], a: str, bounds: SprtSettings | None = None) -> SprtState:
    """The test over the games so far, block by block in the order of the blocks, up to the first that is not whole or the
    first verdict. So the verdict depends neither on the order in which games ended nor on what was played beyond it."""
    test = SequentialTest(bounds or SprtSettings())
    state = test.state()
    seen: set[str] = set()
    told = 0
    for number, (block, lines) in enumerate(whole_blocks(games).items()):
        score = block_score(lines, a)
        if block != number or score is None:
            break
        played = [line.played for line in lines if line.played]
        seen.update(played)
        told += len(played)
        state = test.add(score, len(seen) / told if told else None)
        if state.verdict in ("H0", "H1"):
            break
    return state


def difference(scores: Sequence[float], seed: int = 0) -> EloEstimate | None:
    """How much stronger A is, from the scores of a number of blocks that was fixed before the first game; None below
    `MIN_BLOCKS`.

    The interval is a bootstrap over blocks, widened by sqrt(n / (n - 1)) as the spread of few blocks is underestimated.
    In rating points an end is infinite where its score is 0 or 1.
    """
    if len(scores) < MIN_BLOCKS:
        return None
    values = np.asarray(scores, dtype=np.float64)
    rng = np.random.default_rng(seed)
    means = np.empty(RESAMPLES)
    for row in range(RESAMPLES):
        means[row] = values[rng.integers(len(values), size=len(values))].mean()
    mean = float(values.mean())
    ends = np.percentile(means, (2.5, 97.5)) - mean
    low, high = (float(np.clip(mean + end * math.sqrt(len(values) / (len(values) - 1)), 0, 1)) for end in ends)
    return EloEstimate(mean, low, high, elo(mean), elo(low), elo(high), len(values))
