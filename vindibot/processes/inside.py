"""The code that runs in a child process before and around its function."""

from __future__ import annotations

import contextlib
import faulthandler
import importlib
import mmap
import os
import pickle
import select
import signal
import socket
import sys
import traceback
from collections import deque
from collections.abc import Collection, Iterator
from typing import Any, NoReturn

from vindibot.base.orphans import adopt_orphans, continue_after_parent, name_process
from vindibot.base.system import open_files
from vindibot.processes import frames, preload
from vindibot.processes.ending import OUT_OF_MEMORY
from vindibot.processes.frames import ChildFrame, Decoder
from vindibot.processes.requests import Request


def from_owner(data: bytes) -> Any:
    """Return the object that the owner of this process has pickled. The owner is our program, so it can be trusted."""
    return pickle.loads(data)


class Owner:
    """The owner of this child process, as the child sees it: what the owner has given to it, and frames to and from it.

    - `setup`: what the owner gives to the child once.
    - `memory`: the memory that the child shares with its owner only.
    - `shared`: further memory, one for each file in the request.
    """

    def __init__(self, pipes: tuple[int, int], setup: bytes, memory: memoryview, shared: list[mmap.mmap]) -> None:
        self.setup, self.memory, self.shared = setup, memory, shared
        self._reading, self._writing = pipes
        self._decoder = Decoder(sys.maxsize, range(1 << 8))
        self._frames: deque[ChildFrame] = deque()

    def setup_object(self) -> Any:
        """Return the object that the owner has pickled as the setup."""
        return from_owner(self.setup)

    def send(self, kind: int, payload: bytes = b"", channel: int = 0) -> None:
        """Send a frame. Raises `ConnectionError` if the owner has closed its end."""
        data = frames.encode(kind, payload, channel)
        written = os.write(self._writing, data)
        while written < len(data):
            written += os.write(self._writing, memoryview(data)[written:])

    def receive(self, seconds: float | None = None) -> ChildFrame:
        """Return the next frame. Raises `EOFError` if the owner has closed its end, `TimeoutError` after `seconds`."""
        while not self._frames:
            if seconds is not None and not select.select([self._reading], [], [], seconds)[0]:
                raise TimeoutError
            data = os.read(self._reading, 1 << 16)
            if not data:
                raise EOFError
            self._frames.extend(self._decoder.feed(data))
        return self._frames.popleft()

    def requests(self) -> Iterator[ChildFrame]:
        """Yield the frames of the owner until it closes its end."""
        with contextlib.suppress(EOFError, ConnectionError):
            while True:
                yield self.receive()


def echo(owner: Owner) -> None:
    """Answer each frame with the same frame. This shows that processes can be started."""
    for frame in owner.requests():
        owner.send(frame.kind, frame.payload, frame.channel)


def run(request: Request, descriptors: list[int], requests: socket.socket | None) -> NoReturn:
    """Run the function of a request in this process, which was forked for it; never return.

    `descriptors` are those of the request. `requests` is the socket for requests for further children, if the child may have any.
    """
    reading, writing, _, memory, *others = descriptors
    keep = {reading, writing, memory, *others, *([] if requests is None else [requests.fileno()])}
    detach(keep | preload.descriptors)
    use_streams(others.pop(0) if request.limits.output else None)
    name_process(request.name)
    adopt_orphans()
    continue_after_parent()
    if requests is not None:
        from vindibot.processes.server import ForkServer

        ForkServer.inherit(requests)
    code = 1
    try:
        mapped = mmap.mmap(memory, 0)
        shared = [mmap.mmap(one, 0) for one in others]
        for descriptor in (memory, *others):
            os.close(descriptor)
        request.limits.apply()
        setup = mapped[request.memory : request.memory + request.setup]
        owner = Owner((reading, writing), setup, memoryview(mapped)[: request.memory], shared)
        module, _, name = request.run.partition(":")
        getattr(importlib.import_module(module), name)(owner)
        code = 0
    except MemoryError:
        code = OUT_OF_MEMORY
        with contextlib.suppress(MemoryError):
            traceback.print_exc()
    except (EOFError, ConnectionError):
        code = 0  # the owner has closed its end
    except SystemExit as ended:
        code = ended.code if isinstance(ended.code, int) else int(ended.code is not None)
    except BaseException:
        traceback.print_exc()
    finally:
        with contextlib.suppress(BaseException):
            sys.stdout.flush()
            sys.stderr.flush()
        os._exit(code & 0xFF)


def detach(keep: Collection[int]) -> None:
    """Separate this forked process from its parent: own session, default signals, no descriptors but `keep` and 0 to 2."""
    os.setsid()
    signal.set_wakeup_fd(-1)
    # Ctrl-C, which the command handles, and the signals that Python ignores, so that a write to a closed pipe raises an error.
    ignored = {signal.SIGINT, signal.SIGPIPE, signal.SIGXFSZ}
    for number in signal.valid_signals() - {signal.SIGKILL, signal.SIGSTOP}:
        with contextlib.suppress(OSError, ValueError):
            signal.signal(number, signal.SIG_IGN if number in ignored else signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_SETMASK, ())
    for descriptor in open_files() - {0, 1, 2, *keep}:
        os.close(descriptor)


def use_streams(output: int | None) -> None:
    """Give this process an empty standard input. Its output goes to the descriptor `output`, which is closed, or is dropped."""
    nothing = os.open(os.devnull, os.O_RDWR)
    target = nothing if output is None else output
    for stream, descriptor in enumerate((nothing, target, target)):
        os.dup2(descriptor, stream)
    for descriptor in {nothing, target}:
        if descriptor > 2:
            os.close(descriptor)
    sys.stdin = os.fdopen(0, closefd=False)
    sys.stdout = os.fdopen(1, "w", buffering=1, errors="replace", closefd=False)
    sys.stderr = os.fdopen(2, "w", buffering=1, errors="replace", closefd=False)
    faulthandler.disable()  # else a template has enabled it already, and the handlers of signals are gone
    faulthandler.enable(sys.stderr)
