"""Programs with processes of their own that are killed: none of their processes is left, and what was finished is there."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import psutil
import pytest

from tests.support.commands import command, environment
from tests.support.paths import DATA
from vindibot.arena.results import read_results
from vindibot.games.review import is_review_line, read_review

CHECK = """
import sys, time
from pathlib import Path
from behaviours import Behaviour
from vindibot.testing import check_trait

class Hangs(Behaviour):
    mark: str

    def vote(self, view):
        Path(self.mark).touch()
        time.sleep(3600)

if __name__ == "__main__":
    check_trait(Hangs(mark=sys.argv[1]), seconds=600.0)
"""


#: Short games, which are played two at a time.
SHORT = ("--rounds", "10", "--nodes", "500", "--workers", "2")


def has(path: Path, word: bytes = b"") -> bool:
    return path.is_file() and word in path.read_bytes()


def review(folder: Path) -> tuple[list[str], Callable[[], bool]]:
    lines = [line for line in (DATA / "reviewed.review.jsonl").read_bytes().splitlines() if not is_review_line(line)]
    (folder / "game.jsonl").write_bytes(b"\n".join([*lines, b""]))
    words = command("review", "game.jsonl", "--nodes", "300000")
    return words, lambda: has(folder / "game.review.jsonl", b'{"reviewed"')


def arena(folder: Path) -> tuple[list[str], Callable[[], bool]]:
    words = command("arena", "searcher", "seed", "malvert", "stay", *SHORT, "--blocks", "9999", "--results", "r.jsonl")
    return words, lambda: has(folder / "r.jsonl", b"\n")


def tune(folder: Path) -> tuple[list[str], Callable[[], bool]]:
    words = command("tune", "play", "searcher", *SHORT, "--games", "9999", "--study", "s.jsonl")
    return words, lambda: has(folder / "s.jsonl", b'{"block"')


def check(folder: Path) -> tuple[list[str], Callable[[], bool]]:
    (folder / "check.py").write_text(CHECK)
    return [sys.executable, "check.py", str(folder / "mark")], lambda: has(folder / "mark")


def is_left(one: psutil.Process) -> bool:
    try:
        return one.is_running() and bool(one.status() != psutil.STATUS_ZOMBIE)
    except psutil.NoSuchProcess:
        return False


def left(processes: list[psutil.Process], seconds: float) -> list[str]:
    """Return the processes that still run. Wait at most this number of seconds for their end."""
    end = time.monotonic() + seconds
    while time.monotonic() < end and any(map(is_left, processes)):
        time.sleep(0.02)
    return [" ".join(one.cmdline())[-80:] for one in processes if is_left(one)]


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
@pytest.mark.parametrize(
    "program",
    [
        review,
        pytest.param(arena, marks=pytest.mark.slow),
        pytest.param(tune, marks=pytest.mark.slow),
        pytest.param(check, marks=pytest.mark.slow),
    ],
)
def test_no_process_is_left(
    tmp_path: Path, program: Callable[[Path], tuple[list[str], Callable[[], bool]]], number: signal.Signals
) -> None:
    words, is_busy = program(tmp_path)
    process = subprocess.Popen(
        words, cwd=tmp_path, env=environment(), stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    )
    others: list[psutil.Process] = []
    try:
        while not is_busy():
            assert process.poll() is None, process.communicate()[0]
            time.sleep(0.01)
        others = psutil.Process(process.pid).children(recursive=True)
        assert others
        process.send_signal(number)
        if program in (arena, tune):
            process.send_signal(number)  # the first SIGTERM waits for the running games
        process.wait(timeout=60)
        assert not left(others, 20.0)
    finally:
        for one in [process, *others]:
            if one.is_running() if isinstance(one, psutil.Process) else one.poll() is None:
                one.kill()
        process.communicate()
    if program is review:
        found = read_review(tmp_path / "game.review.jsonl")
        assert found is not None
        assert found.turns
    if program is arena:
        assert read_results(tmp_path / "r.jsonl")
