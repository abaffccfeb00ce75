"""A display of running games. In a terminal it is a live board, elsewhere a plain line per turn of ours.

::

    with Display() as display:
        game = display.game(names, me)
        ...
        game.turn(games, ballot, ms_left)
        game.played(ply)  # if the plies between our turns are known immediately
        ...
        game.finished(outcome, games)

The display never delays a game. `GameDisplay.turn` only queues a frame. A thread draws the newest frame and writes it, at most
`RATE` times per second. If the terminal is stopped (Ctrl-S) or closed (a broken pipe), only this thread stops. The caller of a
display gets no error. Other code that prints to `Display.console`, such as the log, gets no error either.
"""

from __future__ import annotations

import math
import os
import sys
import threading
from collections import deque
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any, Self, TextIO, cast

import structlog
from rich.console import Console
from rich.live import Live
from rich.segment import SegmentLines

from sim.game import CRASH, DIRECTIONS, Games
from vindibot.base.console import say, terminal
from vindibot.base.text import printable
from vindibot.games.ballot import Ballot
from vindibot.games.history import Ply
from vindibot.games.outcome import Outcome
from vindibot.terminal.board import Frame, Line, layout, rounds

#: Largest number of frames drawn per second.
RATE = 20.0
#: Largest number of queued frames. If there are more, the oldest are dropped.
LONGEST_QUEUE = 10_000
#: Largest number of characters that wait for a terminal. Further characters are dropped.
BACKLOG = 1 << 20
#: Largest number of seconds that the program waits at its end until the last frame is written.
TIMEOUT = 2.0
#: Largest number of seconds that the program waits until the live board has ended.
LEAVE_SECONDS = 0.5

_log = structlog.get_logger("vindibot.terminal.display")


class _QueuedFile:
    """A file for rich that wraps `file` and never raises an error.

    While `threaded` is True, this file never blocks: a thread calls `deliver`, which writes to `file`. While `threaded` is False,
    each flush writes to `file` immediately.
    """

    def __init__(self, file: TextIO, wake: threading.Event) -> None:
        self._file = file
        self.encoding = getattr(file, "encoding", None) or "utf-8"
        self._wake = wake
        self._texts: deque[str] = deque()
        self._waiting = 0
        self._broken = False
        self.threaded = False

    def write(self, text: str) -> int:
        if not self._broken and self._waiting < BACKLOG:
            self._texts.append(text)
            self._waiting += len(text)
        return len(text)

    def flush(self) -> None:
        if self.threaded:
            self._wake.set()
        else:
            self.deliver()

    def isatty(self) -> bool:
        with suppress(Exception):
            return self._file.isatty()
        return False

    def fileno(self) -> int:
        return self._file.fileno()

    def deliver(self) -> None:
        """Write the queued texts to the file. This call may block. If there is a thread, only the thread calls it."""
        while self._texts and not self._broken:
            try:
                text = self._texts.popleft()
                self._waiting -= len(text)
                self._file.write(text.encode(self.encoding, "replace").decode(self.encoding))
                if not self._texts:
                    self._file.flush()
            except (OSError, ValueError):
                self._give_up()
            except IndexError:
                break  # another thread took the last text

    def _give_up(self) -> None:
        self._broken = True
        self._texts.clear()
        # Otherwise, at the end of the program, Python fails to write its own buffer and prints an error.
        with suppress(OSError, ValueError):
            null = os.open(os.devnull, os.O_WRONLY)
            os.dup2(null, self._file.fileno())
            os.close(null)


