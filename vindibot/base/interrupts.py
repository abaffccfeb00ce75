"""The effect of Ctrl-C, and of signals that ask for an end, on our commands.

By default, Ctrl-C makes Python raise an exception at any line. During imports and compilations this prints long tracebacks.
"""

from __future__ import annotations

import atexit
import os
import signal
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from types import FrameType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from asyncio import AbstractEventLoop

#: The exit code of a command that was interrupted.
INTERRUPTED = 130

# Modules whose code runs while modules are imported or kernels are compiled.
_LOADING = ("importlib._bootstrap", "sim.kernels", "numba.", "llvmlite.")
#: The line that `_leave` and `tell` print, "" for none.
_words = "interrupted"


def at_once() -> None:
    """From now on, let Ctrl-C end this program at once, with one line of output and exit code 130."""
    signal.signal(signal.SIGINT, _leave)


def never_after_exit() -> None:
    """Ignore Ctrl-C while the interpreter exits. At that time, Ctrl-C would kill the process without a message."""
    atexit.register(signal.signal, signal.SIGINT, signal.SIG_IGN)


def at_once_again() -> None:
    """Call `at_once` again. Do nothing in a program that has never called `at_once`."""
    if handled():
        at_once()


def in_order() -> None:
    """From now on, let Ctrl-C raise `KeyboardInterrupt`. During imports and compilations Ctrl-C still ends the program at once.

    Do nothing in a program that has not called `at_once`.
    """
    if handled():
        signal.signal(signal.SIGINT, _interrupt)


def be_silent() -> None:
    """From now on, Ctrl-C ends the program without a line of output, because the command tells the user that it was interrupted.

    A program that has not called `at_once` may tell the user again.
    """
    global _words
    if handled():
        _words = ""


def tell() -> None:
    """Print that the command was interrupted. In a program that has called `at_once`, only the first call prints."""
    words = _words
    be_silent()
    if words:
        print(words, file=sys.stderr, flush=True)


def handled() -> bool:
    """Return whether the current handler of Ctrl-C is one of this module."""
    return signal.getsignal(signal.SIGINT) in (_leave, _interrupt)


@contextmanager
def saying(words: str) -> Iterator[None]:
    """Within this block, if Ctrl-C ends the program, it prints `words` instead of "interrupted"."""
    global _words
    before, _words = _words, words
    try:
        yield
    except Exception:
        _words = before
        raise
    _words = before  # after `KeyboardInterrupt` the words stay, because `tell` prints them


def stop_signals() -> list[signal.Signals]:
    """Return the signals that ask a long command to end in good order: Ctrl-C, SIGTERM and, if its terminal closes, SIGHUP.

    SIGHUP is left out if it is ignored, as ``nohup`` does, and on systems that lack it.
    """
    closed = getattr(signal, "SIGHUP", None)
    signals = [signal.SIGINT, signal.SIGTERM]
    return signals if closed is None or signal.getsignal(closed) is signal.SIG_IGN else [*signals, closed]


@contextmanager
def _handled_by(handler: Callable[[signal.Signals], object]) -> Iterator[Mapping[signal.Signals, Any]]:
    """Within this block, let the signals in `stop_signals` call `handler`. Yield their handlers before.

    A terminal that closes sends SIGHUP more than once. So after the first one, SIGHUP is ignored, also after the block.
    """

    def handle(number: int, _frame: FrameType | None) -> None:
        if signal.Signals(number).name == "SIGHUP":
            signal.signal(number, signal.SIG_IGN)
        handler(signal.Signals(number))

    before = {number: signal.signal(number, handle) for number in stop_signals()}
    try:
        yield before
    finally:
        for number, previous in before.items():
            if signal.getsignal(number) is handle:
                signal.signal(number, previous)


@contextmanager
def calling(callback: Callable[[], object], loop: AbstractEventLoop) -> Iterator[None]:
    """Within this block, let the signals in `stop_signals` do nothing but call `callback` in the event loop."""
    # Not `loop.add_signal_handler`, which Windows lacks.
    with _handled_by(lambda _: loop.call_soon_threadsafe(callback)):
        yield


@dataclass
class Stop:
    """A request to stop a long command, such as a tournament.

    If `soon` is true, no more games start, but the running games are played to their end. If `now` is true, the running games end
    at once.
    """

    soon: bool = False
    now: bool = False


@contextmanager
def stopping(stop: Stop) -> Iterator[None]:
    """Let Ctrl-C, SIGTERM and SIGHUP (`stop_signals`) set `stop` in the ``with`` block.

    The first signal sets `soon`, a second one `now`. A third one ends this program immediately, even if it waits for a process
    that does not answer.
    """
    # The handler prints nothing, because the signal may come in the middle of a write. The loop that does the work prints.

    def interrupted(number: signal.Signals) -> None:
        if stop.soon and number.name != "SIGHUP":
            stop.now = True
            signal.signal(number, before[number])
            at_once_again()
        else:
            stop.soon = True

    with _handled_by(interrupted) as before:
        yield


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
    os._exit(INTERRUPTED)
