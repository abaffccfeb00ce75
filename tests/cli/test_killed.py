"""Programs with processes of their own that are killed: none of their processes is left, and what was finished is there."""

from __future__ import annotations

import contextlib
import re
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
from vindibot.config.files import shipped
from vindibot.engine import forkserver, jobs
from vindibot.games.files.review import is_review_line, read_review

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


#: A trait that never answers its first question. Its file `mark` says that it was asked.
ONCE = """
import time
from pathlib import Path
from behaviours import Behaviour

class Once(Behaviour):
    mark: str

    def vote(self, view):
        if not Path(self.mark).exists():
            Path(self.mark).touch()
            time.sleep(3600)
        return 1
"""
CHECK_ONCE = """
import sys
from once import Once
from vindibot.testing import check_trait

if __name__ == "__main__":
    check_trait(Once(mark=sys.argv[1]), seconds=600.0)
"""
SAMPLE = str(shipped("project/recordings/sample.jsonl"))

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
    return words, lambda: has(folder / "s.jsonl", b'"intermediate_value":')


def check(folder: Path) -> tuple[list[str], Callable[[], bool]]:
    (folder / "check.py").write_text(CHECK)
    return [sys.executable, "check.py", str(folder / "mark")], lambda: has(folder / "mark")


def once(folder: Path) -> Callable[[], bool]:
    (folder / "once.py").write_text(ONCE)
    (folder / "once.toml").write_text(f'[traits.once]\nuse = "once:Once"\nmark = "{folder / "mark"}"\n')
    (folder / "check.py").write_text(CHECK_ONCE)
    return lambda: has(folder / "mark")


def turn(folder: Path) -> tuple[list[str], Callable[[], bool]]:
    return command("turn", SAMPLE, "--turn", "0", "--bot", "once.toml", "--limit-ms", "600000"), once(folder)


def bench(folder: Path) -> tuple[list[str], Callable[[], bool]]:
    return command("bench", "once.toml", SAMPLE, "--turns", "3", "--nodes", "10"), once(folder)


def check_once(folder: Path) -> tuple[list[str], Callable[[], bool]]:
    return [sys.executable, "check.py", str(folder / "mark")], once(folder)


def doctor(folder: Path) -> tuple[list[str], Callable[[], bool]]:
    return command("doctor", "once.toml", "--limit-ms", "20000"), once(folder)


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


def started(words: list[str], folder: Path) -> subprocess.Popen[str]:
    """Start a program in a folder. Its output is one stream."""
    return subprocess.Popen(words, cwd=folder, env=environment(), stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)


def children_when(is_busy: Callable[[], bool], process: subprocess.Popen[str]) -> list[psutil.Process]:
    """Wait until a program is busy, and return its descendants."""
    while not is_busy():
        assert process.poll() is None, process.communicate()[0]
        time.sleep(0.01)
    return psutil.Process(process.pid).children(recursive=True)


@pytest.mark.slow_faults
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
@pytest.mark.parametrize(
    "program",
    [
        review,
        arena,
        tune,
        check,
        turn,
        bench,
        doctor,
    ],
)
def test_no_process_is_left(
    tmp_path: Path, program: Callable[[Path], tuple[list[str], Callable[[], bool]]], number: signal.Signals
) -> None:
    words, is_busy = program(tmp_path)
    process = started(words, tmp_path)
    others: list[psutil.Process] = []
    try:
        others = children_when(is_busy, process)
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


def called(processes: list[psutil.Process], name: str) -> list[psutil.Process]:
    found = []
    for one in processes:
        with contextlib.suppress(psutil.NoSuchProcess):
            if one.name() == name:
                found.append(one)
    return found


@pytest.mark.slow_faults
@pytest.mark.parametrize("server", [None, forkserver.NAME])
@pytest.mark.parametrize(
    ("program", "child"),
    [
        (turn, "vindibot-worker"),
        (bench, "vindibot-worker"),
        (check_once, "vindibot-worker"),
        (review, jobs.NAME),
    ],
)
def test_a_child_that_is_killed_is_replaced(
    tmp_path: Path,
    program: Callable[[Path], tuple[list[str], Callable[[], bool]]],
    child: str,
    server: str | None,
) -> None:
    """Although its fork server is killed before. The program does all its work."""
    words, is_busy = program(tmp_path)
    if program is review:
        lines = (tmp_path / "game.jsonl").read_bytes().splitlines()
        (tmp_path / "game.jsonl").write_bytes(b"\n".join([lines[0], *lines[-11:], b""]))
    process = started(words, tmp_path)
    others: list[psutil.Process] = []
    try:
        others = children_when(is_busy, process)
        for one in called(others, server) if server else []:
            one.kill()
        max(called(others, child), key=lambda one: sum(one.cpu_times()[:2])).kill()
        told = process.communicate(timeout=100)[0]
        assert process.returncode == 0, told
        assert not left(others, 20.0)
    finally:
        for one in [process, *others]:
            if one.is_running() if isinstance(one, psutil.Process) else one.poll() is None:
                one.kill()
        process.communicate()
    if program is turn:
        assert re.search(r"^once +now ", told, re.MULTILINE), told
    if program is review:
        found = read_review(tmp_path / "game.review.jsonl")
        assert found is not None
        assert len(found.turns) == 10


@pytest.mark.slow_faults
@pytest.mark.parametrize(
    "program",
    [
        turn,
        bench,
        check_once,
        review,
        doctor,
    ],
)
def test_a_poor_system_is_enough(tmp_path: Path, program: Callable[[Path], tuple[list[str], Callable[[], bool]]]) -> None:
    """64 file descriptors, and an ignored signal for the end of a child."""
    words, _ = program(tmp_path)
    (tmp_path / "mark").touch()
    if program is review:
        words[-1] = "3000"  # nodes
    poor = ["bash", "-c", "ulimit -n 64; trap '' CHLD; exec \"$@\"", "poor", *words]
    done = subprocess.run(poor, cwd=tmp_path, env=environment(), capture_output=True, text=True, timeout=200, check=False)
    assert (done.returncode, done.stderr) == (0, ""), done.stdout
