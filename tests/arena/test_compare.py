"""The intervals of the document on strength: computed a second way, by SciPy's own tests."""

import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from scipy import stats

from tests.support import compare
from tests.support.arenagames import made_up, rotations
from vindibot.arena.results import GameLine
from vindibot.games.outcome import Reason
from vindibot.statistics.means import mean_interval

BOTS = ("strong", "a", "b", "c")


def tournament(strength: float, seed: int) -> list[GameLine]:
    ratings = {"strong": strength, "a": 0.0, "b": 50.0, "c": -50.0}
    return made_up(rotations(BOTS), ratings, 12, np.random.default_rng(seed))


def won_by_block(games: list[GameLine]) -> list[float]:
    return [np.mean([game.winner == "strong" for game in games if game.block == block]) for block in range(12)]


def stored(path: Path, games: list[GameLine]) -> str:
    path.write_text("".join(game.encode() + "\n" for game in games))
    return str(path)


def test_the_printed_difference_is_that_of_a_paired_test(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    old, new = tournament(0, 1), tournament(300, 2)
    assert compare.main(["strong", stored(tmp_path / "n", new), "--base", stored(tmp_path / "o", old)]) == 0
    expected = stats.ttest_rel(won_by_block(new), won_by_block(old)).confidence_interval(0.95)
    difference = np.mean(won_by_block(new)) - np.mean(won_by_block(old))
    table = capsys.readouterr().out.partition("differences to the base\n")[2]
    assert f"won {difference:+13.3f} ({expected.low:+.3f} .. {expected.high:+.3f})" in table
    mean, low, high = mean_interval(compare.by_block(compare.games_of([new], "strong"))[:, 0])
    alone = stats.ttest_1samp(won_by_block(new), 0).confidence_interval(0.95)
    assert (mean, low, high) == pytest.approx((np.mean(won_by_block(new)), alone.low, alone.high))


def test_the_points_are_near_the_true_difference() -> None:
    inside = 0
    for seed in range(20):
        base, games = (compare.games_of([tournament(strength, seed)], "strong") for strength in (0.0, 200.0))
        whole, low, high = compare.points(base, games)
        assert low < whole < high
        inside += low < 200 < high
    assert inside >= 15


def test_no_share_leaves_its_range_and_no_interval_has_the_width_0(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    strong, weak = tournament(1200, 1), tournament(-3000, 2)
    won = next(game for game in strong if game.winner == "strong")
    always = [replace(won, block=block) for block in range(12)]
    for games in (strong, weak, always):
        assert compare.main(["strong", stored(tmp_path / "games", games), "--base", stored(tmp_path / "base", games[::-1])]) == 0
        head, _, differences = capsys.readouterr().out.partition("differences to the base\n")
        for name in compare.SHARES:
            (low, high) = re.findall(rf"^{name} .*\((\S+) \.\. (\S+)\)", head, re.MULTILINE)[0]
            assert 0 <= float(low) < float(high) <= 1, head
        assert "inf" not in differences


def test_games_that_could_not_be_played_are_left_out() -> None:
    games = tournament(150, 1)
    lost = [replace(games[0], ending=Reason.ABORTED), *games[1:]]
    assert len(compare.games_of([lost], "strong")) == len(games) - 1
    tie = replace(games[0], seats=tuple(replace(seat, gold=10) for seat in games[0].seats))
    assert compare.figures(tie, "strong")[:2].tolist() == [0, 0.5], "a tie for the most gold is no win"
