"""Worker processes: messages, output, limits, and the reason of each end, from the fork server and by `fork`."""

from __future__ import annotations

import ctypes
import multiprocessing
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from multiprocessing.context import BaseContext
from typing import Any

import numpy as np
import pytest

from tests.support.waiting import is_alive, wait_until
from vindibot.engine import forkserver
from vindibot.engine.worker_process import Requests, WorkerEnded, WorkerLate, WorkerProcess

SECONDS = 60.0


def context_of(method: str) -> BaseContext:
    return forkserver.CONTEXT if method == "forkserver" else multiprocessing.get_context(method)


def echo(requests: Requests, _: Any) -> None:
    for data in requests:
        requests.send(data)


def misbehave(requests: Requests, mistake: str) -> None:
    requests.send(b"ready")
    requests.receive()
    requests.limit(0.1 if "limit" in mistake else None)
    match mistake:
        case "raise":
            raise ValueError("a mistake")
        case "memory":
            np.ones(1 << 31, np.uint8)
        case "exit":
            sys.exit(3)
        case "crash":
            ctypes.string_at(1)
        case "limit in Python with its own handler":
            signal.signal(signal.SIGALRM, signal.SIG_IGN)
            requests.limit(0.1)
            while True:
                pass
        case "limit in compiled code":
            ctypes.CDLL(None).pause()
        case "hang":
            ctypes.CDLL(None).pause()
        case "close":
            os.closerange(3, 1000)
            ctypes.CDLL(None).pause()


def print_much(requests: Requests, _: Any) -> None:
    print("first")
    print("x" * (1 << 20))
    os.write(2, b"last\n")
    requests.send(b"printed")
    requests.receive()


def await_end(pid: int) -> None:
    wait_until(lambda: not is_alive(pid), 5.0)


@pytest.fixture(params=["fork", "forkserver"])
def start(request: pytest.FixtureRequest) -> Iterator[Callable[..., WorkerProcess]]:
    context = context_of(request.param)
    workers = []

    def start(run: Callable[[Requests, Any], None], setup: Any = None, **options: Any) -> WorkerProcess:
        workers.append(WorkerProcess(context, run, setup, **options).start())
        return workers[-1]

    yield start
    for worker in workers:
        worker.close()


@pytest.mark.parametrize("size", [0, 1, 1 << 15, 1 << 22])
def test_messages_go_to_and_fro(start: Callable[..., WorkerProcess], size: int) -> None:
    worker = start(echo)
    for number in range(3):
        worker.send(bytes([number]) * size)
        assert worker.receive(SECONDS) == bytes([number]) * size
    assert worker.take() == []
    with pytest.raises(WorkerLate, match=r"no answer in 0\.01 s"):
        worker.receive(0.01)


@pytest.mark.parametrize(
    ("mistake", "reason"),
    [
        ("raise", "exit code 1: .*ValueError: a mistake"),
        ("memory", "out of memory: .*MemoryError"),
        ("exit", "exit code 3$"),
        ("crash", "signal SIGSEGV: "),
        ("limit in Python with its own handler", "no end in"),
        ("limit in compiled code", "no end in"),
        ("close", "a closed connection"),
    ],
)
def test_reason_of_the_end(start: Callable[..., WorkerProcess], mistake: str, reason: str) -> None:
    worker = start(misbehave, mistake, memory_mb=256)
    assert worker.receive(SECONDS) == b"ready"
    worker.send(b"go")
    with pytest.raises(WorkerEnded, match=f"(?s)a process ended with {reason}"):
        worker.receive(SECONDS)
    worker.send(b"to nobody")
    with pytest.raises(WorkerEnded):
        worker.receive(0.0)


def test_answers_before_the_end_count(start: Callable[..., WorkerProcess]) -> None:
    worker = start(misbehave, "exit")
    worker.send(b"go")
    answers, limit = [], time.monotonic() + SECONDS
    while worker.ending is None and time.monotonic() < limit:
        answers += worker.take()
    assert answers == [b"ready"]
    assert str(worker.ending) == "exit code 3"


def test_long_output_is_cut(start: Callable[..., WorkerProcess]) -> None:
    worker = start(print_much, output=100)
    assert worker.receive(SECONDS) == b"printed"
    worker.close()
    assert worker.output.startswith(b"first\nxxx")
    assert worker.output.endswith(b"xxx\nlast\n")
    assert len(worker.output) < 5000
    assert worker.ending is not None
    assert worker.ending.kind == "stopped"


def run_parent(method: str) -> None:
    """Start a worker that hangs in compiled code, print its process id, and wait."""
    worker = WorkerProcess(context_of(method), misbehave, "hang").start()
    worker.receive(SECONDS)
    worker.send(b"go")
    print(worker.pid, flush=True)
    sys.stdin.read()


@pytest.mark.parametrize("method", ["fork", "forkserver"])
def test_worker_ends_with_its_parent(method: str) -> None:
    code = f"import tests.engine.test_worker_process as here; here.run_parent({method!r})"
    with subprocess.Popen([sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as parent:
        assert parent.stdout is not None
        worker = int(parent.stdout.readline())
        assert is_alive(worker)
        parent.kill()
        await_end(worker)
