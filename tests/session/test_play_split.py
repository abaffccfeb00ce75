"""Whole games of ``vindibot play`` with a split trait on two workers: no turn is late, also while workers are killed."""

from __future__ import annotations

import asyncio
from pathlib import Path

import psutil
import pytest

from tests.support.commands import begin, ended, family, line_with, recordings, run
from vindibot.engine.forkserver import WORKER
from vindibot.games.recording import Recording, read_recording

BOT = """\
extends = "strong"
[traits.rollout]
nodes = 1000000000000
"""
#: The loopback server waits this number of milliseconds for a move.
LIMIT = 100


def words(rounds: int, workers: int, display: str) -> list[str]:
    limits = ["--rounds", str(rounds), "--limit-ms", str(LIMIT), "--workers", str(workers)]
    return ["play", "--bot", "bot.toml", "--seed", "3", "--display", display, *limits]


def check_turns(folder: Path, rounds: int) -> Recording:
    """Check that the only recording has all turns, none late. Return it."""
    (path,) = recordings(folder)
    recording = read_recording(path)
    first = recording.turns[0].turn
    assert [turn.turn for turn in recording.turns] == list(range(first, first + 4 * rounds, 4)), "a turn was lost"
    late = [(turn.turn, turn.ballot.margin_ms) for turn in recording.turns if turn.ballot.margin_ms <= 0]
    assert not late, f"turns were late: {late}"
    assert recording.outcome is not None
    assert recording.outcome.reason == "finished"
    return recording


def nodes_of(recording: Recording) -> list[int]:
    """Return the nodes of the trait `rollout` on each turn."""
    entries = [entry for turn in recording.turns for entry in turn.ballot.entries if entry.label == "rollout"]
    return [entry.info.nodes or 0 for entry in entries if entry.info is not None]


@pytest.mark.slow
@pytest.mark.timeout(300)
def test_no_turn_of_a_long_game_is_late(tmp_path: Path) -> None:
    (tmp_path / "bot.toml").write_text(BOT)
    done = run(tmp_path, *words(300, 2, "none"), timeout=250)
    assert done.returncode == 0, done.stdout + done.stderr
    recording = check_turns(tmp_path, 300)
    assert len(nodes_of(recording)) == 300
    assert sum(nodes_of(recording)) > 300 * 10_000


async def test_a_worker_with_a_split_trait_is_killed_in_the_middle(tmp_path: Path) -> None:
    (tmp_path / "bot.toml").write_text(BOT)
    process = await begin(tmp_path, *words(60, 2, "lines"))
    await line_with(process, "round 5/60")
    for pause in (0.0, 0.7):
        await asyncio.sleep(pause)
        workers: list[psutil.Process] = family(process.pid)[WORKER]
        assert workers
        workers[0].kill()
    out = await ended(process)
    assert process.returncode == 0, out
    assert "worker replaced" in out
    check_turns(tmp_path, 60)
