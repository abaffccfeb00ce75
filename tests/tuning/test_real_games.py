"""Ruined parameters of a real bot become better by real games. It takes about a quarter of an hour on two cores."""

from __future__ import annotations

import signal
import subprocess
import time
from pathlib import Path

import pytest

from tests.support.commands import command, environment, run
from vindibot.arena.report.summary import block_score, whole_blocks
from vindibot.arena.results import read_results
from vindibot.config.maps import standard_maps
from vindibot.statistics.differences import estimate_difference

RUINED = 'extends = "searcher"\n[traits.search.weights]\nkeep = 20\nlife = 150\nreach = 0.08\n'
TUNED = ("keep", "life", "life_curve", "reach", "tavern", "spawn")
FAST = ("--nodes", "150", "--rounds", "100", "--seed", "1")


def blocks_in(path: Path) -> int:
    return path.read_text().count('"intermediate_value":') if path.exists() else 0


@pytest.mark.slow
@pytest.mark.timeout(3600)
def test_ruined_parameters_become_better_by_real_games(tmp_path: Path) -> None:
    """The study is killed, and interrupted by Ctrl-C."""
    (tmp_path / "ruined.toml").write_text(RUINED)
    path = tmp_path / "ruined.study.jsonl"
    keys = [word for key in TUNED for word in ("--parameters", f"traits.search.weights.{key}")]
    words = ["tune", "play", "ruined.toml", *keys, "--games", "1440", *FAST]
    for goal, number, code in ((100, signal.SIGKILL, -signal.SIGKILL), (300, signal.SIGINT, 130)):
        process = subprocess.Popen(command(*words), cwd=tmp_path, env=environment())
        while blocks_in(path) < goal:
            assert process.poll() is None
            time.sleep(1)
        process.send_signal(number)
        assert process.wait(60) == code
        assert blocks_in(path) >= goal
        words = ["tune", "play", "--resume", path.name]
    assert run(tmp_path, *words, timeout=3000).returncode == 0
    assert blocks_in(path) == 720
    maps = [word for board in standard_maps()[20:] for word in ("--map", board.name)]
    match = ("arena", "--match", "ruined-tuned.toml", "ruined.toml", *maps, "--blocks", "40", *FAST)
    assert run(tmp_path, *match, "--results", "match.jsonl", "--no-report", timeout=1800).returncode == 0
    blocks = whole_blocks(read_results(tmp_path / "match.jsonl")).values()
    estimate = estimate_difference([block_score(block, "ruined-tuned") or 0.0 for block in blocks])
    assert estimate is not None
    assert estimate.low > 0
