"""Ctrl-C in our commands: what it does while there is nothing yet, or nothing any more, that has to be ended in order.

The interpreter's own way, an exception at any place, leaves tracebacks of half imported modules and compilers.
"""

from __future__ import annotations

import atexit
import os
import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from posix import _exit  # not that of os: while modules of bots are imported, another stands in its place
from types import FrameType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from asyncio import AbstractEventLoop

#: The exit code of a command that was interrupted.
INTERRUPTED = 130

# Modules whose code is at work while others are imported or kernels are compiled.
_LOADING = ("importlib._bootstrap", "sim.kernels", "numba.", "llvmlite.")
#: What is said at the end.
_words = "interrupted"


def at_once() -> None:
    """From now on Ctrl-C ends this program at once, with one line and exit code 130."""
    signal.signal(signal.SIGINT, _leave)


def never_after_exit() -> None:
    """Ignore Ctrl-C in the last moments of the interpreter, when all is done and it would kill the process without a word."""
    atexit.register(signal.signal, signal.SIGINT, signal.SIG_IGN)


def at_once_again() -> None:
    """As `at_once`, in a program in which that was called before."""
    if handled():
        at_once()


def in_order() -> None:
    """From now on Ctrl-C raises `KeyboardInterrupt`, but not while modules are imported and kernels compiled: that it ends
    at once. Only in a program in which `at_once` was called."""
    if handled():
        signal.signal(signal.SIGINT, _interrupt)


def tell() -> None:
    """Say that the command was interrupted; in a program in which `at_once` was called nothing here says it again."""
    global _words
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    print(_words, file=sys.stderr, flush=True)
    if handled():
        _words = ""
    signal.pthread_sigmask(signal.SIG_SETMASK, before)


def handled() -> bool:
    """Whether it is up to this module what Ctrl-C does at present."""
    return signal.getsignal(signal.SIGINT) in (_leave, _interrupt)


@contextmanager
def saying(words: str) -> Iterator[None]:
    """Within this block a program that ends at once says `words`, in place of "interrupted"."""
    global _words
    before, _words = _words, words
    try:
        yield
    finally:
        _words = before


@contextmanager
def calling(callback: Callable[[], object], loop: AbstractEventLoop) -> Iterator[None]:
    """Within this block Ctrl-C and SIGTERM call `callback` in the event loop, and do nothing else."""
    before = signal.getsignal(signal.SIGINT)
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, callback)
    try:
        yield
    finally:
        for number in (signal.SIGINT, signal.SIGTERM):
            loop.remove_signal_handler(number)
        signal.signal(signal.SIGINT, before)


def _interrupt(number: int, frame: FrameType | None) -> None:
    while frame is not None:
        if str(frame.f_globals.get("__name__", "")).startswith(_LOADING):
            _leave(number, frame)
        frame = frame.f_back
    raise KeyboardInterrupt


def _leave(number: int, frame: FrameType | None) -> None:
    try:
        sys.stdout.flush()
        shown = "\x1b[?25h" if sys.stderr.isatty() else ""  # a progress bar hides the cursor
        os.write(2, f"{shown}{_words}\n".encode() if _words else shown.encode())
    except (OSError, RuntimeError, ValueError, AttributeError):  # closed, or in the middle of writing
        pass
    _exit(INTERRUPTED)
