"""Estimates of shares and of matches: how often their intervals hold the truth, and what they are at the ends of the range."""

from __future__ import annotations

import math
from dataclasses import replace
from itertools import combinations

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import integrate, special

from tests.support.arenagames import SEATINGS, game_line
from vindibot.arena.report.summary import match_scores
from vindibot.games.outcome import Reason
from vindibot.statistics.differences import HALF_POINTS, estimate_difference
from vindibot.statistics.luce import PRIOR
from vindibot.statistics.means import rate_interval
from vindibot.statistics.ratings import POINTS
from vindibot.statistics.shares import estimate_share

Points = NDArray[np.int64]
#: Number of simulated matches per case.
MATCHES = 600


def played(matches: int, blocks: int, advantage: float, rng: np.random.Generator, spread: float = 0.5) -> Points:
    """Return the half points of bot A in the blocks of simulated matches (matches x blocks).

    A block has six games in all seatings of two bots. In each block, random numbers change the strength of both bots (standard
    deviation `spread`) and the advantage of every seat, as in `made_up`. `advantage` is the difference of the strengths.
    """
    found = np.zeros((matches, blocks), np.int64)
    seats, bots = rng.normal(0, 0.5, (matches, blocks, 4)), rng.normal(0, spread, (2, matches, blocks))
    for pair in combinations(range(4), 2):
        own, other = list(pair), [seat for seat in range(4) if seat not in pair]
        gold = seats + rng.gumbel(size=(matches, blocks, 4))
        gold[..., own] += (bots[0] + advantage)[..., None]
        gold[..., other] += bots[1][..., None]
        found += 2 * (gold[..., own, None] > gold[..., None, other]).sum(axis=(-1, -2))
    return found


def advantage_of(score: float) -> float:
    """Return the advantage that gives this mean score, by bisection with the same random numbers in each step."""
    low, high = 0.0, 8.0
    for _ in range(20):
        middle = (low + high) / 2
        mean = played(20_000, 1, middle, np.random.default_rng(5)).mean() / HALF_POINTS
        low, high = (middle, high) if mean < score else (low, middle)
    return low


def held(points: Points, truth: float) -> float:
    """Return the share of matches whose interval holds the true score and the true difference in points."""
    count = 0
    for row in points:
        found = estimate_difference((row / HALF_POINTS).tolist())
        assert found is not None
        assert 0 < found.score_low < found.score < found.score_high < 1
        assert math.isfinite(found.high - found.low)
        count += found.low <= POINTS * math.log(truth / (1 - truth)) <= found.high
    return count / len(points)


@pytest.mark.slow
@pytest.mark.parametrize("score", [0.5, 0.75, 0.95])
def test_the_interval_of_a_match_holds_the_true_score_in_95_percent_of_matches(score: float) -> None:
    advantage = advantage_of(score)
    truth = float(played(100_000, 1, advantage, np.random.default_rng(6)).mean() / HALF_POINTS)
    assert truth == pytest.approx(score, abs=0.005)
    for blocks in (5, 10, 40):
        points = played(MATCHES, blocks, advantage, np.random.default_rng(blocks))
        assert 0.92 <= held(points, truth) <= 0.98, (score, blocks)


@pytest.mark.parametrize("blocks", [5, 10, 40])
def test_the_interval_of_a_match_that_was_won_completely(blocks: int) -> None:
    """A true score of 1 has no finite rating, so no finite interval can hold it. A score of 1 is something that a match can show.

    So this test draws the truths from the prior of the estimate, and plays a match for each of them. It keeps the matches in
    which all blocks have the score 1. The interval of these matches must hold 92 to 98 % of their truths.
    """
    rng = np.random.default_rng(7)
    count = 400_000
    truths = rng.beta(PRIOR, PRIOR, count)
    variances = np.exp(rng.uniform(-math.log(HALF_POINTS), 0, count))
    alike = np.clip((HALF_POINTS * variances - 1) / (HALF_POINTS - 1), 1e-6, 1 - 1e-6)
    spread = 1 / alike - 1
    won = np.ones(count, bool)
    for _ in range(blocks):
        left = np.flatnonzero(won)
        chance = rng.beta(np.maximum(truths[left] * spread[left], 1e-9), np.maximum((1 - truths[left]) * spread[left], 1e-9))
        won[left] = rng.random(len(left)) < chance**HALF_POINTS
    assert won.sum() > 5000
    found = estimate_difference([1.0] * blocks)
    assert found is not None
    assert 0.92 <= np.mean((found.score_low <= truths[won]) & (truths[won] <= found.score_high)) <= 0.98
    assert found.score == pytest.approx(truths[won].mean(), abs=0.003)


