"""Locks of files: whom they keep out, under which names, and what is left of them when their process is killed."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pytest

from tests.support.paths import TOP
from vindibot.base.system.locks import LockedError, LockOwner, WriterLock

WITHOUT = TOP / "tests" / "support" / "without_locks"
HOLDER = """
import sys
from pathlib import Path
from vindibot.base.system.locks import LockedError, WriterLock
path = Path(sys.argv[1])
with path.open("ab+", buffering=0) as file:
    try:
        lock = WriterLock(path, file.fileno())
    except (LockedError, OSError) as problem:
        print("refused:", problem, flush=True)
    else:
        print("locked", flush=True)
        sys.stdin.read()
        lock.close()
"""


def start(path: Path, error: str | None) -> subprocess.Popen[str]:
    """Start a process that locks a file until its input ends. With `error`, its file system has no locks."""
    environment = dict(os.environ)
    if error is not None:
        environment |= {"PYTHONPATH": f"{WITHOUT}{os.pathsep}{TOP}", "WITHOUT_LOCKS": error}
    words = [sys.executable, "-c", HOLDER, str(path)]
    return subprocess.Popen(
        words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, env=environment, cwd=TOP
    )


def said(process: subprocess.Popen[str]) -> str:
    """Return the process's line that says whether it has the lock."""
    assert process.stdout is not None
    return next(line for line in process.stdout if line.startswith(("locked", "refused"))).strip()


@contextmanager
def holder(path: Path, error: str | None = None) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """A process that tries to lock a file, and what it says."""
    process = start(path, error)
    try:
        yield process, said(process)
    finally:
        process.kill()
        process.communicate()


@pytest.mark.slow_faults
@pytest.mark.parametrize("error", [None, "ENOSYS", "ENOLCK"])
def test_a_second_process_is_kept_out_until_the_first_one_ends(tmp_path: Path, error: str | None) -> None:
    path = tmp_path / "results"
    (tmp_path / "other").symlink_to(path)
    with holder(path, error) as (first, word):
        assert word == "locked"
        for name in (path, tmp_path / "other"):
            with holder(name, error) as (_, refusal):
                assert refusal == (
                    "refused: another process" if error is None else f"refused: process {first.pid} on {os.uname()[1]}"
                )
        first.communicate("")
        with holder(path, error) as (_, again):
            assert again == "locked"
    assert not (tmp_path / "results.lock").exists()


@pytest.mark.slow_faults
@pytest.mark.parametrize("error", [None, "ENOSYS", "ENOLCK"])
def test_a_process_that_was_killed_keeps_nobody_out(tmp_path: Path, error: str | None) -> None:
    path = tmp_path / "results"
    for _ in range(2):
        with holder(path, error) as (process, word):
            assert word == "locked"
            process.send_signal(signal.SIGKILL)
            process.wait()
    with holder(path, error) as (_, word):
        assert word == "locked"


@pytest.mark.slow_faults
def test_a_hard_link_is_the_same_file(tmp_path: Path) -> None:
    path, other = tmp_path / "results", tmp_path / "other"
    path.touch()
    other.hardlink_to(path)
    with holder(path) as (_, word):
        assert word == "locked"
        with holder(other) as (_, refusal):
            assert refusal == "refused: another process"
    with holder(other, "ENOSYS") as (_, refusal):
        assert "the file has 2 names (hard links), and its file system has no file locks: keep only one name" in refusal


@pytest.mark.slow_faults
def test_only_one_of_many_takes_the_lock_of_a_killed_process(tmp_path: Path) -> None:
    path = tmp_path / "results"
    with holder(path, "ENOSYS") as (process, _):
        process.send_signal(signal.SIGKILL)
        process.wait()
    others = [start(path, "ENOSYS") for _ in range(8)]
    try:
        words = [said(process) for process in others]
        assert words.count("locked") == 1, words
    finally:
        for process in others:
            process.kill()
            process.communicate()


@pytest.fixture
def without_locks(monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(*arguments: object) -> None:
        raise OSError(38, "Function not implemented")

    monkeypatch.setattr("fcntl.fcntl", refused)


def try_lock(path: Path) -> str:
    with path.open("ab+", buffering=0) as file:
        try:
            WriterLock(path, file.fileno()).close()
        except (LockedError, OSError) as problem:
            return str(problem)
    return ""


@pytest.mark.usefixtures("without_locks")
@pytest.mark.parametrize(
    ("changes", "refusal"),
    [
        ({"started": 1}, ""),  # the number now belongs to another process
        ({"pid": 2**22 + 1}, ""),
        ({"boot": "before"}, ""),
        ({"space": "pid:[1]"}, "process PID on HOST"),
        ({"host": "elsewhere"}, "process PID on elsewhere; if this process has ended, delete LINK"),
        ({"host": "elsewhere", "boot": "another"}, "process PID on elsewhere; if this process has ended, delete LINK"),
    ],
)
def test_whose_lock_is_obeyed(tmp_path: Path, changes: dict[str, object], refusal: str) -> None:
    path, link = tmp_path / "results", tmp_path / "results.lock"
    owner = replace(LockOwner.current(), **changes)
    assert LockOwner.parse(str(owner)) == owner
    link.symlink_to(str(owner))
    refusal = refusal.replace("PID", str(owner.pid)).replace("HOST", owner.host).replace("LINK", str(link))
    assert try_lock(path) == refusal
    assert link.is_symlink() == bool(refusal)


@pytest.mark.usefixtures("without_locks")
def test_a_file_of_another_program_is_left_alone(tmp_path: Path) -> None:
    path, link = tmp_path / "results", tmp_path / "results.lock"
    link.write_text("to do: buy milk")
    assert f"{link} exists and is not a lock of vindibot: move it away" in try_lock(path)
    assert link.read_text() == "to do: buy milk"


def test_a_process_locks_a_file_once(tmp_path: Path) -> None:
    path = tmp_path / "results"
    with path.open("ab+", buffering=0) as file:
        lock = WriterLock(path, file.fileno())
        assert WriterLock.is_held(path)
        assert try_lock(path) == "this process"
        lock.close()
        assert not WriterLock.is_held(path)
