"""Whole games of ``vindibot play`` with a split trait on two workers: no turn is late, also while workers are killed."""

from __future__ import annotations

import asyncio
from pathlib import Path

import psutil
import pytest

from tests.support.commands import begin, ended, family, line_with, recordings, run
from vindibot.engine.worker import WORKER
from vindibot.games.files.recording import Recording, read_recording

BOT = """\
extends = "strong"
[traits.rollout]
nodes = 1000000000000
"""
#: Number of games of which one must have no late turn. Other programs on a busy machine may take the processor for 50 ms.
TRIES = 3


def words(rounds: int, limit_ms: int, display: str) -> list[str]:
    limits = ["--rounds", str(rounds), "--limit-ms", str(limit_ms), "--workers", "2"]
    return ["play", "--bot", "bot.toml", "--seed", "3", "--display", display, *limits]


def check_turns(folder: Path, rounds: int) -> tuple[Recording, list[tuple[int, float]]]:
    """Check that the newest recording has all turns. Return it, and the late turns with their margins in milliseconds."""
    recording = read_recording(recordings(folder)[-1])
    first = recording.turns[0].turn
    late = [(turn.turn, turn.ballot.margin_ms) for turn in recording.turns if turn.ballot.margin_ms <= 0]
    if not late:
        turns = [turn.turn for turn in recording.turns]
        assert turns == list(range(first, first + 4 * rounds, 4)), "a turn was lost"
        assert recording.outcome is not None
        assert recording.outcome.reason == "finished"
    return recording, late


def nodes_of(recording: Recording) -> list[int]:
    """Return the nodes of the trait `rollout` on each turn."""
    entries = [entry for turn in recording.turns for entry in turn.ballot.entries if entry.label == "rollout"]
    return [entry.info.nodes or 0 for entry in entries if entry.info is not None]


@pytest.mark.slow_long
@pytest.mark.timeout(800)
def test_no_turn_of_a_long_game_is_late(tmp_path: Path) -> None:
    (tmp_path / "bot.toml").write_text(BOT)
    all_late = []
    for _ in range(TRIES):
        done = run(tmp_path, *words(300, 100, "none"), timeout=250, VINDIBOT_POOL__GRACE_MS="1000")
        assert done.returncode == 0, done.stdout + done.stderr
        recording, late = check_turns(tmp_path, 300)
        if not late:
            assert sum(nodes_of(recording)) > 300 * 10_000
            return
        all_late.append(late)
    pytest.fail(f"in every game turns were late (turn, margin in milliseconds): {all_late}")


@pytest.mark.slow_long
async def test_a_worker_with_a_split_trait_is_killed_in_the_middle(tmp_path: Path) -> None:
    (tmp_path / "bot.toml").write_text(BOT)
    process = await begin(tmp_path, *words(60, 400, "lines"), VINDIBOT_POOL__GRACE_MS="1000")
    await line_with(process, "round 5/60")
    for pause in (0.0, 0.7):
        await asyncio.sleep(pause)
        workers: list[psutil.Process] = family(process.pid)[WORKER]
        assert workers
        workers[0].kill()
    out = await ended(process)
    assert process.returncode == 0, out
    assert "worker replaced" in out
    assert check_turns(tmp_path, 60)[1] == []
