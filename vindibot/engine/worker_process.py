"""A worker process, which runs other people's code: messages to and from it, its limits, its output, and the reason of its end.

A worker is a process of `multiprocessing`. A command forks its workers from the fork server (`vindibot.engine.forkserver`), the
process of a game forks them from itself. A worker has a process group of its own, which is killed as a whole. It ends when its
parent process ends.
"""

from __future__ import annotations

import contextlib
import faulthandler
import gc
import mmap
import os
import select
import signal
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from math import ceil, inf
from multiprocessing.connection import Connection
from multiprocessing.context import BaseContext
from pathlib import Path
from types import TracebackType
from typing import Any, Literal, Self

from vindibot.base.errors import VindibotError
from vindibot.base.orphans import die_with_parent, name_process
from vindibot.base.system import limit_memory, open_files

#: The exit code of a worker whose function raised `MemoryError`.
OUT_OF_MEMORY = 71
#: The number of bytes that are stored of the end of a long output, and the number of lines that an `Ending` has.
TAIL, LAST_LINES = 4096, 5
#: Seconds to wait for the exit code of a process that has ended, and for the end of a process that was killed.
EXIT_SECONDS, END_SECONDS = 0.5, 2.0

_CHUNK = 1 << 16

Kind = Literal["exited", "killed", "memory", "time", "stopped", "closed"]


@dataclass(frozen=True)
class Ending:
    """The end of a worker.

    - `kind`: why it ended. "exited": it returned or exited. "killed": a signal ended it. "memory": it had no memory left. "time":
      the time limit of a request was over. "stopped": `WorkerProcess.kill` ended it. "closed": it closed its connection.
    - `code`: the exit code, negative for a signal.
    - `seconds`: the time from its start until its end.
    - `last_lines`: the last lines that it printed.
    """

    kind: Kind
    code: int
    seconds: float
    last_lines: str = ""

    def __str__(self) -> str:
        """Return the reason in words."""
        match self.kind:
            case "memory":
                return "out of memory"
            case "time":
                return f"no end in {self.seconds:.1f} s"
            case "stopped":
                return "a kill by its owner"
            case "closed":
                return "a closed connection"
        return code_words(self.code)


def code_words(code: int) -> str:
    """Return an exit code in words: ``exit code 1`` for 1, ``signal SIGKILL`` for -9."""
    try:
        return f"exit code {code}" if code >= 0 else f"signal {signal.Signals(-code).name}"
    except ValueError:
        return f"signal {-code}"


class WorkerEnded(VindibotError):  # noqa: N818  # an event, not always an error
    """A worker has ended. `ending` says why."""

    def __init__(self, ending: Ending) -> None:
        super().__init__(f"a process ended with {ending}" + (f": {ending.last_lines}" if ending.last_lines else ""))
        self.ending = ending


class WorkerLate(VindibotError):  # noqa: N818
    """A worker has not answered in time."""


