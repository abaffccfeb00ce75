"""Traits that make mistakes of all kinds: in an arena no other bot notices them, and a game of ours goes on too.

Each test starts the whole program. At its end, no process is left.
"""

from __future__ import annotations

import os
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from uuid import uuid4

import psutil
import pytest

from tests.support.commands import command, environment, recorded, run as run_command
from tests.support.paths import BOTS
from tests.support.waiting import wait_until
from vindibot.arena.results import read_results
from vindibot.arena.seats.bots import NAME
from vindibot.engine import jobs

pytestmark = [pytest.mark.slow_faults, pytest.mark.timeout(300)]

#: The variable by which the processes of a test are found.
MARKER = "TESTS_MISTAKES"
#: Each mistake, how a bot ends in an arena whose only trait makes it on each turn, and the status of the trait in a game of ours.
MISTAKES = {
    "raise": ("crash", "error"),
    "nan": ("finished", "void"),
    "hang": ("timeout", "late"),
    "hang in compiled code": ("timeout", "late"),
    "hang without signals": ("timeout", "late"),
    "exit": ("crash", "killed"),
    "leave": ("crash", "error"),
    "crash": ("crash", "killed"),
    "memory": ("memory", ""),
    "recursion": ("crash", "error"),
    "print": ("finished", "ok"),
    "child": ("finished", "ok"),
    "child in a session of its own": ("finished", "ok"),
    "thread": ("finished", "ok"),
    "signals": ("finished", "ok"),
    "folder": ("finished", "ok"),
    "random": ("finished", "ok"),
}
GOOD = """
from behaviours import Behaviour

class Good(Behaviour):
    def vote(self, view):
        return dict.fromkeys(view.moves, 1.0)
"""
Run = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture
def word() -> str:
    """Return a word that marks the processes of a test."""
    return uuid4().hex


@pytest.fixture
def run(tmp_path: Path, word: str) -> Iterator[Run]:
    """Yield a function that runs vindibot in `tmp_path`. At the end, none of its processes may be left."""

    def run(*words: str) -> subprocess.CompletedProcess[str]:
        done = run_command(tmp_path, *words, timeout=200, **{MARKER: word})
        assert "Traceback" not in done.stdout + done.stderr, done.stdout + done.stderr
        return done

    yield run
    _, left = psutil.wait_procs(processes_of(word), timeout=5)
    for process in left:
        process.kill()
    assert not left, "processes are left"


def processes_of(word: str, name: str = "") -> list[psutil.Process]:
    """Return the processes of a test, or those with a name."""
    found = []
    for process in psutil.process_iter():
        with suppress(psutil.Error):
            if process.pid != os.getpid() and process.environ().get(MARKER) == word and process.status() != psutil.STATUS_ZOMBIE:
                found += [process] if name in ("", process.name()) else []
    return found


def write_bot(folder: Path, mistake: str, before: str = "") -> None:
    """Write a bot bad.toml whose trait makes a mistake on each turn."""
    (folder / "mistakes.py").write_text((BOTS / "mistakes.py").read_text())
    (folder / "bad.toml").write_text(f'{before}[traits.bad]\nuse = "mistakes:Mistaken"\nmistake = "{mistake}"\n')


@pytest.mark.parametrize(("mistake", "reason"), [(mistake, reason) for mistake, (reason, _) in MISTAKES.items()])
def test_in_an_arena_only_the_bot_with_the_mistake_forfeits(tmp_path: Path, run: Run, mistake: str, reason: str) -> None:
    for bot in ("bad", "good"):
        (tmp_path / bot).mkdir()
    write_bot(tmp_path / "bad", mistake)
    (tmp_path / "good" / "goodtrait.py").write_text(GOOD)
    (tmp_path / "good" / "good.toml").write_text('[traits.good]\nuse = "goodtrait:Good"\n')
    # Generous limits: a busy machine must not look like a forfeit.
    entrant = f'[entrants.bad]\nbot = "bad/bad.toml"\nmove_ms = {500 if reason == "timeout" else 30_000}\nmemory_mb = 500\n'
    (tmp_path / "cup.toml").write_text(f"max_forfeits = 1.0\n{entrant}[limits]\nmove_ms = 30000\n")
    words = ["--map", "m1", "--rounds", "6", "--seed", "3", "--blocks", "1", "--workers", "2", "--config", "cup.toml"]
    done = run("arena", "bad", "good/good.toml", "malvert", "seed", *words, "--results", "cup.jsonl")
    assert done.returncode == 0, done.stdout + done.stderr
    lines = read_results(tmp_path / "cup.jsonl")
    assert len(lines) == 4
    ends = {(seat.bot, seat.outcome.reason, seat.moves == 6 or seat.bot == "bad") for line in lines for seat in line.seats}
    assert ends == {("bad", reason, True), *((bot, "finished", True) for bot in ("good", "malvert", "seed"))}


@pytest.mark.parametrize(("mistake", "status"), [(mistake, status) for mistake, (_, status) in MISTAKES.items() if status])
def test_in_a_game_of_ours_the_other_traits_play(tmp_path: Path, run: Run, mistake: str, status: str) -> None:
    write_bot(tmp_path, mistake, 'extends = "seed"\n')
    done = run("play", "--bot", "bad.toml", "--rounds", "12", "--display", "none", "--seed", "1", "--workers", "2")
    assert done.returncode == 0, done.stdout + done.stderr
    recording = recorded(tmp_path)
    assert recording.outcome is not None
    assert recording.outcome.finished, recording.outcome
    assert len(recording.turns) == 12
    assert all(turn.ballot.margin_ms > 0 for turn in recording.turns), "a move was late"
    entries = [entry for turn in recording.turns for entry in turn.ballot.entries]
    guilty, innocent = ({entry.status for entry in entries if (entry.label == "bad") == bad} for bad in (True, False))
    assert status in guilty <= {status, "benched"}
    assert innocent <= {"ok", "late"}, "another trait is charged"  # on a busy machine, a new worker may be late


def test_nothing_is_left_of_a_killed_game_or_a_killed_arena(tmp_path: Path, word: str) -> None:
    """Although a trait hangs in compiled code, and ignores all signals."""
    write_bot(tmp_path, "hang without signals")
    words = command("arena", "bad.toml", "seed", "malvert", "stay", "--workers", "1", "--move-ms", "600000", "--map", "m1")
    variables, nothing = environment(**{MARKER: word}), subprocess.DEVNULL
    arena = subprocess.Popen(words, cwd=tmp_path, env=variables, stdout=nothing, stderr=nothing)
    try:
        game, seat = wait_until(lambda: processes_of(word, jobs.NAME))[0], wait_until(lambda: processes_of(word, NAME))[0]
        while seat.cpu_times().user + seat.cpu_times().system < 0.01 or seat.status() != psutil.STATUS_SLEEPING:
            time.sleep(0.01)
        game.kill()
        assert not psutil.wait_procs([game, seat], timeout=5)[1]
        wait_until(lambda: processes_of(word, NAME))  # the game is played again
        arena.kill()
        assert not psutil.wait_procs(processes_of(word), timeout=5)[1]
    finally:
        for process in processes_of(word):
            process.kill()
        arena.wait()
