"""A pool of children: tasks are done, and a child that ends fails its own task only."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future

import pytest

from tests.processes.test_child import process_called
from tests.support.childwork import HERE
from tests.support.waiting import is_alive, until
from vindibot.processes.child import Child
from vindibot.processes.ending import ChildEnded
from vindibot.processes.keeper import KEEPER
from vindibot.processes.root import ROOT
from vindibot.processes.tasks import Tasks

WAIT = 60.0


@pytest.fixture
def pool() -> Iterator[Callable[..., Tasks]]:
    made = []

    def make(workers: int = 2, function: str = "works", **more) -> Tasks:
        made.append(Tasks(workers, lambda: Child(f"{HERE}:{function}"), **more))
        return made[-1]

    yield make
    for tasks in made:
        tasks.kill()


def done(future: Future[bytes]) -> str:
    return future.result(WAIT).decode()


def test_tasks_are_done_in_any_number(pool: Callable[..., Tasks]) -> None:
    tasks = pool()
    futures = [tasks.submit(f"{number} ** 2".encode()) for number in range(50)]
    assert [int(done(future)) for future in futures] == [number**2 for number in range(50)]
    pids = {done(future) for future in [tasks.submit(b"__import__('os').getpid()") for _ in range(20)]}
    assert len(pids) <= 2
    tasks.shutdown()


def test_only_the_task_of_a_child_that_ends_fails(pool: Callable[..., Tasks]) -> None:
    tasks = pool()
    bad = tasks.submit(b"__import__('os')._exit(3)")
    good = [tasks.submit(b"1 + 1") for _ in range(10)]
    assert {done(future) for future in good} == {"2"}
    with pytest.raises(ChildEnded, match="exit code 3"):
        bad.result(WAIT)
    with pytest.raises(Exception, match="ZeroDivisionError"):
        tasks.submit(b"1 / 0").result(WAIT)
    assert done(tasks.submit(b"3")) == "3"


@pytest.mark.parametrize(
    ("hang", "seconds", "words"),
    [
        (b"__import__('time').sleep(1000)", 0.2, "no end in"),
        (b"__import__('os').kill(__import__('os').getpid(), 19)", 1000.0, "signal SIGSTOP"),
    ],
)
def test_a_task_that_takes_too_long_or_stops_its_process_fails(
    hang: bytes, seconds: float, words: str, pool: Callable[..., Tasks]
) -> None:
    tasks = pool(workers=1, timeout=lambda task: None if task == b"1" else seconds)
    future, other = tasks.submit(hang), tasks.submit(b"1")
    with pytest.raises(ChildEnded, match=words):
        future.result(WAIT)
    assert done(other) == "1"


def test_children_that_never_become_ready_fail_the_tasks(pool: Callable[..., Tasks]) -> None:
    futures = [pool(function="never_ready").submit(b"1") for _ in range(2)]
    for future in futures:
        with pytest.raises(ChildEnded, match="/nowhere/at/all"):
            future.result(WAIT)


def test_a_child_without_memory_ends_and_says_so(pool: Callable[..., Tasks]) -> None:
    with pytest.raises(ChildEnded) as caught:
        pool().submit(b"bytearray(1 << 60)").result(WAIT)
    assert str(caught.value.ending) == "out of memory"
    assert caught.value.ending.last_lines.endswith("MemoryError")


@pytest.mark.slow_faults
async def test_a_server_that_does_not_answer_is_replaced(pool: Callable[..., Tasks], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("vindibot.processes.tasks.READY_SECONDS", 3.0)
    monkeypatch.setattr("vindibot.processes.tasks.START_ATTEMPTS", 20)
    assert done(pool().submit(b"1")) == "1"  # the server runs
    keeper, root = process_called(KEEPER), process_called(ROOT)
    keeper.kill()
    await until(lambda: not is_alive(keeper.pid))  # then the kernel continues the root
    root.suspend()
    second = pool().submit(b"2")
    await until(lambda: not is_alive(root.pid))
    monkeypatch.setattr("vindibot.processes.tasks.READY_SECONDS", WAIT)  # a busy machine may take long to start the next one
    assert done(second) == "2"


async def test_a_pool_that_is_killed_leaves_nothing(pool: Callable[..., Tasks]) -> None:
    tasks = pool()
    pids = [int(done(tasks.submit(b"__import__('os').getpid()"))) for _ in range(4)]
    hanging = [tasks.submit(b"__import__('time').sleep(1000)") for _ in range(3)]
    await until(lambda: sum(future.running() for future in hanging) == 2)
    tasks.kill()
    for future in hanging[:2]:
        with pytest.raises(ChildEnded):
            future.result(WAIT)
    assert hanging[2].cancelled()
    await until(lambda: not any(map(is_alive, pids)))
    with pytest.raises(Exception, match="have ended"):
        tasks.submit(b"1")


def test_answers_are_read_and_an_error_of_the_reader_fails_its_task_only(pool: Callable[..., Tasks]) -> None:
    tasks = pool(workers=1)
    good, bad = (tasks.submit(task, lambda answer: int(answer)) for task in (b"7", b"'text'"))
    assert good.result(WAIT) == 7
    with pytest.raises(ValueError, match="text"):
        bad.result(WAIT)


@pytest.mark.slow_faults
def test_a_child_whose_forker_has_ended_gets_no_more_tasks(pool: Callable[..., Tasks]) -> None:
    tasks = pool(workers=1)
    getpid, getppid = (f"__import__('os').{name}()".encode() for name in ("getpid", "getppid"))
    before, root = int(done(tasks.submit(getpid))), int(done(tasks.submit(getppid)))
    os.kill(root, signal.SIGKILL)
    while is_alive(root):
        time.sleep(0.01)
    assert int(done(tasks.submit(getpid))) != before
