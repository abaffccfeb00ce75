"""What a person sees while games are played: a live board in a terminal, a plain line per own turn elsewhere.

::

    with Display() as display:
        shown = display.game(names, me)
        ...
        shown.turn(games, ballot, ms_left)
        ...
        shown.finished(outcome, games)

The game comes first. `Shown.turn` only notes what is to be seen; a thread draws the newest state, ten times a second at
most, and writes it. A terminal that is stopped (Ctrl-S) or gone (a broken pipe) stops the thread, never the game, and no
error of a display reaches its caller. Who prints to `Display.console` from elsewhere, as the log does, has the same.
"""

from __future__ import annotations

import math
import os
import sys
import threading
import time
from collections import deque
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Self, TextIO, cast

import structlog
from rich.live import Live
from rich.text import Text

from sim.game import DIRECTIONS, Games
from vindibot.base import printable, terminal
from vindibot.games import Ballot, Outcome
from vindibot.terminal.board import Line, Picture, Shot, layout, rounds

#: Pictures per second at most.
RATE = 10.0
#: Turns that may wait to be seen; the oldest are forgotten.
EVENTS = 10_000
#: Characters that may wait for a terminal that does not take them; more is thrown away.
BACKLOG = 1 << 20
#: Seconds that the end of the program waits for the last picture to be written.
TIMEOUT = 2.0

_log = structlog.get_logger("vindibot.terminal.display")


class _Outbox:
    """A file for rich that never fails, and never blocks while there is a thread that takes what is in it and writes it to
    the true one. Before and after (`threaded` is False) it is written at once."""

    def __init__(self, file: TextIO, wake: threading.Event) -> None:
        self.true = file
        self.encoding = getattr(file, "encoding", None) or "utf-8"
        self._wake = wake
        self._texts: deque[str] = deque()
        self._waiting = 0
        self.gone = False
        self.threaded = False

    def write(self, text: str) -> int:
        if not self.gone and self._waiting < BACKLOG:
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
            return self.true.isatty()
        return False

    def fileno(self) -> int:
        return self.true.fileno()

    def deliver(self) -> None:
        """Write what waits. This may block; only the thread calls it, if there is one."""
        while self._texts and not self.gone:
            try:
                text = self._texts.popleft()
                self._waiting -= len(text)
                self.true.write(text.encode(self.encoding, "replace").decode(self.encoding))
                if not self._texts:
                    self.true.flush()
            except (OSError, ValueError):
                self._give_up()
            except IndexError:
                break  # somebody else was quicker

    def _give_up(self) -> None:
        self.gone = True
        self._texts.clear()
        # What Python still holds for the file would be complained about when the program ends.
        with suppress(OSError, ValueError):
            nowhere = os.open(os.devnull, os.O_WRONLY)
            os.dup2(nowhere, self.true.fileno())
            os.close(nowhere)


class Shown:
    """One game on a display. Its methods return at once and raise nothing."""

    def __init__(self, display: Display, names: Sequence[str], me: int, title: str) -> None:
        self.title = title
        self._display = display
        self._names = tuple(names)
        self._me = me

    def turn(self, games: Games, ballot: Ballot | None, ms_left: float | None = None) -> None:
        """A turn of ours: the state in which we decided, the ballot, and the milliseconds that were left."""
        self.show(Shot(games.copy(), self._me, self._names, ballot, ms_left))

    def show(self, shot: Shot) -> None:
        """Any picture: a state that is not a turn of ours, say. What it shows must not be changed any more."""
        self._display.note(self, shot)

    def finished(self, outcome: Outcome, games: Games | None = None) -> None:
        """The end of the game for us, with the last state if there is one.

        The last picture shows it; a line that says so is for the caller to print."""
        shot = None
        if games is not None:
            shot = Shot(games.copy(), self._me, self._names, ending=outcome.reason, message=outcome.message)
        self._display.note(self, shot, ended=True)


@dataclass(frozen=True)
class _Event:
    """Something to be seen: a turn, or the last state of a game. `staged` if it is for the live board; `line` if it is
    worth a line where there is none, which then begins with `title`."""

    shot: Shot
    staged: bool
    line: bool
    title: str


