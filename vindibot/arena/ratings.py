"""Ratings of bots from games with four seats, and the uncertainty of the ratings.

While a tournament runs, `Running` updates ratings after each game (openskill). `rate` fits the final ratings to all games
together with the Plackett-Luce model (`vindibot.arena.luce`). Ratings are on the scale of Elo. If bot A is rated 100 points above
bot B, A is ahead of B in 64 % of their games; with 400 points, in 10 of 11 games.

The intervals come from a bootstrap over blocks. The games of a block (one map and seed, the seats rotated) have much in common,
so the bootstrap draws whole blocks with repetition. Each resample also draws the weights of the phantom's games (see the model)
from an exponential distribution. Without this, a bot that has won every game would have an interval of width 0, although the
size of its advantage is unknown.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from openskill.models import PlackettLuce, PlackettLuceRating

from vindibot.arena.luce import PRIOR, Floats, collect, fit_strengths
from vindibot.arena.results import GameLine

#: Rating points per unit of strength (a natural logarithm).
POINTS = 400 / math.log(10)
#: Resamples of the bootstrap.
RESAMPLES = 1000
#: The least number of blocks for an interval. Fewer blocks do not show how much blocks differ.
MIN_BLOCKS = 5


@dataclass(frozen=True)
class Rating:
    """A bot's rating on the scale of Elo. `low` and `high` are the ends of its 95 % interval.

    `los` is the likelihood (0..1) that the bot is stronger than the next bot in the list, None for the last bot. `low`, `high`
    and `los` are None if there are fewer than `MIN_BLOCKS` blocks.
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
    games: Sequence[GameLine],
    bots: Iterable[str] | None = None,
    *,
    anchor: str | None = None,
    resamples: int = RESAMPLES,
    seed: int = 0,
) -> list[Rating]:
    """Return the ratings of all bots, best first.

    All bots in the games are rated. `bots` are labels of further bots to rate; the model gives strength 0 to a bot without a
    game. The bot `anchor` gets the rating 0. If it is None or is not among the bots, the mean of all ratings is 0. `resamples` is
    the number of resamples for the intervals, 0 for none. The result depends on `seed`, but not on the order of the games.
    """
    names = sorted({*(bots or ()), *(bot for game in games for bot in game.bots)})
    if not names:
        return []
    number = {name: index for index, name in enumerate(names)}
    lines = sorted(games, key=lambda game: (game.block, game.game))
    played = [(line.block, [number[bot] for bot in line.bots], [seat.place for seat in line.seats]) for line in lines]
    rankings = collect(played, len(names))

    def to_points(found: Floats) -> Floats:
        zero = found[..., [number[anchor]]] if anchor in number else found.mean(axis=-1, keepdims=True)
        return (found - zero) * POINTS

    best = fit_strengths(rankings)
    points = to_points(best)
    ranked = sorted(range(len(names)), key=lambda index: (-points[index], names[index]))
    if rankings.blocks < MIN_BLOCKS or not resamples:
        return [Rating(names[index], float(points[index])) for index in ranked]
    rng = np.random.default_rng(seed)
    drawn = np.empty((resamples, len(names)))
    for row in drawn:
        weights = np.bincount(rng.integers(rankings.blocks, size=rankings.blocks), minlength=rankings.blocks).astype(float)
        prior = PRIOR * rng.exponential(size=(len(names), 2))
        row[:] = fit_strengths(rankings, weights, best, prior)
    drawn = to_points(drawn)
    low, high = np.percentile(drawn, (2.5, 97.5), axis=0)
    better = (
        np.sum(drawn[:, one] > drawn[:, other]) + np.sum(drawn[:, one] == drawn[:, other]) / 2 for one, other in pairwise(ranked)
    )
    los = [float((count + 0.5) / (resamples + 1)) for count in better]  # resamples cannot prove 0 or 1, so neither occurs
    return [
        Rating(names[index], float(points[index]), float(low[index]), float(high[index]), superiority)
        for index, superiority in zip(ranked, [*los, None], strict=True)
    ]


class Running:
    """Ratings that are updated after each game, by openskill's Plackett-Luce model, on the scale of Elo. They start at 0.

    They depend a little on the order of the games, so they are only for watching a tournament. `rate` returns the final
    ratings. If a bot has several seats in a game, its new rating is the mean over its seats.
    """

    def __init__(self) -> None:
        self._model = PlackettLuce()
        self._ratings: dict[str, PlackettLuceRating] = {}

    def add(self, line: GameLine) -> None:
        """Update the ratings with one finished game."""
        if len(set(line.bots)) == 1:
            return
        teams = [[self._model.rating(*self._of(bot))] for bot in line.bots]
        after = self._model.rate(teams, ranks=[seat.place for seat in line.seats])
        for bot in set(line.bots):
            own = [team[0] for team, name in zip(after, line.bots, strict=True) if name == bot]
            mu = sum(one.mu for one in own) / len(own)
            self._ratings[bot] = self._model.rating(mu, min(one.sigma for one in own))

    def _of(self, bot: str) -> tuple[float, float]:
        rating = self._ratings.get(bot, self._model)
        return rating.mu, rating.sigma

    def rating(self, bot: str) -> tuple[float, float]:
        """Return the bot's rating so far and the standard error of this rating, both in points."""
        mu, sigma = self._of(bot)
        # In the model, i is ahead of j with odds e^((mu_i - mu_j) / c). c^2 is the sum of beta^2 + sigma^2 over the players.
        scale = POINTS / (2 * self._model.beta)
        return (mu - self._model.mu) * scale, sigma * scale

    def ratings(self, bots: Iterable[str], anchor: str | None = None) -> dict[str, tuple[float, float]]:
        """Return the ratings so far of these bots and their standard errors, in points.

        As in `rate`, the bot `anchor` has 0; if it is none of the bots, the mean is 0. With an anchor, an error is that of the
        difference to the anchor.
        """
        found = {bot: self.rating(bot) for bot in bots}
        if anchor is None or anchor not in found:
            zero = sum(rating for rating, _ in found.values()) / max(1, len(found))
            return {bot: (rating - zero, error) for bot, (rating, error) in found.items()}
        zero, uncertainty = found[anchor]
        return {
            bot: (rating - zero, 0.0 if bot == anchor else math.hypot(error, uncertainty))
            for bot, (rating, error) in found.items()
        }
