"""Ratings of bots from games with four seats, and the uncertainty of the ratings.

`rate` fits the ratings to all games together with the Plackett-Luce model (`vindibot.statistics.luce`). Ratings are on the
scale of Elo. If bot A is rated 100 points above bot B, A is ahead of B in 64 % of their games. With 400 points, A is ahead in 10
of 11.

The final intervals come from a bootstrap. The games of a block (one map and seed, the seats rotated) have much in common, so the
bootstrap draws whole blocks with repetition. Each resample also draws the weights of the games against the model's virtual player
from an exponential distribution. With fixed weights, a bot that has won every game would have an interval of width 0. But the
size of its advantage is unknown. The variance of a block has a prior too, so there is a width even if all blocks are equal: the
prior counts like one more block, in which games are independent (`vindibot.statistics.means`).

While a tournament runs, the intervals follow from the curvature of the likelihood instead. This method is fast, but treats the
games of a block as independent.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from vindibot.statistics.luce import PRIOR, collect, covariance, fit_strengths
from vindibot.statistics.means import student

#: Rating points per unit of strength (a natural logarithm).
POINTS = 400 / math.log(10)
#: Default number of resamples of the bootstrap.
RESAMPLES = 1000
#: Smallest number of blocks for an interval. Fewer blocks do not show how much blocks differ.
MIN_BLOCKS = 5


@dataclass(frozen=True)
class Rating:
    """A bot's rating on the scale of Elo. `low` and `high` are the ends of its 95 % interval.

    `los` (likelihood of superiority, 0..1) says how likely the bot is stronger than the next bot in the list. It is None for the
    last bot. `low`, `high` and `los` are None if they are unknown (see `rate`).
    """

    bot: str
    rating: float
    low: float | None = None
    high: float | None = None
    los: float | None = None


def elo(score: float) -> float:
    """Return the difference in rating points that gives this expected score (0..1). It is infinite for 0 and for 1."""
    if not 0 < score < 1:
        return math.copysign(math.inf, score - 0.5)
    return POINTS * math.log(score / (1 - score))


def expected(difference: float) -> float:
    """Return the expected score (0..1) for a difference in rating points."""
    return 1 / (1 + 10 ** (-difference / 400))


def rate(
    games: Sequence[tuple[int, Sequence[str], Sequence[float]]],
    bots: Iterable[str] = (),
    *,
    anchor: str | None = None,
    resamples: int = RESAMPLES,
) -> list[Rating]:
    """Return the ratings of all bots, best first.

    Each game is a tuple: its block, the bot of each seat, the place of each seat (1 is the best; equal places are ties). All bots
    in the games are rated. `bots` are further bots to rate; a bot without a game has strength 0 in the model. The bot `anchor`
    gets the rating 0. If `anchor` is None or no bot has this label, the mean of all ratings is 0.

    `low`, `high` and `los` come from `resamples` resamples of the bootstrap. They are None if there are fewer than `MIN_BLOCKS`
    blocks. With 0 resamples, `low` and `high` follow from the likelihood, and `los` is None. The result depends on the order
    in which the blocks occur.
    """
    names = sorted({*bots, *(bot for _, who, _ in games for bot in who)})
    if not names:
        return []
    number = {name: index for index, name in enumerate(names)}
    rankings = collect([(block, [number[bot] for bot in who], places) for block, who, places in games], len(names))

    zero = np.eye(len(names))[[number[anchor]]] if anchor in number else np.full((1, len(names)), 1 / len(names))
    to_points = (np.eye(len(names)) - zero).T * POINTS
    best = fit_strengths(rankings)
    points = best @ to_points
    ranked = sorted(range(len(names)), key=lambda index: (-points[index], names[index]))
    if not resamples:
        errors = 1.96 * np.sqrt(np.diag(to_points.T @ covariance(rankings, best) @ to_points))
        low, high = points - errors, points + errors
        return [Rating(names[index], float(points[index]), float(low[index]), float(high[index])) for index in ranked]
    if rankings.blocks < MIN_BLOCKS:
        return [Rating(names[index], float(points[index])) for index in ranked]
    rng = np.random.default_rng(0)
    drawn = np.empty((resamples, len(names)))
    for row in drawn:
        weights = np.bincount(rng.integers(rankings.blocks, size=rankings.blocks), minlength=rankings.blocks).astype(float)
        prior = PRIOR * rng.exponential(size=(len(names), 2))
        row[:] = fit_strengths(rankings, weights, best, prior)
    noise = rng.multivariate_normal(np.zeros(len(names)), covariance(rankings, best), resamples)
    drawn = (best + student(drawn - best, noise, rankings.blocks, rng)) @ to_points
    low, high = np.percentile(drawn, (2.5, 97.5), axis=0)
    better = (
        np.sum(drawn[:, index] > drawn[:, other]) + np.sum(drawn[:, index] == drawn[:, other]) / 2
        for index, other in pairwise(ranked)
    )
    los = [float((count + 0.5) / (resamples + 1)) for count in better]  # resamples cannot prove a likelihood of exactly 0 or 1
    return [
        Rating(names[index], float(points[index]), float(low[index]), float(high[index]), superiority)
        for index, superiority in zip(ranked, [*los, None], strict=True)
    ]
