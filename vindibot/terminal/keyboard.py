"""Reads the keys of the terminal on standard input, one by one and without echo.

At the end of the ``with`` block of `keyboard`, the terminal gets its former mode back, even after an error. While the program is
stopped (Ctrl-Z), the terminal has its former mode too.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import re
import signal
import sys
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from typing import Any

_SEQUENCES = {"A": "up", "B": "down", "C": "right", "D": "left", "H": "home", "F": "end", "1~": "home", "4~": "end"}
_KEY = re.compile(r"\x1b[\[O]([A-DHF]|[14]~)|\x1b\[[0-9;]*[@-~]|(.)", re.DOTALL)
#: The beginning of an escape sequence at the end of what was read: a slow connection may deliver a sequence in pieces.
_CUT = re.compile(r"\x1b([\[O][0-9;]*)?\Z")
#: Seconds between two attempts to get the terminal back while the program runs in the background.
_BACKGROUND_SECONDS = 0.5


def keys_in(text: str) -> Iterator[str]:
    """Yield the keys in a text from a terminal: characters, "up", "down", "left", "right", "home", "end". Skip other keys."""
    for match in _KEY.finditer(text):
        if match[1] is not None:
            yield _SEQUENCES[match[1]]
        elif match[2] is not None:
            yield match[2]


@contextmanager
def keyboard(
    press: Callable[[str], None], stopping: Callable[[], Awaitable[None]], resumed: Callable[[], None]
) -> Iterator[bool]:
    """Within the ``with`` block, call `press` with each key (see `keys_in`). Yield whether standard input is a terminal.

    If standard input is no terminal, nothing is read or changed. So it is on Windows, whose terminal works in another way. After
    Ctrl-Z, the program calls `stopping`, then it stops. `resumed` is called when the program goes on. There must be a running
    event loop.
    """
    terminal = _terminal()
    if terminal is None:
        yield False
        return
    number, mode = terminal
    keys = _Keys(number, mode, press, stopping, resumed)
    keys.begin()
    try:
        yield True
    finally:
        keys.end()


def _terminal() -> tuple[int, list[Any]] | None:
    """Return the file descriptor and the mode of the terminal on standard input; None if there is no terminal."""
    try:
        import termios
    except ImportError:  # Windows
        return None
    try:
        number = sys.stdin.fileno()
        return number, termios.tcgetattr(number)
    except (AttributeError, OSError, ValueError, termios.error):
        return None


class _Keys:
    """Reads keys from the terminal with the file descriptor `number`. `mode` is the terminal's former mode."""

    def __init__(
        self,
        number: int,
        mode: list[Any],
        press: Callable[[str], None],
        stopping: Callable[[], Awaitable[None]],
        resumed: Callable[[], None],
    ) -> None:
        self._number, self._mode = number, mode
        self._press, self._stopping, self._resumed = press, stopping, resumed
        self._loop = asyncio.get_running_loop()
        self._retry: asyncio.TimerHandle | None = None
        self._task: asyncio.Task[None] | None = None
        self._cut = ""  # the beginning of an escape sequence whose rest is still to come

    def begin(self) -> None:
        self._loop.add_signal_handler(signal.SIGTSTP, self._stop_soon)
        self._loop.add_signal_handler(signal.SIGCONT, self._continue)
        self._take()

    def end(self) -> None:
        self._loop.remove_signal_handler(signal.SIGTSTP)
        self._loop.remove_signal_handler(signal.SIGCONT)
        if self._task is not None:
            self._task.cancel()
        self._release()

    def _in_foreground(self) -> bool:
        """Return whether this process may use the terminal. The system stops a background process that uses its terminal."""
        try:
            return os.tcgetpgrp(self._number) == os.getpgrp()
        except OSError:  # a terminal without job control
            return True

    def _take(self) -> None:
        """Read keys from now on. If the program runs in the background, try again later."""
        import termios
        import tty

        self._cancel_retry()
        if not self._in_foreground():
            self._loop.remove_reader(self._number)
            self._retry = self._loop.call_later(_BACKGROUND_SECONDS, self._take)
            return
        with contextlib.suppress(termios.error):
            tty.setcbreak(self._number, termios.TCSANOW)
        self._loop.add_reader(self._number, self._read)

    def _release(self) -> None:
        """Read no more keys, and restore the mode of the terminal."""
        import termios

        self._cancel_retry()
        self._loop.remove_reader(self._number)
        if self._in_foreground():
            with contextlib.suppress(termios.error):
                termios.tcsetattr(self._number, termios.TCSANOW, self._mode)

    def _cancel_retry(self) -> None:
        if self._retry is not None:
            self._retry.cancel()
            self._retry = None

    def _read(self) -> None:
        if not self._in_foreground():
            self._take()
            return
        try:
            data = os.read(self._number, 1024)
        except OSError:  # the terminal is gone
            data = b""
        if not data:
            self._loop.remove_reader(self._number)
        text = self._cut + data.decode(errors="ignore")
        cut = _CUT.search(text)
        self._cut = cut[0] if cut is not None else ""
        for key in keys_in(text.removesuffix(self._cut)):
            self._press(key)

    # ---- Ctrl-Z ----

    def _stop_soon(self) -> None:
        if self._task is None or self._task.done():
            self._task = self._loop.create_task(self._stop())

    async def _stop(self) -> None:
        await self._stopping()
        self._release()
        # The default action stops this process here. If there is no shell that could continue the process, it does not stop.
        self._loop.remove_signal_handler(signal.SIGTSTP)
        os.kill(os.getpid(), signal.SIGTSTP)
        self._loop.add_signal_handler(signal.SIGTSTP, self._stop_soon)
        self._continue()

    def _continue(self) -> None:
        self._take()
        self._resumed()
