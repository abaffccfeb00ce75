"""The match of two bots A and B: a sequential test that decides whether A is stronger, and an estimate of the difference.

A block is one map and seed in all seatings. A pair is one seat of A and one seat of B in the same game. The score of a game is
the share of its pairs in which A has more gold; a tie counts one half. The score of a block is the mean over its games. Blocks
are independent, but the games of one block are not. So only block scores are used.

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

If the test has stopped a match, the scores of the match exaggerate the difference. So `estimate_difference` needs a match whose
number of blocks was fixed in advance. It estimates the score from the points of the blocks (`vindibot.arena.shares`).

A game that could not be played counts for neither bot. The score of its block is the mean over the other games of the block. A
block without any other game has no score, and is left out.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from statistics import NormalDist
from typing import Literal

from vindibot.arena.ratings import MIN_BLOCKS, elo, expected
from vindibot.arena.results import GameLine, that_count
from vindibot.arena.settings import SprtSettings
from vindibot.arena.shares import LEVEL, estimate_share

#: "H1": A is stronger by `elo1` rather than by `elo0`. "H0": the opposite. "running": there is no verdict yet. "repeated": there
#: is no verdict, since too few games are distinct.
Verdict = Literal["H0", "H1", "running", "repeated"]

#: Mean amount by which the LLR exceeds a bound, in standard deviations of a step (Siegmund 1985, for normal steps).
_OVERSHOOT = 0.583
#: The test ends if the mean is more than this number of standard errors above both expected scores s0 and s1, or below both.
_FAR = 5.0
#: This is added to the sum of squared deviations of the block scores. So the variance is above 0 even if all scores are equal.
_MIN_SQUARES = 0.01
#: Number of half points in a block of a match: six games, and in each game four pairs. A tie is half a point.
HALF_POINTS = 48


@dataclass(frozen=True)
class SprtState:
    """The state of the test: the verdict, the LLR, its bounds, the number of blocks, and the share of distinct games.

    The share is None if it is unknown. `los` is the likelihood (0..1) that A is stronger than B. It follows from the mean and the
    standard error of the block scores, as for a normal distribution. It is None below `MIN_BLOCKS` blocks.
    """

    verdict: Verdict
    llr: float
    lower: float
    upper: float
    blocks: int
    distinct: float | None = None
    los: float | None = None

    @property
    def by_mean(self) -> bool:
        """Whether the mean score decided: the LLR is within its bounds, but the mean is five standard errors outside."""
        return self.verdict in ("H0", "H1") and self.lower < self.llr < self.upper


@dataclass(frozen=True)
class EloEstimate:
    """A's advantage over B as a score (0..1) and in rating points, each with its interval. All numbers are finite.

    `level` is the probability with which the intervals hold the true values. `blocks` is the number of blocks.
    """

    score: float
    score_low: float
    score_high: float
    elo: float
    low: float
    high: float
    blocks: int
    level: float = LEVEL


def game_score(line: GameLine, a: str) -> float | None:
    """Return the score of bot `a` in one game, None if `a` has no seat or all four seats.

    The score is the share of pairs (a seat of `a`, a seat of another bot) in which `a` has more gold. A tie counts one half.
    """
    own = [seat.gold for seat in line.seats if seat.bot == a]
    others = [seat.gold for seat in line.seats if seat.bot != a]
    pairs = [((gold > other) + (gold >= other)) / 2 for gold in own for other in others]
    return sum(pairs) / len(pairs) if pairs else None


def whole_blocks(games: Iterable[GameLine]) -> dict[int, list[GameLine]]:
    """Return the games of each complete block, by the block's number. Blocks and their games are sorted by number.

    A block is complete if none of its games is still to be played. Games that could not be played are left out. So the list of a
    block may be empty.
    """
    found: dict[int, list[GameLine]] = {}
    for line in sorted(games, key=lambda line: line.key):
        found.setdefault(line.block, []).append(line)
    return {block: that_count(lines) for block, lines in found.items() if len(lines) >= lines[0].games}


def block_score(lines: Iterable[GameLine], a: str) -> float | None:
    """Return the mean score of bot `a` over the games of one block, None if `a` met no other bot in them."""
    scores = [score for line in lines if (score := game_score(line, a)) is not None]
    return sum(scores) / len(scores) if scores else None


def distinct_share(games: Iterable[GameLine]) -> float | None:
    """Return the share (0..1) of distinct games, that is, games with a digest of moves that no earlier game has.

    Games without a digest are left out, and games that could not be played. If no game is left, return None.
    """
    played = [line.played for line in that_count(games) if line.played]
    return len(set(played)) / len(played) if played else None


@dataclass
class SequentialTest:
    """The sequential test. Call `add` for each block, in the order of the blocks, until there is a verdict."""

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


def run_sprt(games: Iterable[GameLine], a: str, settings: SprtSettings | None = None) -> SprtState:
    """Return the state of the test for bot `a` after these games.

    The blocks are added in their order, up to the first incomplete block or to the verdict. So the verdict does not depend on
    the order in which the games ended, and later games do not change it. A block whose games could not be played is left out.
    """
    test = SequentialTest(settings or SprtSettings())
    state = test.state()
    distinct: set[str] = set()
    total = 0
    for number, (block, lines) in enumerate(whole_blocks(games).items()):
        if block != number:
            break
        score = block_score(lines, a)
        if score is None:
            continue
        played = [line.played for line in lines if line.played]
        distinct.update(played)
        total += len(played)
        state = test.add(score, len(distinct) / total if total else None)
        if state.verdict in ("H0", "H1"):
            break
    return state


def estimate_difference(scores: Sequence[float], level: float = LEVEL) -> EloEstimate | None:
    """Return A's advantage, estimated from block scores. Return None if there are fewer than `MIN_BLOCKS` blocks.

    The number of blocks must have been fixed before the first game. A block counts as `HALF_POINTS` trials, of which A wins the
    share that is its score. `level` is the level of the intervals.
    """
    if len(scores) < MIN_BLOCKS:
        return None
    found = estimate_share([score * HALF_POINTS for score in scores], [HALF_POINTS] * len(scores), level)
    return EloEstimate(found.share, found.low, found.high, elo(found.share), elo(found.low), elo(found.high), len(scores), level)


def match_scores(games: Iterable[GameLine], a: str) -> list[float]:
    """Return the score of bot `a` in each complete block that has one, in the order of the blocks."""
    return [score for lines in whole_blocks(games).values() if (score := block_score(lines, a)) is not None]
