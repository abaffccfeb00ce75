"""The Plackett-Luce model: strengths of players from the orders in which they came in.

A game's order is drawn from the top: the first is player i with probability e^s_i / sum of e^s_j over all who take part,
the second likewise among the rest, and so on. For two players this is the logistic model of Elo, and a player with
strength s is ahead of one with strength t with probability 1 / (1 + e^(t-s)) whoever else takes part.

Ties: the log likelihood of a game with equals is the mean over all orders in which the equals could have come in. So a tie
counts as half a win for each, and the likelihood stays concave.

Prior: every player has won and lost once, with weight `PRIOR`, against a phantom of strength 0. This makes the strengths
finite where one always wins, unique where groups have never met, and hardly changes anything where there is evidence.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

#: Weight of the one win and the one loss against the phantom.
PRIOR = 0.5
#: Strengths further from 0 than this are never tried: e^s must stay a number.
_LIMIT = 50.0

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class _Counts:
    """A sparse table of blocks and columns."""

    block: NDArray[np.int64]
    column: NDArray[np.int64]
    count: Floats
    columns: int

    def weighted(self, weights: Floats) -> Floats:
        """The sums of the columns, with weighted blocks."""
        return np.bincount(self.column, self.count * weights[self.block], self.columns).astype(np.float64)


@dataclass(frozen=True)
class Rankings:
    """What the likelihood needs of many games, in blocks, so that blocks can be weighted.

    `sets` has one row per different set of players among whom one came in next: players as numbers, -1 for none; a
    player who sits in several seats stands there several times. `wins` and `draws` count in which block (row of `wins`,
    from 0) how often a player was drawn, and a set drawn from.
    """

    players: int
    blocks: int
    sets: NDArray[np.int64]
    wins: _Counts
    draws: _Counts


def collect(games: Iterable[tuple[int, Sequence[int], Sequence[float]]], players: int) -> Rankings:
    """Gather games: for each its block (any number), the players in it (0..players-1, repeats are fine) and their places
    (smaller is better, equals tie). Every block that occurs becomes a row, in the order of their numbers."""
    blocks: dict[int, int] = {}
    sets: dict[tuple[int, ...], int] = {}
    wins: dict[tuple[int, int], float] = {}
    draws: dict[tuple[int, int], float] = {}
    known: dict[tuple[tuple[int, ...], tuple[float, ...]], list[tuple[tuple[int, ...], float]]] = {}
    width = 1
    for block, who, where in games:
        row = blocks.setdefault(block, len(blocks))
        key = tuple(who), tuple(where)
        width = max(width, len(key[0]))
        if key not in known:
            known[key] = _drawn_from(*key)
        for drawn, weight in known[key]:
            spot = row, sets.setdefault(drawn, len(sets))
            draws[spot] = draws.get(spot, 0.0) + weight
        for player in who:
            wins[row, player] = wins.get((row, player), 0.0) + 1.0
    # The blocks in the order of their numbers, so that a resample does not depend on the order of the games.
    rank = np.empty(len(blocks), np.int64)
    rank[np.argsort(np.array(list(blocks), dtype=np.int64))] = np.arange(len(blocks))
    members = np.full((len(sets), width), -1, np.int64)
    for drawn, number in sets.items():
        members[number, : len(drawn)] = drawn
    return Rankings(players, len(blocks), members, _counts(wins, rank, players), _counts(draws, rank, len(sets)))


def _counts(sparse: dict[tuple[int, int], float], rank: NDArray[np.int64], columns: int) -> _Counts:
    where = np.array(list(sparse), dtype=np.int64).reshape(-1, 2)
    return _Counts(rank[where[:, 0]], where[:, 1], np.array(list(sparse.values()), dtype=np.float64), columns)


def _drawn_from(who: tuple[int, ...], where: tuple[float, ...]) -> list[tuple[tuple[int, ...], float]]:
    """The sets from which the players of one game were drawn, sorted, with weights; the last, where no choice is left,
    too. Of `k` equals, `m` have gone before with the same chance for each m of them."""
    found = []
    for place in sorted(set(where)):
        rest = [player for player, other in zip(who, where, strict=True) if other > place]
        equals = [player for player, other in zip(who, where, strict=True) if other == place]
        for gone in range(len(equals)):
            left = list(combinations(equals, len(equals) - gone))
            found += [(tuple(sorted([*rest, *stay])), 1 / len(left)) for stay in left]
    return found


def fit_strengths(
    orders: Rankings,
    weights: Floats | None = None,
    start: Floats | None = None,
    prior: Floats | None = None,
) -> Floats:
    """The most likely strengths (natural logarithms, the phantom's is 0), by Newton's method.

    `weights` are those of the blocks (1 each if None), `start` where to begin, and `prior` (players x 2) the weights of
    the win and the loss against the phantom, `PRIOR` each if None. Deterministic.
    """
    if prior is None:
        prior = np.full((orders.players, 2), PRIOR)
    if weights is None:
        weights = np.ones(orders.blocks)
    wins, draws = orders.wins.weighted(weights), orders.draws.weighted(weights)
    used = draws > 0
    task = _Likelihood(orders.sets[used], wins, draws[used], prior)
    found = np.zeros(orders.players) if start is None else start.copy()
    value, slope, curve = task.at(found)
    for _ in range(100):
        move = np.linalg.solve(curve, slope)
        gain = float(slope @ move)
        if gain < 1e-10:
            break
        scale = min(1.0, 5.0 / float(np.abs(move).max()))
        while True:  # a concave function: a short enough step always gains
            tried = np.clip(found + scale * move, -_LIMIT, _LIMIT)
            value_there, slope_there, curve_there = task.at(tried)
            if value_there >= value + 1e-4 * scale * gain or scale < 1e-6:
                break
            scale /= 2
        found, value, slope, curve = tried, value_there, slope_there, curve_there
    return found


@dataclass(frozen=True)
class _Likelihood:
    sets: NDArray[np.int64]
    wins: Floats
    draws: Floats
    prior: Floats

    def at(self, found: Floats) -> tuple[float, Floats, Floats]:
        """The log likelihood, its gradient, and minus its matrix of second derivatives."""
        players = len(found)
        there = self.sets >= 0
        powers = np.where(there, np.exp(found)[self.sets], 0.0)
        total = powers.sum(axis=1)
        shares = powers / total[:, None]
        flat = np.where(there, self.sets, 0)
        heavy = shares * self.draws[:, None]
        expected = np.bincount(flat.ravel(), heavy.ravel(), players)
        pairs = flat[:, :, None] * players + flat[:, None, :]
        both = np.bincount(pairs.ravel(), (heavy[:, :, None] * shares[:, None, :]).ravel(), players * players)
        won, lost = self.prior[:, 0], self.prior[:, 1]
        chance = 1 / (1 + np.exp(-found))
        value = float(self.wins @ found - self.draws @ np.log(total))
        value -= float(won @ np.logaddexp(0, -found) + lost @ np.logaddexp(0, found))
        slope = self.wins - expected + won * (1 - chance) - lost * chance
        curve = np.diag(expected + (won + lost) * chance * (1 - chance)) - both.reshape(players, players)
        return value, slope, curve
