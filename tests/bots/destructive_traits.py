"""Traits that damage the process in which they vote, or the processes around it, and then vote as if nothing had happened.

A trait that harms another process does so only if this process has `MARKER` in its environment, as a test sets it.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import pickle
import resource
import signal
import struct
import sys
import threading
import time
from pathlib import Path

from behaviours import Behaviour, View, Votes

MARKER = "TESTS_DESTRUCTIVE"


def is_of_the_test(pid: int) -> bool:
    """Return whether a process belongs to the program that a test of these traits has started."""
    try:
        return f"{MARKER}=".encode() in Path(f"/proc/{pid}/environ").read_bytes()
    except OSError:
        return False


def descriptors() -> list[int]:
    return [int(name) for name in os.listdir("/proc/self/fd")]


class Damage(Behaviour):
    """Does damage when it votes for the first time in a process."""

    def vote(self, view: View) -> Votes:
        self.damage()
        return 1

    def damage(self) -> None:
        raise NotImplementedError


class ClosesOutput(Damage):
    def damage(self) -> None:
        with contextlib.suppress(OSError):
            os.close(1)


class ClosesAll(Damage):
    def damage(self) -> None:
        os.closerange(0, 4096)


class ReplacesAll(Damage):
    """Makes each descriptor one of /dev/null."""

    def damage(self) -> None:
        nothing = os.open(os.devnull, os.O_RDWR)
        for one in descriptors():
            with contextlib.suppress(OSError):
                os.dup2(nothing, one)


class ClearsModules(Damage):
    def damage(self) -> None:
        sys.modules.clear()


class ClearsBuiltins(Damage):
    def damage(self) -> None:
        vars(sys.modules["builtins"]).pop("len", None)


class LimitsMemory(Damage):
    def damage(self) -> None:
        resource.setrlimit(resource.RLIMIT_AS, (1 << 20, 1 << 20))


class LimitsDescriptors(Damage):
    def damage(self) -> None:
        resource.setrlimit(resource.RLIMIT_NOFILE, (1, 1))


class LimitsTime(Damage):
    def damage(self) -> None:
        signal.setitimer(signal.ITIMER_REAL, 0.01)


class HarmsParent(Damage):
    number: int = signal.SIGKILL

    def damage(self) -> None:
        if is_of_the_test(os.getppid()):
            os.kill(os.getppid(), self.number)


class HarmsItself(Damage):
    number: int = signal.SIGSTOP

    def damage(self) -> None:
        os.kill(os.getpid(), self.number)


class WritesEverywhere(Damage):
    def damage(self) -> None:
        for one in descriptors():
            with contextlib.suppress(OSError):
                os.set_blocking(one, False)
                os.write(one, b"nonsense " * 50)


class Mark:
    """Its pickle makes a file when it is read."""

    def __init__(self, path: str) -> None:
        self.path = path

    def __reduce__(self) -> tuple[object, ...]:
        return open, (self.path, "w")


class WritesPickles(Damage):
    """Writes a pickle to each descriptor, with the length before it as `multiprocessing` writes it. It makes the file `mark`."""

    mark: str

    def damage(self) -> None:
        content = pickle.dumps(Mark(self.mark))
        for one in descriptors():
            with contextlib.suppress(OSError):
                os.set_blocking(one, False)
                os.write(one, struct.pack("!i", len(content)) + content)


class WritesToMemory(Damage):
    """Overwrites the memory that the process shares with others."""

    def damage(self) -> None:
        for line in Path("/proc/self/maps").read_text().splitlines():
            where, rights, *_ = line.split()
            if rights.startswith("rw-s"):
                begin, end = (int(word, 16) for word in where.split("-"))
                ctypes.memset(begin, 0xFF, end - begin)


class LeavesThread(Damage):
    """Starts a thread that ends the process when somebody else moves."""

    def damage(self) -> None:
        def end() -> None:
            time.sleep(0.02)
            os._exit(3)

        threading.Thread(target=end, daemon=True).start()


class IgnoresSignals(Damage):
    """Catches all signals and blocks them."""

    def damage(self) -> None:
        for number in signal.valid_signals() - {signal.SIGKILL, signal.SIGSTOP}:
            with contextlib.suppress(OSError, ValueError):
                signal.signal(number, signal.SIG_IGN)
        signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())


class ChangesFolder(Damage):
    """Goes to another folder, and takes the right to make files."""

    def damage(self) -> None:
        os.chdir("/")
        os.umask(0o777)
        os.environ.clear()
