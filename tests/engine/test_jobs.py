"""Jobs in processes of the fork server: limits, crashes, and that nothing is left of them."""

from __future__ import annotations

import asyncio
import gc
import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import BrokenExecutor, ThreadPoolExecutor
from pathlib import Path

import psutil
import pytest
from pebble.pool.channel import WorkerChannel

from tests.support.paths import TOP
from tests.support.waiting import is_alive, until
from vindibot.engine import forkserver
from vindibot.engine.jobs import JobEndedError, JobError, JobPool

WAIT = 60.0


@pytest.fixture
def pool() -> Iterator[JobPool]:
    pool = JobPool(2)
    yield pool
    pool.kill()


def square(number: int) -> int:
    return number**2


def process_of(_: object) -> int:
    return os.getpid()


def divide(number: int) -> float:
    return 1 / number


def exit_with(code: int) -> None:
    if code < 0:
        os.kill(os.getpid(), -code)
    os._exit(code)


def hang_in_kernel(_: object) -> None:
    """Hang where no signal handler of Python runs, as in a kernel."""
    import ctypes

    ctypes.PyDLL(None).sleep(600)


def die_with_lock(_: object) -> None:
    """End the process while it has the lock of the pool."""
    channel = next(thing for thing in gc.get_objects() if isinstance(thing, WorkerChannel))
    assert channel.mutex.acquire(timeout=WAIT)
    os.kill(os.getpid(), signal.SIGKILL)


def leave_process(file: Path) -> None:
    """Start a process in a session of its own that a signal does not end, and hang."""
    code = "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); time.sleep(600)"
    process = subprocess.Popen([sys.executable, "-c", code], start_new_session=True)
    file.write_text(str(process.pid))
    hang_in_kernel(None)


def test_jobs_are_done_by_few_processes(pool: JobPool) -> None:
    futures = [pool.submit(square, number, WAIT) for number in range(50)]
    assert [future.result(WAIT) for future in futures] == [number**2 for number in range(50)]
    assert len({future.result(WAIT) for future in [pool.submit(process_of, 0, WAIT) for _ in range(20)]}) <= 2
    pool.close()


@pytest.mark.parametrize(
    ("code", "words"), [(3, "exit code 3"), (-signal.SIGSEGV, "signal SIGSEGV"), (-signal.SIGKILL, "signal SIGKILL")]
)
def test_only_the_job_of_a_process_that_ends_fails(pool: JobPool, code: int, words: str) -> None:
    bad = pool.submit(exit_with, code, WAIT)
    good = [pool.submit(square, 2, WAIT) for _ in range(10)]
    assert {future.result(WAIT) for future in good} == {4}
    with pytest.raises(JobEndedError, match=f"ended with {words}"):
        bad.result(WAIT)
    with pytest.raises(JobError, match=r"(?s)test_jobs.py.*in divide.*ZeroDivisionError"):
        pool.submit(divide, 0, WAIT).result(WAIT)


@pytest.mark.slow_faults
def test_pool_goes_on_after_the_end_of_a_process_that_had_its_lock(pool: JobPool) -> None:
    with pytest.raises(JobEndedError, match="SIGKILL"):
        pool.submit(die_with_lock, None, WAIT).result(WAIT)
    with pytest.raises(BrokenExecutor):
        pool.submit(square, 2, WAIT).result(30.0)
    assert pool.submit(square, 3, WAIT).result(WAIT) == 9


async def test_late_job_is_killed_with_all_it_has_started(pool: JobPool, tmp_path: Path) -> None:
    file = tmp_path / "pid"
    with pytest.raises(JobEndedError, match="took more than 1 s"):
        pool.submit(leave_process, file, 1.0).result(WAIT)
    await until(lambda: not is_alive(int(file.read_text())))
    assert pool.submit(square, 3, WAIT).result(WAIT) == 9


OWNER = """
import sys, time
from pathlib import Path
sys.path.insert(0, {top!r})
from tests.engine.test_jobs import leave_process
from vindibot.engine.jobs import JobPool

print("once", flush=True)
pool = JobPool(1)
pool.submit(leave_process, Path({file!r}), 600.0)
time.sleep(600)
"""


async def test_nothing_is_left_of_a_killed_command(tmp_path: Path) -> None:
    """Although a job hangs in machine code, and has started a process. The script of the command runs once."""
    script, file = tmp_path / "script.py", tmp_path / "pid"
    script.write_text(OWNER.format(top=str(TOP), file=str(file)))
    (tmp_path / "tempfile.py").write_text("raise ImportError('hides a module of Python')")
    command = await asyncio.create_subprocess_exec(sys.executable, "-P", script, cwd=tmp_path, stdout=asyncio.subprocess.PIPE)
    await until(lambda: file.exists() and file.read_text(), 60.0)
    family = [process.pid for process in psutil.Process(command.pid).children(recursive=True)]
    assert int(file.read_text()) in family
    command.kill()
    await until(lambda: not any(map(is_alive, family)))
    assert (await command.communicate())[0] == b"once\n"


async def test_long_name_of_the_temporary_folder_is_a_clear_error(tmp_path: Path) -> None:
    folder = tmp_path / ("t" * 120)
    folder.mkdir()
    code = "from vindibot.engine import forkserver; forkserver.start()"
    variables = {**os.environ, "TMPDIR": str(folder)}
    process = await asyncio.create_subprocess_exec(sys.executable, "-c", code, env=variables, stderr=asyncio.subprocess.PIPE)
    _, printed = await process.communicate()
    assert re.search(rb"VindibotError: the fork server cannot be started in .*t{120} \(TMPDIR\): AF_UNIX path too long", printed)


def test_processes_started_by_several_threads_leave_the_environment_as_it_was() -> None:
    before = dict(os.environ)

    def start_process(number: int) -> None:
        process = forkserver.CONTEXT.Process(target=square, args=(number,))
        process.start()
        process.join()

    with ThreadPoolExecutor(4) as threads:
        list(threads.map(start_process, range(40)))
    assert dict(os.environ) == before