def test_equal_blocks_give_an_interval_with_a_width() -> None:
    widths = []
    for blocks in (5, 20, 100):
        found = estimate_difference([0.75] * blocks)
        assert found is not None
        assert found.low + 5 < found.elo < found.high - 5
        assert found.elo == pytest.approx(191, abs=6)
        widths.append(found.high - found.low)
    assert widths == sorted(widths, reverse=True)
    for score in (0.0, 1.0):
        perfect = estimate_difference([score] * 20)
        assert perfect is not None
        assert all(map(math.isfinite, (perfect.low, perfect.elo, perfect.high)))
        assert 400 < abs(perfect.elo) < 2000


def test_the_posterior_is_that_of_scipy() -> None:
    """The same posterior by integration with SciPy, for blocks of one trial, where only the share is unknown."""
    wins, games = 7, 10
    found = estimate_share([1] * wins + [0] * (games - wins), [1] * games)
    expected = special.betaincinv(wins + PRIOR, games - wins + PRIOR, [0.025, 0.975])
    assert (found.low, found.high) == pytest.approx(tuple(expected), abs=1e-3)
    assert found.share == pytest.approx((wins + PRIOR) / (games + 2 * PRIOR), abs=1e-4)


def test_the_posterior_of_correlated_trials_is_that_of_scipy() -> None:
    counts, trials = [3, 5, 1, 6], [6, 6, 6, 6]

    def density(share: float, log_variance: float, power: int) -> float:
        alike = (6 * math.exp(log_variance) - 1) / 5
        m = 1 / min(max(alike, 1e-7), 1 - 1e-4) - 1
        logs = sum(special.betaln(k + share * m, n - k + (1 - share) * m) for k, n in zip(counts, trials, strict=True))
        logs -= len(counts) * special.betaln(share * m, (1 - share) * m)
        return share**power * math.exp(logs + 20) * share ** (PRIOR - 1) * (1 - share) ** (PRIOR - 1)

    whole, first = (
        integrate.dblquad(lambda s, v, power=power: density(s, v, power), -math.log(6), 0, 1e-9, 1 - 1e-9, epsabs=1e-4)[0]
        for power in (0, 1)
    )
    assert estimate_share(counts, trials).share == pytest.approx(first / whole, abs=2e-3)


def test_a_game_that_could_not_be_played_changes_no_score_of_a_block() -> None:
    whole = [
        game_line(bots, [9 if bot == "a" else 1 for bot in bots], block=block, game=game, games=6)
        for block in range(6)
        for game, bots in enumerate(SEATINGS)
    ]
    seats = tuple(replace(seat, gold=0, place=2.5) for seat in whole[0].seats)
    lost = [replace(game, ending=Reason.ABORTED, seats=seats) for game in whole[:6]]
    games = [lost[0], *whole[1:]]
    assert match_scores(games, "a") == [1.0] * 6
    assert match_scores([*lost, *whole[6:]], "a") == [1.0] * 5


def test_an_interval_of_a_rate_has_a_width_and_holds_the_rate() -> None:
    assert rate_interval([0] * 20, [4] * 20)[0] >= 0
    assert 0 < rate_interval([0] * 20, [4] * 20)[1] < 0.05
    low, high = rate_interval([8] * 20, [4] * 20)
    assert 1.8 < low < 1.96
    assert 2.04 < high < 2.2


@pytest.mark.slow
@pytest.mark.parametrize("blocks", [3, 5, 10, 40])
@pytest.mark.parametrize("mean", [0.8, 4.0, 40.0])
def test_the_interval_of_a_rate_holds_the_truth_in_92_to_98_percent(mean: float, blocks: int) -> None:
    rng = np.random.default_rng(blocks)
    inside = 0
    for _ in range(400):
        counts = rng.poisson(rng.gamma(4.0, mean / 4, blocks))
        low, high = rate_interval(counts.tolist(), [4] * blocks)
        inside += low <= mean / 4 <= high
    assert (0.9 if blocks == 3 else 0.92) <= inside / 400 <= 0.98, "three blocks are fewer than the model needs"
