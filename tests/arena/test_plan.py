"""`vindibot arena --plan`: what a match needs, from the results of earlier games."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from statistics import stdev

import numpy as np
import pytest

from tests.support.arenagames import SEATINGS, made_up
from tests.support.commands import invoke
from vindibot.arena.report.plan import to_halve
from vindibot.arena.report.summary import match_scores
from vindibot.arena.results import GameLine
from vindibot.statistics.sprt import expected_blocks


def old_games(blocks: int = 40) -> list[GameLine]:
    games = made_up(SEATINGS, {"a": 20.0, "b": 0.0}, blocks, np.random.default_rng(2))
    return [replace(game, format="ab", seconds=12.0) for game in games]


def write(path: Path, games: list[GameLine]) -> None:
    path.parent.mkdir(exist_ok=True)
    path.write_text("".join(f"{game.encode()}\n" for game in games))


def test_a_plan_from_the_results_of_the_same_bots(tmp_path: Path) -> None:
    write(tmp_path / "results" / "other.jsonl", [replace(game, format="all") for game in old_games()])
    write(tmp_path / "results" / "match.jsonl", old_games())
    code, run = invoke(tmp_path, "arena", "--match", "a", "b", "--workers", "4", "--plan", "20")
    assert code == 0, run
    assert "planned from 40 blocks of a against b in results/match.jsonl" in run
    assert "a block has 6 games of 30 rounds, 12.0 s each, 4 at once" in run
    blocks, _ = expected_blocks(stdev(match_scores(old_games(), "a")), 20.0)
    (row,) = (line.split() for line in run.splitlines() if line.split()[:1] == ["+20"])
    assert row[:4] == ["+20", "95%", f"{blocks:.0f}", f"{6 * blocks:.0f}"]
    assert sorted(path.name for path in tmp_path.rglob("*.jsonl")) == ["match.jsonl", "other.jsonl"], "nothing is played"
    assert run.count("±") == 3


@pytest.mark.parametrize(("plan", "points"), [((), 20), (("40",), 40)])
def test_a_plan_from_named_results(tmp_path: Path, plan: tuple[str, ...], points: int) -> None:
    write(tmp_path / "old.jsonl", old_games())
    code, run = invoke(tmp_path, "arena", "--results", "old.jsonl", "--plan", *plan)
    assert code == 0, run
    assert f"sequential test of +{points} points rather than +0" in run


@pytest.mark.parametrize(
    ("games", "words", "message"),
    [
        (None, ("--match", "a", "b", "--plan", "20"), "play some blocks first (vindibot arena --match a b --blocks 10)"),
        (3, ("--results", "old.jsonl", "--plan"), "--plan needs at least 5 whole blocks; it has 3"),
        (40, ("--results", "old.jsonl", "--plan", "0"), "--plan needs a difference of more than 0 points"),
    ],
)
def test_what_cannot_be_planned(games: int | None, words: tuple[str, ...], message: str, tmp_path: Path) -> None:
    if games is not None:
        write(tmp_path / "old.jsonl", old_games(games))
    code, run = invoke(tmp_path, "arena", *words)
    assert code == 2, run
    assert message in " ".join(run.split())


def test_three_times_as_many_blocks_halve_the_intervals() -> None:
    assert to_halve(old_games(10), 2) == "30 more blocks, about 18 min on this machine"
    assert to_halve([]) == ""
