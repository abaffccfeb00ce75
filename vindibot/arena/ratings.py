"""Ratings of bots from games of four: how strong each is, and how sure that is.

While a tournament runs, `Running` keeps ratings that follow game by game (openskill). The final ones (`rate`) are fitted
to all games at once by the Plackett-Luce model (`vindibot.arena.luce`), on the scale of Elo: a bot that is rated 100 higher
is ahead of the other in 64 % of the games in which both sit, one that is 400 higher in 10 of 11.

How sure: a bootstrap over blocks. The games of a block (one map and seed, the seats rotated) have much in common, so the
block is what is drawn anew, with all its games. In each of the resamples the weights of the phantom's games (see the
model) are drawn anew as well, from an exponential distribution: without this a bot that has won every game would have an
interval of no width, although nobody knows how much better it is.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from openskill.models import PlackettLuce, PlackettLuceRating

from vindibot.arena.luce import PRIOR, Floats, collect, fit_strengths
from vindibot.arena.results import GameLine

#: Rating points for one unit of strength (a natural logarithm).
POINTS = 400 / math.log(10)
#: Resamples of the bootstrap.
RESAMPLES = 1000
#: Fewer blocks say nothing about how much blocks differ: no interval.
MIN_BLOCKS = 5


@dataclass(frozen=True)
class Rating:
    """One bot's rating on the scale of Elo, with its 95 % interval; `los` is the likelihood that it is stronger than the
    next bot of the list (0..1). The last three are None where there are too few blocks, and `los` for the last bot."""

    bot: str
    rating: float
    low: float | None = None
    high: float | None = None
    los: float | None = None


def elo(score: float) -> float:
    """The difference in rating that goes with a score (0..1), infinite at the ends."""
    if not 0 < score < 1:
        return math.copysign(math.inf, score - 0.5)
    return POINTS * math.log(score / (1 - score))


def expected(difference: float) -> float:
    """The score (0..1) that goes with a difference in rating."""
    return 1 / (1 + 10 ** (-difference / 400))


def rate(
    games: Sequence[GameLine],
    bots: Iterable[str] | None = None,
    *,
    anchor: str | None = None,
    resamples: int = RESAMPLES,
    seed: int = 0,
) -> list[Rating]:
    """The ratings of all bots, best first.

    `bots` are the labels to rate, those of the games if None; one without a game is rated 0 from the prior alone. The
    bot `anchor` is 0 by definition, or the mean of all if it is None or does not take part. The same games in any order
    and the same `seed` give the same figures.
    """
    names = sorted({*(bots or ()), *(bot for game in games for bot in game.bots)})
    if not names:
        return []
    number = {name: index for index, name in enumerate(names)}
    lines = sorted(games, key=lambda game: (game.block, game.game))
    played = [(line.block, [number[bot] for bot in line.bots], [seat.place for seat in line.seats]) for line in lines]
    orders = collect(played, len(names))

    def on_scale(found: Floats) -> Floats:
        zero = found[..., [number[anchor]]] if anchor in number else found.mean(axis=-1, keepdims=True)
        return (found - zero) * POINTS

    best = fit_strengths(orders)
    points = on_scale(best)
    ranked = sorted(range(len(names)), key=lambda index: (-points[index], names[index]))
    if orders.blocks < MIN_BLOCKS or not resamples:
        return [Rating(names[index], float(points[index])) for index in ranked]
    rng = np.random.default_rng(seed)
    drawn = np.empty((resamples, len(names)))
    for row in drawn:
        weights = np.bincount(rng.integers(orders.blocks, size=orders.blocks), minlength=orders.blocks).astype(float)
        prior = PRIOR * rng.exponential(size=(len(names), 2))
        row[:] = fit_strengths(orders, weights, best, prior)
    drawn = on_scale(drawn)
    low, high = np.percentile(drawn, (2.5, 97.5), axis=0)
    table = []
    for place, index in enumerate(ranked):
        los = None
        if place + 1 < len(ranked):
            other = drawn[:, ranked[place + 1]]
            better = np.sum(drawn[:, index] > other) + np.sum(drawn[:, index] == other) / 2
            los = float((better + 0.5) / (resamples + 1))  # never certain: that is more than resamples can say
        table.append(Rating(names[index], float(points[index]), float(low[index]), float(high[index]), los))
    return table


class Running:
    """Ratings that follow the games as they end: openskill's Plackett-Luce, on the scale of Elo, around 0.

    They depend on the order of the games a little, so they are for watching; the final ones come from `rate`. A bot in
    several seats of one game is rated in each, and the mean counts.
    """

    def __init__(self) -> None:
        self._model = PlackettLuce()
        self._known: dict[str, PlackettLuceRating] = {}

    def add(self, line: GameLine) -> None:
        """Take in one finished game."""
        teams = [[self._model.rating(*self._of(bot))] for bot in line.bots]
        if len(set(line.bots)) > 1:
            after = self._model.rate(teams, ranks=[seat.place for seat in line.seats])
            for bot in set(line.bots):
                mine = [team[0] for team, name in zip(after, line.bots, strict=True) if name == bot]
                mu = sum(one.mu for one in mine) / len(mine)
                self._known[bot] = self._model.rating(mu, min(one.sigma for one in mine))

    def _of(self, bot: str) -> tuple[float, float]:
        known = self._known.get(bot)
        return (known.mu, known.sigma) if known else (self._model.mu, self._model.sigma)

    def rating(self, bot: str) -> tuple[float, float]:
        """The rating so far and its standard error, both in points."""
        mu, sigma = self._of(bot)
        # In the model, i is before j with odds e^((mu_i - mu_j) / c), c^2 the sum of beta^2 and sigma^2 over the game.
        scale = POINTS / (2 * self._model.beta)
        return (mu - self._model.mu) * scale, sigma * scale
