"""The match of two: scores, the sequential test and its error rates, the estimate of the difference."""

from __future__ import annotations

import math

import numpy as np
import pytest

from tests.support.arenagames import SEATINGS, game_line, made_up, wrong_verdicts
from vindibot.arena.report.summary import distinct_share, game_score, run_sprt, whole_blocks
from vindibot.arena.results import GameLine
from vindibot.arena.settings import SprtSettings
from vindibot.statistics.differences import estimate_difference
from vindibot.statistics.hypotheses import Hypotheses
from vindibot.statistics.sprt import SequentialTest


def block(number: int, golds: tuple[int, int, int, int], *, played: str | None = None) -> list[GameLine]:
    """Return the six games of a block, all with this gold in seats 1 to 4."""
    more = {} if played is None else {"played": played}
    return [game_line(bots, golds, block=number, game=game, games=6, **more) for game, bots in enumerate(SEATINGS)]


def test_the_score_of_a_game_is_the_share_of_pairs() -> None:
    assert game_score(game_line("aabb", (9, 0, 5, 0)), "a") == (1 + 1 + 0 + 0.5) / 4
    assert game_score(game_line("abcd", (4, 3, 4, 9)), "a") == 1.5 / 3
    assert game_score(game_line("aaaa", (4, 3, 4, 9)), "a") is None
    assert game_score(game_line("bbbb", (4, 3, 4, 9)), "a") is None


def test_a_block_counts_when_it_is_whole() -> None:
    games = [*block(1, (9, 7, 5, 3)), *block(0, (9, 7, 5, 3))[1:]]
    assert list(whole_blocks(games)) == [1]
    assert [line.game for line in whole_blocks(games[::-1])[1]] == list(range(6))
    assert run_sprt(games, "a").blocks == 0  # the first is not whole: what comes later waits


def test_the_order_in_which_games_end_changes_nothing() -> None:
    rng = np.random.default_rng(1)
    games = made_up(SEATINGS, {"a": 60.0, "b": 0.0}, 150, rng)
    shuffled = [games[index] for index in rng.permutation(len(games))]
    state = run_sprt(games, "a")
    assert state == run_sprt(shuffled, "a")
    assert state.verdict == "H1"
    assert state.blocks < 150
    assert run_sprt(games, "b").verdict == "H0"


def test_a_verdict_is_final() -> None:
    test = SequentialTest()
    while (state := test.add(0.7 + test.state().blocks % 2 / 10)).verdict == "running":
        assert state.lower < state.llr < state.upper or state.blocks < Hypotheses().fewest
    assert state.verdict == "H1"
    assert [test.add(0.0).verdict for _ in range(100)] == ["H1"] * 100


def test_the_likelihood_of_superiority_follows_from_the_block_scores() -> None:
    test = SequentialTest()
    found = [test.add(score).los for score in (0.5, 0.6, 0.4, 0.7, 0.3, 0.8)]
    assert found[:4] == [None] * 4
    assert found[4] == pytest.approx(0.5)
    scores = np.array([0.5, 0.6, 0.4, 0.7, 0.3, 0.8])
    errors = (scores.mean() - 0.5) / (scores.std(ddof=1) / math.sqrt(6))
    assert found[5] == pytest.approx((1 + math.erf(errors / math.sqrt(2))) / 2, abs=0.01)
    assert all(0 < (one or 0.5) < 1 for one in (test.add(1.0).los for _ in range(500)))


def test_no_verdict_from_a_few_blocks_and_from_repeated_games() -> None:
    test = SequentialTest(Hypotheses(fewest=30))
    assert [test.add(1.0).verdict for _ in range(30)] == ["running"] * 29 + ["H1"]
    same = [line for number in range(60) for line in block(number, (9, 9, 9, 0), played="0")]
    assert distinct_share(same) == 1 / 360
    assert run_sprt(same, "a").verdict == "repeated"
    # Deterministic A against deterministic A: every block is one game, six times over.
    sixfold = [line for number in range(60) for line in block(number, (9, 7, 5, 3), played=str(number))]
    state = run_sprt(sixfold, "a")
    assert state.verdict == "repeated"
    assert run_sprt(sixfold, "a", SprtSettings(distinct=0.1)).verdict in ("H0", "running")


def test_the_size_of_a_difference() -> None:
    scores = [0.7, 0.6, 0.65, 0.7, 0.6] * 20
    found = estimate_difference(scores)
    assert found is not None
    assert found.score == pytest.approx(0.65, abs=1e-4)
    assert found.score_low < 0.65 < found.score_high
    assert found.elo == pytest.approx(400 * math.log10(0.65 / 0.35), abs=0.1)
    assert found.low < found.elo < found.high
    assert found == estimate_difference(scores)
    assert estimate_difference(scores[:4]) is None


# ---- Rates of error ----


def bounds_of_count(matches: int, rate: float, errors: float = 3.1) -> tuple[float, float]:
    """Return bounds outside of which a binomial count lies with a probability of 1/1000."""
    spread = errors * math.sqrt(matches * rate * (1 - rate))
    return matches * rate - spread, matches * rate + spread


@pytest.mark.parametrize("true", [0.0, 20.0])
def test_rates_of_error(true: float) -> None:
    low, high = bounds_of_count(500, 0.05)
    assert low <= wrong_verdicts(Hypotheses(), true, 500, 0.4, seed=11) <= high


@pytest.mark.slow_long
@pytest.mark.parametrize("spread", [0.2, 0.4, 1.0])
@pytest.mark.parametrize(("elo0", "elo1", "which"), [(0, 20, 0), (0, 20, 1), (-10, 10, 0), (-10, 10, 1), (0, 10, 0), (0, 10, 1)])
def test_rates_of_error_in_two_thousand_matches(elo0: float, elo1: float, which: int, spread: float) -> None:
    bounds = Hypotheses(elo0=elo0, elo1=elo1)
    low, high = bounds_of_count(2000, 0.05)
    assert low <= wrong_verdicts(bounds, (elo0, elo1)[which], 2000, spread, seed=12) <= high
