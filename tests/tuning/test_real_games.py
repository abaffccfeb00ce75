"""Ruined parameters of a real bot come back by real games. It takes about half an hour on two cores."""

from __future__ import annotations

import json
import signal
import subprocess
import time
from pathlib import Path

import pytest

from tests.support.commands import command, environment, run
from vindibot.arena.results import read_results
from vindibot.arena.scores import block_score, whole_blocks
from vindibot.config.maps import standard_maps
from vindibot.statistics.differences import estimate_difference

RUINED = (
    'extends = "searcher"\n[traits.search.weights]\ndanger = 0.7\nprey = 0.3\ntavern = 0.9\nkeep = 20\nlife = 150\nreach = 0.08\n'
)
FAST = ("--nodes", "150", "--rounds", "100", "--seed", "1")


def points_behind(folder: Path, bot: str) -> float:
    """Return the points by which a bot is weaker than `searcher`, on maps that the study has not used."""
    maps = [word for found in standard_maps()[20:] for word in ("--map", found.name)]
    words = ("arena", "--match", bot, "searcher", *maps, "--blocks", "40", *FAST, "--results", f"{bot}.jsonl", "--no-report")
    assert run(folder, *words, timeout=1800).returncode == 0
    lines = read_results(folder / f"{bot}.jsonl")
    label = lines[0].bots[0] if lines[0].bots[0] != "searcher" else next(one for one in lines[0].bots if one != "searcher")
    found = estimate_difference([block_score(block, label) or 0.0 for block in whole_blocks(lines).values()])
    assert found is not None
    return -found.elo


def blocks_in(path: Path) -> int:
    return path.read_text().count('{"block"') if path.exists() else 0


@pytest.mark.slow_long
@pytest.mark.timeout(7200)
def test_ruined_parameters_come_back_by_real_games(tmp_path: Path) -> None:
    (tmp_path / "ruined.toml").write_text(RUINED)
    path = tmp_path / "ruined.study.jsonl"
    words = ["ruined.toml", "--parameters", "traits.search.*", "--exclude", "*.nodes", "--exclude", "*.weight", "--games", "5000"]
    begun = ["tune", "play", *words, *FAST]
    for goal in (300, 1200):
        process = subprocess.Popen(command(*begun), cwd=tmp_path, env=environment())
        while blocks_in(path) < goal:
            assert process.poll() is None
            time.sleep(1)
        process.send_signal(signal.SIGKILL)
        process.wait()
        begun = ["tune", "play", "--resume", path.name]
    assert run(tmp_path, *begun, timeout=5400).returncode == 0
    before, after = points_behind(tmp_path, "ruined.toml"), points_behind(tmp_path, "ruined-tuned.toml")
    assert before > 100
    assert after < 0.2 * before
    assert json.loads(path.read_text().splitlines()[0])["setup"]["settings"]["games"] == 5000