class Display:
    """Shows games on `file` (standard output if None): live, if it is a terminal that is large enough, else in lines.

    `live` False means lines anywhere. `width` and `height` are those of the terminal unless they are given. If several
    games are shown at once the live board stays with the first until it ends.
    """

    def __init__(
        self, file: TextIO | None = None, *, live: bool = True, width: int | None = None, height: int | None = None
    ) -> None:
        self._wake, self._stop = threading.Event(), threading.Event()
        self._outbox = _Outbox(file if file is not None else sys.stdout, self._wake)
        #: Prints among the pictures or lines without disturbing them, and without ever blocking.
        self.console = terminal(file=cast("TextIO", self._outbox), width=width, height=height)
        self._wanted = live and self.console.is_terminal and not self.console.is_dumb_terminal
        self._running: list[Shown] = []
        self._events: deque[_Event] = deque(maxlen=EVENTS)
        self._live: Live | None = None
        self._thread: threading.Thread | None = None
        #: Processor seconds that the thread has used.
        self.seconds = 0.0

    def __enter__(self) -> Self:
        self._outbox.threaded = True
        self._thread = threading.Thread(target=self._work, name="vindibot-display", daemon=True)
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        self._wake.set()
        if self._thread is not None:
            self._thread.join(TIMEOUT)

    def game(self, names: Sequence[str], me: int, title: str = "") -> Shown:
        """Begin to show a game: the names of heroes 1..4, our hero 0..3, and what to call the game among several."""
        shown = Shown(self, names, me, title)
        self._running.append(shown)
        return shown

    def note(self, shown: Shown, shot: Shot | None, *, ended: bool = False) -> None:
        """In the game's thread: what is to be seen, and nothing more."""
        if shown not in self._running:
            return
        if shot is not None:
            title = f"{printable(shown.title)}: " if shown.title and len(self._running) > 1 else ""
            self._events.append(_Event(shot, shown is self._running[0], not ended, title))
            self._wake.set()
        if ended:
            self._running.remove(shown)

    # ---- In the thread ----

    def _work(self) -> None:
        try:
            while not self._stop.is_set():
                self._wake.wait()
                self._wake.clear()
                self._show()
                self._stop.wait(1 / RATE if self._live is not None else 0)
            self._show(last=True)
            self._outbox.threaded = False
        except Exception as error:
            self._wanted, self._outbox.threaded = False, False
            _log.warning("the display has failed and is off; the game goes on", error=repr(error))

    def _show(self, last: bool = False) -> None:
        """Draw the newest state, or print a line for each; then write it all."""
        started = time.thread_time()
        events: list[_Event] = []
        while self._events:
            events.append(self._events.popleft())
        newest = next((event.shot for event in reversed(events) if event.staged), None)
        picture = self._layout(newest) if newest is not None and self._wanted else None
        if picture is not None:
            self._draw(picture)
        elif newest is not None or not self._wanted:
            self._end_live()
            for event in events:
                if event.line:
                    self.console.print(Text(event.title + turn_line(event.shot)), soft_wrap=True)
        if last:
            self._end_live()
        self.seconds += time.thread_time() - started
        self._outbox.deliver()

    def _layout(self, shot: Shot) -> list[Line] | None:
        width, height = self.console.size
        colour = self.console.color_system is not None and not self.console.no_color
        ascii_only = not self._outbox.encoding.lower().startswith("utf")
        return layout(shot, width, height - 1, colour=colour, ascii_only=ascii_only)

    def _draw(self, lines: list[Line]) -> None:
        if self._live is None:
            self._live = Live(
                console=self.console,
                auto_refresh=False,
                redirect_stdout=False,
                redirect_stderr=False,
                vertical_overflow="crop",
            )
            self._live.start()
        self._live.update(Picture(lines), refresh=True)

    def _end_live(self) -> None:
        """Leave the last picture where it is, and go on below."""
        if self._live is not None:
            self._live.stop()
            self._live = None


def turn_line(shot: Shot) -> str:
    """A turn of ours in one line."""
    game = shot.games[0]
    hero, (played, total) = game["hero"][shot.me], rounds(shot.games)
    ballot = shot.ballot
    parts = [f"round {played}/{total}"]
    if ballot is not None:
        parts[0] += f" {DIRECTIONS[ballot.direction]}{' (fallback)' if ballot.fallback else ''}"
    name = printable(shot.names[shot.me])
    parts.append(f"@{shot.me + 1} {name} life {hero['life']} gold {hero['gold']} mines {hero['mines']}")
    if shot.ms_left is not None and math.isfinite(shot.ms_left):
        parts.append(f"{shot.ms_left:.0f} ms left")
    missing = [f"{printable(entry.label)} {entry.status}" for entry in ballot.entries if entry.status != "ok"] if ballot else []
    return " · ".join(parts + missing)
