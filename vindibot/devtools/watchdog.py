"""A time limit for traits that run in this process. A trait that does not return is interrupted."""

from __future__ import annotations

import faulthandler
import signal
import threading
import time
from types import FrameType, TracebackType
from typing import Any, Self

from vindibot.engine import OutOfTime, failures, runner

#: Seconds between interruptions of a trait that catches `OutOfTime`.
INTERVAL = 0.2
#: Seconds from the limit until the process ends itself, if the trait is in compiled code, which nothing interrupts.
LAST_RESORT = 3.0
#: Files whose code is on the stack while a debugger is open.
_DEBUGGERS = ("bdb.py", "pydevd.py")


class Watchdog:
    """A timer for a ``with`` block. It raises `OutOfTime` in a trait that runs for more than `limit` seconds (None: never).

    Call `watch` with a trait's number each time before the trait's code runs, as `vindibot.engine.runner.run` does. The timer
    stops when a debugger opens. Compiled code cannot be interrupted. If it does not return, the process prints its stack, which
    shows the line of the trait, and ends with exit code 1. Outside the main thread the timer has no effect.
    """

    def __init__(self, limit: float | None) -> None:
        main = threading.current_thread() is threading.main_thread()
        self._limit = limit if main else None
        self._used: dict[int, float] = {}
        self._trait: int | None = None
        self._since = self._armed = 0.0
        self._before: Any = None

    def __enter__(self) -> Self:
        if self._limit is not None:
            self._before = signal.signal(signal.SIGALRM, self._interrupt), signal.setitimer(signal.ITIMER_REAL, 0)
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        if self._before is not None:
            self._end()
            handler, timer = self._before
            signal.signal(signal.SIGALRM, handler)
            signal.setitimer(signal.ITIMER_REAL, *timer)

    def watch(self, trait: int) -> None:
        """Start the timer for the trait with this number, whose code runs next. Earlier times of the same trait count, too."""
        if self._limit is None:
            return
        now = time.monotonic()
        if self._trait is not None:
            self._used[self._trait] = self._used.get(self._trait, 0.0) + now - self._since
        self._trait, self._since = trait, now
        signal.setitimer(signal.ITIMER_REAL, max(0.001, self._limit - self._used.get(trait, 0.0)), INTERVAL)
        if now - self._armed > 1.0:  # at most once per second: it starts a thread
            self._armed = now
            faulthandler.dump_traceback_later(self._limit + 1.0 + LAST_RESORT, exit=True, file=2)

    def _interrupt(self, _number: int, frame: FrameType | None) -> None:
        innermost = frame
        while frame is not None:
            if frame.f_code.co_filename.endswith(_DEBUGGERS):
                self._end()
                return
            frame = frame.f_back
        if innermost is None or innermost.f_code.co_filename in (runner.__file__, failures.__file__, __file__):
            return  # the timer fires again when the trait runs
        raise OutOfTime(f"no answer after {self._limit:g} s")

    def _end(self) -> None:
        """Stop the timer."""
        self._limit = None
        signal.setitimer(signal.ITIMER_REAL, 0)
        faulthandler.cancel_dump_traceback_later()
