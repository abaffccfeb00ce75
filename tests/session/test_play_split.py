"""Whole games of ``vindibot play`` with a split trait on two workers: no turn is late, also while workers are killed."""

from __future__ import annotations

import asyncio
from pathlib import Path

import psutil
import pytest

from tests.support.commands import begin, ended, family, line_with, recorded
from vindibot.engine.worker import WORKER

BOT = """\
extends = "strong"
[traits.rollout]
nodes = 1000000000000
"""


@pytest.mark.slow_long
async def test_a_worker_with_a_split_trait_is_killed_in_the_middle(tmp_path: Path) -> None:
    (tmp_path / "bot.toml").write_text(BOT)
    words = ("--bot", "bot.toml", "--seed", "3", "--display", "lines", "--rounds", "60", "--limit-ms", "400", "--workers", "2")
    process = await begin(tmp_path, "play", *words, VINDIBOT_POOL__GRACE_MS="1000")
    await line_with(process, "round 5/60")
    for pause in (0.0, 0.7):
        await asyncio.sleep(pause)
        workers: list[psutil.Process] = family(process.pid)[WORKER]
        assert workers
        workers[0].kill()
    out = await ended(process)
    assert process.returncode == 0, out
    assert "worker replaced" in out
    recording = recorded(tmp_path)
    assert [turn.turn for turn in recording.turns] == list(range(0, 240, 4)), "a turn was lost"
    assert all(turn.ballot.margin_ms > 0 for turn in recording.turns), "a turn was late"
    assert recording.outcome.reason == "finished"