class WorkerProcess:
    """A process that runs ``run(requests, setup)``, where `requests` is a `Requests`.

    - `context`: the fork server's context, or that of `fork`. The process that forks must have only one thread.
    - `run`: a function at the top level of a module. `setup` can be pickled, or has ``context.RawArray``s, which are shared.
    - `memory_mb`: the memory in MiB that the worker may use in addition to its memory at the start. None means no limit.
    - `output`: the number of bytes of its output that are stored, in addition to the last `TAIL` bytes.

    `pid` is the process id, 0 before the start. `ending` says how it ended, None before its end.
    """

    def __init__(
        self,
        context: BaseContext,
        run: Callable[[Requests, Any], None],
        setup: Any = None,
        *,
        name: str = "vindibot-worker",
        memory_mb: int | None = None,
        output: int = 64 << 10,
    ) -> None:
        self.pid = 0
        self.ending: Ending | None = None
        self._limit = output
        self._output, self._tail = bytearray(), b""
        self._killed = self._closed = False
        self._began = time.monotonic()
        reading, self._requests = context.Pipe(duplex=False)
        self._answers, writing = context.Pipe(duplex=False)
        self._printed, printing = context.Pipe(duplex=False)
        self._theirs = [reading, writing, printing]
        os.set_blocking(self._printed.fileno(), False)
        closes_files = context.get_start_method() == "fork"
        arguments = (run, setup, reading, writing, printing, name, memory_mb, closes_files)
        self._process = context.Process(target=_run, args=arguments, name=name, daemon=True)  # type: ignore[attr-defined]
        self._pidfd = -1
        self._open = {self._answers.fileno(), self._printed.fileno()}
        self._poll = select.poll()
        self._poll.register(self._answers.fileno(), select.POLLIN)

    def start(self) -> Self:
        """Start the process, and wait until it is forked. This waits for the fork server, which may have to load kernels."""
        try:
            self._process.start()
        finally:
            for end in self._theirs:
                end.close()
        self._began = time.monotonic()
        self.pid = self._process.pid or 0
        with contextlib.suppress(OSError):  # it has already ended
            self._pidfd = os.pidfd_open(self.pid)
            self._open.add(self._pidfd)
        if self._pidfd < 0:
            self._end()
        if self._killed:
            self.kill()
        return self

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None) -> None:
        self.close()

    @property
    def descriptors(self) -> list[int]:
        """The descriptors to watch: `take` should be called when one of them is readable. A call of `take` may remove some."""
        return list(self._open)

    @property
    def answers_fd(self) -> int:
        """The descriptor that is readable if an answer has arrived."""
        return self._answers.fileno()

    # -- messages --

    def send(self, data: bytes) -> None:
        """Send a request. A worker that has ended does not get it."""
        with contextlib.suppress(OSError):
            self._requests.send_bytes(data)

    def take(self) -> list[bytes]:
        """Return the answers that have arrived, and update `ending`. Never block."""
        answers = self._arrived()
        if self._pidfd in self._open and _ready([self._pidfd], 0.0):
            answers += self._arrived()  # what the worker has sent before its end
            self._end()
        self._read_output()
        return answers

    def receive(self, seconds: float | None = None) -> bytes:
        """Return the next answer. Raises `WorkerEnded` if the worker has ended, and `WorkerLate` after `seconds` seconds."""
        limit = inf if seconds is None else time.monotonic() + seconds
        while True:
            if (answer := self._next()) is not None:
                return answer
            if self.ending is not None:
                raise WorkerEnded(self.ending)
            ready = _ready(self._open, limit - time.monotonic())
            if not ready:
                raise WorkerLate(f"no answer in {seconds:g} s")
            if self._printed.fileno() in ready:
                self._read_output()
            if self._pidfd in ready and self._answers.fileno() not in ready:
                self._end()

    def _arrived(self) -> list[bytes]:
        answers = []
        while (answer := self._next()) is not None:
            answers.append(answer)
        return answers

    def _next(self) -> bytes | None:
        """Return the next answer that has arrived, None if there is none."""
        if self._closed or self._answers.fileno() not in self._open or not self._poll.poll(0):
            return None
        return self.answer()

    def answer(self) -> bytes | None:
        """Return the next answer, None if the worker has closed its end. Call this only if `answers_fd` is readable."""
        try:
            return self._answers.recv_bytes()
        except (EOFError, OSError):
            self._open.discard(self._answers.fileno())
            if self._pidfd >= 0 and not _ready([self._pidfd], EXIT_SECONDS):
                self._kill()
                self._end("closed")
        return None

    def _read_output(self) -> None:
        """Read what the worker has printed. If it has ended, read all that is left."""
        if self._closed or self._printed.fileno() not in self._open:
            return
        with contextlib.suppress(BlockingIOError):
            while True:
                data = os.read(self._printed.fileno(), _CHUNK)
                if not data:
                    self._open.discard(self._printed.fileno())
                    return
                room = max(0, self._limit - len(self._output))
                self._output += data[:room]
                self._tail = (self._tail + data[room:])[-TAIL:]
                if self.ending is None:
                    return

    @property
    def output(self) -> bytes:
        """What the worker has printed so far: the first bytes, and the last `TAIL` bytes if the output is long."""
        return bytes(self._output) + (b"\n[...]\n" + self._tail if self._tail else b"")

    # -- the end --

    def _end(self, kind: Kind | None = None) -> None:
        """Store how the worker has ended, and kill what it has left in its process group."""
        if self.ending is not None:
            return
        self._process.join(END_SECONDS if kind else EXIT_SECONDS)
        code = self._process.exitcode
        code = -signal.SIGKILL if code is None else code
        if kind is None:
            kind = "stopped" if self._killed else _kind(code)
        seconds = time.monotonic() - self._began
        self.ending = Ending(kind, code, seconds)  # so that `_read_output` reads all
        self._kill()
        self._read_output()
        self._open.discard(self._pidfd)
        lines = self.output[-TAIL:].decode(errors="replace").strip().splitlines()
        self.ending = Ending(kind, code, seconds, "\n".join(lines[-LAST_LINES:]))

    def kill(self) -> None:
        """Kill the worker and its process group. Do not wait for its end."""
        if self.ending is None:
            self._killed = True
            self._kill()

    def _kill(self) -> None:
        if self.pid:
            with contextlib.suppress(OSError):
                os.killpg(self.pid, signal.SIGKILL)
            if self.ending is None and self._pidfd >= 0:  # it may not yet have its own process group
                with contextlib.suppress(OSError):
                    signal.pidfd_send_signal(self._pidfd, signal.SIGKILL)

    def close(self) -> None:
        """Kill the worker, wait for its end, and release its descriptors."""
        if self._closed:
            return
        if self.pid:
            self.kill()
            self._end()
        self._closed = True
        for end in (self._requests, self._answers, self._printed, *self._theirs):
            end.close()
        if self._pidfd >= 0:
            os.close(self._pidfd)
        self._open.clear()


