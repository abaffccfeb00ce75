"""The Plackett-Luce model, which estimates the strengths of players from their rankings in games.

The model draws the ranking of a game from the top. Player i is first with probability e^s_i / (sum of e^s_j over all players of
the game). The second player is drawn in the same way from the rest, and so on. For two players this is the logistic model of
Elo. A player with strength s is ahead of a player with strength t with probability 1 / (1 + e^(t-s)). This probability does not
depend on the other players of the game.

Ties: a game with ties is compatible with several rankings without ties. The log likelihood of the game is the mean of the log
likelihoods of these rankings. So a tie counts as half a win for each player, and the log likelihood stays concave.

Prior: every player also gets one win and one loss, each with weight `PRIOR`, against a virtual player of strength 0. So a player
that always wins has a finite strength. The strengths are also unique if two groups of players never met. With many games the
prior has little influence.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

#: Weight of a player's win and of its loss against the virtual player.
PRIOR = 0.5
#: Largest distance of a strength from 0, so that e^s stays finite.
_LIMIT = 50.0

Floats = NDArray[np.float64]


class _Counts:
    """A table of counts with one row per block (a group of similar games).

    `sparse` has the counts by (block, column). `columns` is the number of columns.
    """

    def __init__(self, sparse: Mapping[tuple[int, int], float], columns: int) -> None:
        spots = np.array(list(sparse), dtype=np.int64).reshape(-1, 2)
        self.block, self.column = spots[:, 0], spots[:, 1]
        self.count = np.array(list(sparse.values()), dtype=np.float64)
        self.columns = columns

    def weighted(self, weights: Floats) -> Floats:
        """Return the weighted sum of each column. `weights` has one weight per block."""
        return np.bincount(self.column, self.count * weights[self.block], self.columns).astype(np.float64)


@dataclass(frozen=True)
class Rankings:
    """The data of games from which the likelihood of strengths is computed: counts per block, so that each block can get a
    weight.

    `players` and `blocks` are the numbers of players and of blocks. A choice set is a set of players from which the next player
    of a ranking was drawn. `choice_sets` has one row per choice set: the numbers of its players, then -1 in the free places. A
    player in several seats occurs several times in the row. `wins` counts the draws of each player, and `choices` counts the
    draws from each choice set.
    """

    players: int
    blocks: int
    choice_sets: NDArray[np.int64]
    wins: _Counts
    choices: _Counts


def collect(games: Iterable[tuple[int, Sequence[int], Sequence[float]]], players: int) -> Rankings:
    """Return the rankings of games. Each game is a tuple: its block, the numbers of its players, their places.

    The blocks may have any numbers. They become rows in the order of their first games. `players` is the number of all players;
    they are numbered from 0. A player may occur several times in a game. The smallest place is the best. Equal places are ties.
    """
    blocks: dict[int, int] = {}
    sets: dict[tuple[int, ...], int] = {}
    wins: Counter[tuple[int, int]] = Counter()
    choices: dict[tuple[int, int], float] = {}
    for block, who, places in games:
        row = blocks.setdefault(block, len(blocks))
        wins.update((row, player) for player in who)
        for chosen_from, weight in _choice_sets(tuple(who), tuple(places)):
            spot = row, sets.setdefault(chosen_from, len(sets))
            choices[spot] = choices.get(spot, 0.0) + weight
    members = np.full((len(sets), max(map(len, sets), default=1)), -1, np.int64)
    for chosen_from, number in sets.items():
        members[number, : len(chosen_from)] = chosen_from
    return Rankings(players, len(blocks), members, _Counts(wins, players), _Counts(choices, len(sets)))


@cache
def _choice_sets(who: tuple[int, ...], places: tuple[float, ...]) -> list[tuple[tuple[int, ...], float]]:
    """Return the choice sets of one game with their weights. The players of each set are sorted.

    The set that has only the last player is included. All orders of tied players are equally likely. So if `m` of `k` tied
    players are still to be drawn, each group of `m` players has the same weight. These weights add up to 1.
    """
    choice_sets = []
    for place in sorted(set(places)):
        rest = [player for player, other in zip(who, places, strict=True) if other > place]
        tied = [player for player, other in zip(who, places, strict=True) if other == place]
        for gone in range(len(tied)):
            left = list(combinations(tied, len(tied) - gone))
            choice_sets += [(tuple(sorted([*rest, *stay])), 1 / len(left)) for stay in left]
    return choice_sets


def fit_strengths(
    rankings: Rankings, weights: Floats | None = None, start: Floats | None = None, prior: Floats | None = None
) -> Floats:
    """Return the most likely strength of each player, found by Newton's method. The result is deterministic.

    Strengths are natural logarithms, and the virtual player has strength 0. `weights` has a weight per block, None for 1. `start`
    has the strengths to begin with, None for 0. `prior` (players x 2) has the weights of each player's win and of its loss
    against the virtual player, None for `PRIOR`.
    """
    task = _likelihood(rankings, weights, prior)
    strengths = np.zeros(rankings.players) if start is None else start.copy()
    value, slope, curve = task.at(strengths)
    for _ in range(100):
        move = np.linalg.solve(curve, slope)
        gain = float(slope @ move)
        if gain < 1e-10:
            break
        scale = min(1.0, 5.0 / float(np.abs(move).max()))
        while True:  # the function is concave: a step that is short enough always increases it
            tried = np.clip(strengths + scale * move, -_LIMIT, _LIMIT)
            value_there, slope_there, curve_there = task.at(tried)
            if value_there >= value + 1e-4 * scale * gain or scale < 1e-6:
                break
            scale /= 2
        strengths, value, slope, curve = tried, value_there, slope_there, curve_there
    return strengths


def covariance(rankings: Rankings, strengths: Floats) -> Floats:
    """Return the covariance matrix (players x players) of the most likely strengths, from the curvature of the likelihood."""
    return np.linalg.inv(_likelihood(rankings).at(strengths)[2]).astype(np.float64)


@dataclass(frozen=True)
class _Likelihood:
    choice_sets: NDArray[np.int64]
    wins: Floats
    choices: Floats
    prior: Floats

    def at(self, strengths: Floats) -> tuple[float, Floats, Floats]:
        """Return the log likelihood of these strengths, its gradient, and the negative of its Hessian matrix."""
        players = len(strengths)
        there = self.choice_sets >= 0
        powers = np.where(there, np.exp(strengths)[self.choice_sets], 0.0)
        total = powers.sum(axis=1)
        shares = powers / total[:, None]
        flat = np.where(there, self.choice_sets, 0)
        heavy = shares * self.choices[:, None]
        expected = np.bincount(flat.ravel(), heavy.ravel(), players)
        pairs = flat[:, :, None] * players + flat[:, None, :]
        both = np.bincount(pairs.ravel(), (heavy[:, :, None] * shares[:, None, :]).ravel(), players * players)
        won, lost = self.prior[:, 0], self.prior[:, 1]
        chance = 1 / (1 + np.exp(-strengths))
        value = float(self.wins @ strengths - self.choices @ np.log(total))
        value -= float(won @ np.logaddexp(0, -strengths) + lost @ np.logaddexp(0, strengths))
        slope = self.wins - expected + won * (1 - chance) - lost * chance
        curve = np.diag(expected + (won + lost) * chance * (1 - chance)) - both.reshape(players, players)
        return value, slope, curve


def _likelihood(rankings: Rankings, weights: Floats | None = None, prior: Floats | None = None) -> _Likelihood:
    """Return the likelihood of the weighted rankings. For `weights` and `prior` see `fit_strengths`."""
    if prior is None:
        prior = np.full((rankings.players, 2), PRIOR)
    if weights is None:
        weights = np.ones(rankings.blocks)
    wins, choices = rankings.wins.weighted(weights), rankings.choices.weighted(weights)
    used = choices > 0
    return _Likelihood(rankings.choice_sets[used], wins, choices[used], prior)
