"""Programs with processes of their own that are killed: none of their processes is left, and what was finished is there."""

from __future__ import annotations

import contextlib
import re
import signal
import subprocess
import sys
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

import psutil
import pytest

from tests.support.commands import command, environment
from tests.support.paths import DATA
from tests.support.waiting import is_alive, wait_until
from vindibot.arena.results import read_results
from vindibot.config.files import shipped
from vindibot.engine import forkserver, jobs
from vindibot.engine.worker import WORKER
from vindibot.games.files.review import is_review_line, read_review

#: The words of a command, and a function that says whether it is busy.
Busy = tuple[list[str], Callable[[], bool]]
Program = Callable[[Path], Busy]

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
CHECK = """
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


def review(folder: Path) -> Busy:
    lines = [line for line in (DATA / "reviewed.review.jsonl").read_bytes().splitlines() if not is_review_line(line)]
    (folder / "game.jsonl").write_bytes(b"\n".join([*lines, b""]))
    words = command("review", "game.jsonl", "--nodes", "300000")
    return words, lambda: has(folder / "game.review.jsonl", b'{"reviewed"')


def arena(folder: Path) -> Busy:
    words = command("arena", "searcher", "seed", "malvert", "stay", *SHORT, "--blocks", "9999", "--results", "r.jsonl")
    return words, lambda: has(folder / "r.jsonl", b"\n")


def tune(folder: Path) -> Busy:
    words = command("tune", "play", "searcher", *SHORT, "--games", "9999", "--study", "s.jsonl")
    return words, lambda: has(folder / "s.jsonl", b'"intermediate_value":')


def once(folder: Path) -> Callable[[], bool]:
    (folder / "once.py").write_text(ONCE)
    (folder / "once.toml").write_text(f'[traits.once]\nuse = "once:Once"\nmark = "{folder / "mark"}"\n')
    (folder / "check.py").write_text(CHECK)
    return lambda: has(folder / "mark")


def turn(folder: Path) -> Busy:
    return command("turn", SAMPLE, "--turn", "0", "--bot", "once.toml", "--limit-ms", "600000"), once(folder)


def bench(folder: Path) -> Busy:
    return command("bench", "once.toml", SAMPLE, "--turns", "3", "--nodes", "10"), once(folder)


def check(folder: Path) -> Busy:
    return [sys.executable, "check.py", str(folder / "mark")], once(folder)


def doctor(folder: Path) -> Busy:
    return command("doctor", "once.toml", "--limit-ms", "20000"), once(folder)


def wait_for_end(processes: Iterable[psutil.Process]) -> None:
    """Check that these processes end within 20 s."""
    wait_until(lambda: not any(is_alive(process.pid) for process in processes), 20.0)


@contextlib.contextmanager
def running(
    words: list[str], is_busy: Callable[[], object], folder: Path
) -> Iterator[tuple[subprocess.Popen[str], list[psutil.Process]]]:
    """Start a program, and yield it with its descendants as soon as it is busy. At the end, none of them runs."""
    process = subprocess.Popen(words, cwd=folder, env=environment(), stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    others: list[psutil.Process] = []
    try:
        wait_until(lambda: is_busy() or process.poll() is not None, 200)
        assert process.poll() is None, process.communicate()[0]
        others = psutil.Process(process.pid).children(recursive=True)
        yield process, others
        wait_for_end(others)
    finally:
        for one in [process, *others]:
            with contextlib.suppress(psutil.NoSuchProcess):
                one.kill()
        process.communicate()


@pytest.mark.slow_faults
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
@pytest.mark.parametrize("program", [review, arena, tune, check, turn, bench, doctor])
def test_no_process_is_left(tmp_path: Path, program: Program, number: signal.Signals) -> None:
    with running(*program(tmp_path), tmp_path) as (process, others):
        assert others
        process.send_signal(number)
        if program in (arena, tune):
            process.send_signal(number)  # the first SIGTERM waits for the running games
        process.wait(timeout=60)
    if program is review:
        found = read_review(tmp_path / "game.review.jsonl")
        assert found is not None
        assert found.turns
    if program is arena:
        assert read_results(tmp_path / "r.jsonl")


def kill(processes: list[psutil.Process], name: str) -> None:
    """Kill the process with this name that has worked most."""
    named = []
    for process in processes:
        with contextlib.suppress(psutil.NoSuchProcess):
            named += [process] if process.name() == name else []
    max(named, key=lambda process: sum(process.cpu_times()[:2])).kill()


@pytest.mark.slow_faults
@pytest.mark.parametrize("with_server", [False, True])
@pytest.mark.parametrize("program", [turn, bench, check, review])
def test_a_child_that_is_killed_is_replaced(tmp_path: Path, program: Program, with_server: bool) -> None:
    """Although its fork server is killed before. The program does all its work."""
    words, is_busy = program(tmp_path)
    if program is review:
        lines = (tmp_path / "game.jsonl").read_bytes().splitlines()
        (tmp_path / "game.jsonl").write_bytes(b"\n".join([lines[0], *lines[-11:], b""]))
    with running(words, is_busy, tmp_path) as (process, others):
        if with_server:
            kill(others, forkserver.NAME)
        kill(others, jobs.NAME if program is review else WORKER)
        output = process.communicate(timeout=100)[0]
        assert process.returncode == 0, output
    if program is turn:
        assert re.search(r"^once +now ", output, re.MULTILINE), output
    if program is review:
        found = read_review(tmp_path / "game.review.jsonl")
        assert found is not None
        assert len(found.turns) == 10