class GameDisplay:
    """One game on a display. The methods return immediately and raise nothing.

    The votes of a turn are shown until our next turn. `me` is our hero (0..3).
    """

    def __init__(self, display: Display, names: Sequence[str], me: int, title: str) -> None:
        self.title = title
        self._display = display
        self._blank: dict[str, Any] = {"me": me, "names": tuple(names)}
        self._newest: Frame | None = None
        self._status = ""

    def turn(self, games: Games, ballot: Ballot | None, ms_left: float | None = None) -> None:
        """Show a turn of ours: the state in which we decided, the ballot, and the milliseconds that were left."""
        turn, before = int(games["turn"].item(0)), self._newest
        move = before.move if before is not None and before.turn == turn else ""
        frame = Frame(games.copy(), ballot=ballot, ms_left=ms_left, voted=turn, move=move, **self._blank)
        self.show(frame, line=True)

    def played(self, ply: Ply) -> None:
        """Show the state after a ply on the live board. Without a live board, print nothing."""
        known = ply.mover is not None and ply.move is not None
        word = "crashed" if ply.move == CRASH else DIRECTIONS[ply.move or 0]
        self.show(replace(self._last_votes(ply.after), move=f"@{(ply.mover or 0) + 1} {word}" if known else ""))

    def finished(self, outcome: Outcome, games: Games | None = None) -> None:
        """Show the end of the game on the live board, if there is a last state. Without a live board, print nothing."""
        self._status = ""
        if games is not None:
            last = self._last_votes(games.copy())
            self.show(replace(last, ending=outcome.reason, message=outcome.message, move="", status=""))
        self._display.end(self)

    def show(self, frame: Frame, *, line: bool = False) -> None:
        """Show a frame of any state. The caller must not change the frame's arrays afterwards.

        Without a live board, print a line if `line` is True.
        """
        self._newest = replace(frame, status=frame.status or self._status)
        self._display.add(self, self._newest, line=line)

    def set_status(self, status: str) -> None:
        """Show a line of text below the live board, "" for no line."""
        self._status = status
        if self._newest is not None:
            self.show(replace(self._newest, status=status))

    def _last_votes(self, games: Games) -> Frame:
        """Return a frame of a state with the votes of our last turn."""
        return Frame(games, **self._blank) if self._newest is None else replace(self._newest, games=games)


@dataclass(frozen=True)
class _Event:
    """A queued frame. `on_board` says whether the live board shows the frame.

    Without a live board, the frame becomes a line that begins with `title`. If `title` is None, there is no line.
    """

    frame: Frame
    on_board: bool
    title: str | None


