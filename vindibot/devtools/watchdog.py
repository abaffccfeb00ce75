"""A limit for traits that are asked in this very process: what does not come back is ended and named."""

from __future__ import annotations

import faulthandler
import signal
import threading
import time
from types import FrameType, TracebackType
from typing import Any, Self

from vindibot.engine import OutOfTime, failures, runner

#: Seconds after which a trait that has caught `OutOfTime` is interrupted again.
AGAIN = 0.2
#: Seconds beyond the limit at which the whole process ends: the trait is in compiled code that cannot be interrupted.
LAST_RESORT = 3.0
#: Files whose code is on the stack while a user looks at a trait in a debugger.
_DEBUGGERS = ("bdb.py", "pydevd.py")


class Watchdog:
    """Raises `OutOfTime` in a trait that has run for more than `limit` seconds (None: never); use it with ``with``.

    `watch` must be called with a trait's number each time before its code runs, as `vindibot.engine.runner.run` does. Time in a
    debugger ends the watch. Compiled code that never returns cannot be interrupted: there the process prints its stack, with
    the trait's line, and ends with exit code 1. Without effect outside of the main thread.
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
            self._before = signal.signal(signal.SIGALRM, self._ring), signal.setitimer(signal.ITIMER_REAL, 0)
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        if self._before is not None:
            self._end()
            handler, timer = self._before
            signal.signal(signal.SIGALRM, handler)
            signal.setitimer(signal.ITIMER_REAL, *timer)

    def watch(self, trait: int) -> None:
        """The code of this trait runs next."""
        if self._limit is None:
            return
        now = time.monotonic()
        if self._trait is not None:
            self._used[self._trait] = self._used.get(self._trait, 0.0) + now - self._since
        self._trait, self._since = trait, now
        signal.setitimer(signal.ITIMER_REAL, max(0.001, self._limit - self._used.get(trait, 0.0)), AGAIN)
        if now - self._armed > 1.0:  # not each time: it starts a thread
            self._armed = now
            faulthandler.dump_traceback_later(self._limit + 1.0 + LAST_RESORT, exit=True, file=2)

    def _ring(self, _number: int, frame: FrameType | None) -> None:
        innermost = frame
        while frame is not None:
            if frame.f_code.co_filename.endswith(_DEBUGGERS):
                self._end()
                return
            frame = frame.f_back
        if innermost is None or innermost.f_code.co_filename in (runner.__file__, failures.__file__, __file__):
            return  # it rings again in a moment, when the trait runs
        raise OutOfTime(f"no answer after {self._limit:g} s")

    def _end(self) -> None:
        """Watch no more."""
        self._limit = None
        signal.setitimer(signal.ITIMER_REAL, 0)
        faulthandler.cancel_dump_traceback_later()