def _kind(code: int) -> Kind:
    """Return why a process has ended with this exit code."""
    if code == OUT_OF_MEMORY:
        return "memory"
    return "exited" if code >= 0 else "time" if code == -signal.SIGALRM else "killed"


def _ready(descriptors: set[int] | list[int], seconds: float) -> set[int]:
    """Return the descriptors that are readable, after at most `seconds` seconds."""
    watched = select.poll()
    for descriptor in descriptors:
        watched.register(descriptor, select.POLLIN)
    timeout = None if seconds == inf else max(0, ceil(seconds * 1000))
    return {descriptor for descriptor, _ in watched.poll(timeout)}


# ---- In the worker ----


class Requests:
    """The requests of the parent process, as the worker sees them. Iterate over it to get all requests until the parent ends."""

    def __init__(self, reading: Connection, writing: Connection) -> None:
        self._reading, self._writing = reading, writing
        self._armed = False

    def receive(self) -> bytes:
        """Return the next request. Raises `EOFError` or `ConnectionError` if the parent has closed its end."""
        return self._reading.recv_bytes()

    def send(self, data: bytes) -> None:
        """Send an answer. Raises `ConnectionError` if the parent has closed its end."""
        self._writing.send_bytes(data)

    def __iter__(self) -> Iterator[bytes]:
        with contextlib.suppress(EOFError, ConnectionError):
            while True:
                yield self.receive()

    def limit(self, seconds: float | None) -> None:
        """End this process after `seconds` seconds, even if compiled code hangs. With None, there is no limit any more.

        At its end the process prints its stack.
        """
        if seconds is None:
            signal.setitimer(signal.ITIMER_REAL, 0)
        else:
            if not self._armed or signal.getsignal(signal.SIGALRM) is not signal.SIG_DFL:  # other code may have changed it
                faulthandler.unregister(signal.SIGALRM)
                signal.signal(signal.SIGALRM, signal.SIG_DFL)
                faulthandler.register(signal.SIGALRM, 2, all_threads=False, chain=True)
                self._armed = True
            signal.setitimer(signal.ITIMER_REAL, max(seconds, 0.001))


def _run(
    run: Callable[[Requests, Any], None],
    setup: Any,
    reading: Connection,
    writing: Connection,
    printing: Connection,
    name: str,
    memory_mb: int | None,
    closes_files: bool,  # `multiprocessing` passes positions
) -> None:
    """Run a worker's function in this process."""
    os.setpgid(0, 0)
    die_with_parent()
    _use_default_signals()
    name_process(name)
    gc.freeze()  # the memory that this process shares with its parent is not visited
    if closes_files:
        for descriptor in open_files() - {0, 1, 2, reading.fileno(), writing.fileno(), printing.fileno()}:
            os.close(descriptor)
    _use_streams(printing)
    if memory_mb is not None:
        pages = int(Path("/proc/self/statm").read_text().split()[0])
        limit_memory(pages * mmap.PAGESIZE + (memory_mb << 20))
    try:
        run(Requests(reading, writing), setup)
    except MemoryError as problem:
        with contextlib.suppress(MemoryError):
            sys.excepthook(MemoryError, problem, problem.__traceback__)
        sys.exit(OUT_OF_MEMORY)
    except (EOFError, ConnectionError):
        pass  # the parent has closed its end


def _use_default_signals() -> None:
    """Ignore Ctrl-C, which the command handles, and the signals that Python ignores. All others have their default action."""
    signal.set_wakeup_fd(-1)
    ignored = {signal.SIGINT, signal.SIGPIPE, signal.SIGXFSZ}
    for number in signal.valid_signals() - {signal.SIGKILL, signal.SIGSTOP}:
        with contextlib.suppress(OSError, ValueError):
            signal.signal(number, signal.SIG_IGN if number in ignored else signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_SETMASK, ())


def _use_streams(printing: Connection) -> None:
    """Give this process an empty standard input, and the connection as standard output and standard error."""
    nothing = os.open(os.devnull, os.O_RDONLY)
    for stream, descriptor in enumerate((nothing, printing.fileno(), printing.fileno())):
        os.dup2(descriptor, stream)
    os.close(nothing)
    printing.close()
    sys.stdin = os.fdopen(0, closefd=False)
    sys.stdout = os.fdopen(1, "w", buffering=1, errors="replace", closefd=False)
    sys.stderr = os.fdopen(2, "w", buffering=1, errors="replace", closefd=False)
    faulthandler.disable()  # the handlers of signals are gone
    faulthandler.enable(sys.stderr)