class Display:
    """A display that writes to `file`, None for standard output. A large terminal gets a live board, other files get lines.

    If `live` is False, all output is lines. `width` and `height` replace the size of the terminal. If there are several games at
    the same time, the live board shows the first game until this game ends.

    `below` is the number of lines that the caller prints after the last frame. If the terminal has enough lines, the live board
    leaves space for them, so that the whole last frame stays visible.
    """

    def __init__(
        self,
        file: TextIO | None = None,
        *,
        live: bool = True,
        width: int | None = None,
        height: int | None = None,
        below: int = 0,
    ) -> None:
        self._wake, self._stop = threading.Event(), threading.Event()
        self._output = _QueuedFile(file if file is not None else sys.stdout, self._wake)
        #: A console that prints above the live board or between the lines. It never blocks.
        self.console = terminal(file=cast("TextIO", self._output), width=width, height=height)
        self.live_board = live and self.console.is_terminal and not self.console.is_dumb_terminal
        self._below = below
        self._running: list[GameDisplay] = []
        self._events: deque[_Event] = deque(maxlen=LONGEST_QUEUE)
        self._live: Live | None = None
        self._leaving, self._left = False, threading.Event()
        self._thread: threading.Thread | None = None

    def __enter__(self) -> Self:
        self._output.threaded = True
        self._thread = threading.Thread(target=self._work, name="vindibot-display", daemon=True)
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        self._wake.set()
        if self._thread is not None:
            self._thread.join(TIMEOUT)

    def game(self, names: Sequence[str], me: int, title: str = "") -> GameDisplay:
        """Begin to show a game, and return its `GameDisplay`.

        `names` are the names of heroes 1..4, `me` is our hero (0..3). `title` distinguishes the game from others.
        """
        game = GameDisplay(self, names, me, title)
        self._running.append(game)
        return game

    def add(self, game: GameDisplay, frame: Frame, *, line: bool) -> None:
        """Queue a frame of a game. Without a live board, print a line if `line` is True.

        The thread that plays the game calls this method.
        """
        if game in self._running:
            title = f"{printable(game.title)}: " if game.title and len(self._running) > 1 else ""
            self._events.append(_Event(frame, game is self._running[0], title if line else None))
            self._wake.set()

    def end(self, game: GameDisplay) -> None:
        """Accept no more frames of a game."""
        if game in self._running:
            self._running.remove(game)

    def leave_board(self) -> None:
        """End the live board, and wait at most `LEAVE_SECONDS` for its end. The last frame stays visible.

        Call this before other programs write to the terminal. The next frame begins a new board.
        """
        if self._thread is not None and self._thread.is_alive():
            self._left.clear()
            self._leaving = True
            self._wake.set()
            self._left.wait(LEAVE_SECONDS)

    # ---- In the thread ----

    def _work(self) -> None:
        try:
            while not self._stop.is_set():
                self._wake.wait()
                self._wake.clear()
                self._show()
                if self._leaving:
                    self._leaving = False
                    self._end_live()
                    self._output.deliver()
                    self._left.set()
                self._stop.wait(1 / RATE if self._live is not None else 0)
            self._show()
            self._end_live()
            self._output.threaded = False
            self._output.deliver()
        except Exception as error:
            self.live_board, self._output.threaded = False, False
            _log.warning("the display has failed and is off; the game goes on", error=repr(error))

    def _show(self) -> None:
        """Draw the newest frame, or print a line per frame. Then write to the file."""
        events: list[_Event] = []
        while self._events:
            events.append(self._events.popleft())
        newest = next((event.frame for event in reversed(events) if event.on_board), None)
        lines = fitting_lines(newest, self.console, self._below) if newest is not None and self.live_board else None
        if lines is not None:
            self._draw(lines)
        elif newest is not None or not self.live_board:
            self._end_live()
            for event in events:
                if event.title is not None:
                    say(self.console, event.title + turn_line(event.frame))
        self._output.deliver()

    def _draw(self, lines: list[Line]) -> None:
        if self._live is None:
            options: dict[str, Any] = {"auto_refresh": False, "redirect_stdout": False, "redirect_stderr": False}
            self._live = Live(console=self.console, vertical_overflow="crop", **options)
            self._live.start()
        self._live.update(SegmentLines(lines, new_lines=True), refresh=True)

    def _end_live(self) -> None:
        """End the live board. The board's last frame stays above the next lines."""
        if self._live is not None:
            self._live.stop()
            self._live = None


def fitting_lines(frame: Frame, console: Console, below: int = 0) -> list[Line] | None:
    """Return the lines of a frame for a terminal, None if the terminal is too small. Leave `below` lines free, if possible."""
    width, height = console.size
    colour = console.color_system is not None and not console.no_color
    ascii_only = not console.encoding.lower().startswith("utf")
    for lines_below in (below, 0):
        lines = layout(frame, width, height - 1 - lines_below, colour=colour, ascii_only=ascii_only)
        if lines is not None:
            return lines
    return None


def turn_line(frame: Frame) -> str:
    """Return a line about a turn of ours: round, move, our hero, milliseconds left, and each trait that failed or was late."""
    hero, (played, total) = frame.games[0]["hero"][frame.me], rounds(frame.games)
    ballot = frame.ballot
    parts = [f"round {played}/{total}"]
    if ballot is not None:
        parts[0] += f" {DIRECTIONS[ballot.direction]}{' (fallback)' if ballot.fallback else ''}"
    name = printable(frame.names[frame.me])
    parts.append(f"@{frame.me + 1} {name} life {hero['life']} gold {hero['gold']} mines {hero['mines']}")
    if frame.ms_left is not None and math.isfinite(frame.ms_left):
        parts.append(f"{frame.ms_left:.0f} ms left")
    missing = [f"{printable(entry.label)} {entry.status}" for entry in ballot.entries if entry.status != "ok"] if ballot else []
    return " · ".join(parts + missing)
