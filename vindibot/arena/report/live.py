"""Reporters show the games of a tournament to people while the tournament runs.

In a terminal, a reporter shows the table so far, elsewhere it prints a line every 15 s. The tournament puts games and notes into
a queue, and a thread takes them out and prints them. So the tournament goes on if the terminal is stopped (Ctrl-S) or closed.
"""

from __future__ import annotations

import time
from collections import Counter, deque
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from queue import Empty, SimpleQueue
from threading import Thread

import structlog
from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.text import Text

from vindibot.arena.report.summary import bot_stats, rate_games, run_sprt
from vindibot.arena.report.table import COLUMNS_SO_FAR, points, progress_lines, standings_table
from vindibot.arena.results import GameLine, MachineStatus
from vindibot.arena.settings import SprtSettings
from vindibot.base.pages import shortened
from vindibot.base.text import counted, printable

#: Number of updates per second in a terminal, and seconds between two lines of progress elsewhere.
RATE, EVERY = 4.0, 15.0
#: Number of the latest games from which the game rate is computed.
PACE = 200
#: Number of forfeits that are reported one by one, per bot and reason.
REPORTED = 5
#: Seconds to wait at the end for the last line to be printed.
TIMEOUT = 2.0
#: Number of bots in a line of progress.
NAMED = 4

_log = structlog.get_logger("vindibot.arena")


@dataclass(frozen=True)
class TournamentInfo:
    """A tournament that begins or continues.

    - `bots`: the labels of the bots, in the order of the configuration.
    - `games`, `blocks`: the numbers of games and blocks in the whole tournament.
    - `before`: the games of earlier runs, if the tournament is resumed.
    - `anchor`: the bot whose rating is 0. If it is None, the mean rating is 0.
    - `sprt`: the settings of the sequential test of a match, None for other tournaments.
    - `machines`: a function that returns the state of the other machines that play, None if this machine plays.
    """

    title: str
    bots: tuple[str, ...]
    games: int
    blocks: int
    before: Sequence[GameLine] = field(default=(), repr=False)
    anchor: str | None = None
    sprt: SprtSettings | None = None
    machines: Callable[[], Sequence[MachineStatus]] | None = field(default=None, repr=False)


def duration(seconds: float) -> str:
    """Return a length of time in words: ``40 s``, ``12 min``, ``3 h 05``."""
    whole = max(0, round(seconds))
    if whole < 100:
        return f"{whole} s"
    if whole < 6000:
        return f"{round(whole / 60)} min"
    return f"{whole // 3600} h {whole % 3600 // 60:02}"


class GameRate:
    """The number of games per minute, measured over the last `PACE` games since this object was made."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._ends: deque[float] = deque([clock()], maxlen=PACE + 1)

    def tick(self) -> None:
        """Count a game that ends now."""
        self._ends.append(self._clock())

    def per_minute(self) -> float:
        """Return the number of games per minute, 0 before the first game has ended."""
        passed = self._clock() - self._ends[0]
        return (len(self._ends) - 1) * 60 / passed if passed > 0 else 0.0

    def left(self, games: int) -> str:
        """Return the time that this number of games will take (``12 min left``), empty if unknown."""
        pace = self.per_minute()
        return f"{duration(games / pace * 60)} left" if pace and games else ""


class Reporter:
    """Shows the games of a tournament on `console`; without one, it shows nothing. No method waits or raises."""

    def __init__(self, console: Console | None = None) -> None:
        self._console = console
        self._queue: SimpleQueue[GameLine | str | None] = SimpleQueue()
        self._thread: Thread | None = None
        self._games: list[GameLine] = []
        self._forfeits: Counter[tuple[str, str]] = Counter()
        self._table: RenderableType = ""
        self._table_due = 0.0

    def begin(self, info: TournamentInfo) -> None:
        """Begin to report on a tournament. Call this once, before its first game."""
        self._info, self._rate = info, GameRate()
        self._games += info.before
        if self._console is not None:
            self._thread = Thread(target=self._work, args=(self._console,), name="vindibot-arena-console", daemon=True)
            self._thread.start()

    def finished(self, line: GameLine) -> None:
        """Report a game that has ended and whose line is written."""
        self._queue.put(line)

    def note(self, text: str) -> None:
        """Show a line of text. Before `begin`, it is printed at once."""
        if self._thread is None:
            self._print(text)
        else:
            self._queue.put(text)

    def end(self) -> None:
        """Report the end of the tournament. Wait for the last output, at most `TIMEOUT` seconds."""
        self._queue.put(None)
        if self._thread is not None:
            self._thread.join(TIMEOUT)

    # ---- In the thread ----

    def _work(self, console: Console) -> None:
        try:
            if console.is_terminal and not console.is_dumb_terminal:
                # Above the live picture, notes are printed through the same console.
                with Live(console=console, auto_refresh=False, transient=True, vertical_overflow="crop") as live:
                    self._follow(lambda: live.update(self._picture(), refresh=True), 1 / RATE)
            else:
                done = f"; {len(self._games)} of them are there already" if self._games else ""
                size = f"{counted(self._info.games, 'game')} in {counted(self._info.blocks, 'block')}"
                self._print(f"{self._info.title}: {size}{done}")
                self._follow(lambda: self._print(*self.status_lines()), EVERY)
        except (Exception, SystemExit) as error:  # rich exits the program at a broken pipe
            with suppress(Exception):
                _log.warning("the display has failed and is off; the tournament goes on", error=repr(error))

    def _follow(self, draw: Callable[[], object], pause: float) -> None:
        """Take games and notes out of the queue. Call `draw` every `pause` seconds, and at the end."""
        item: GameLine | str | None = ""
        while item is not None:
            due = time.monotonic() + pause
            with suppress(Empty):
                while item is not None and (left := due - time.monotonic()) > 0:
                    item = self._queue.get(timeout=left)
                    if isinstance(item, GameLine):
                        self._add(item)
                    elif item is not None:
                        self._print(item)
            draw()

    def _add(self, line: GameLine) -> None:
        """Add a game, and print its forfeits, the first `REPORTED` of each kind."""
        self._games.append(line)
        self._rate.tick()
        for number, seat in enumerate(line.seats, start=1):
            if line.given_up or seat.outcome.finished:
                continue
            kind = seat.bot, seat.outcome.reason
            self._forfeits[kind] += 1
            if self._forfeits[kind] <= REPORTED:
                note = f": {seat.outcome.message}" if seat.outcome.message else ""
                self._print(f"block {line.block}, game {line.game}: @{number} {seat.bot} {seat.outcome.reason}{note}")

    def _print(self, *lines: str) -> None:
        if self._console is None:
            return
        for line in lines:
            self._console.print(Text(printable(line)), soft_wrap=True)

    def progress(self) -> str:
        """Return a line with the number of games so far, their rate, the time left, and the number of forfeits."""
        done, games, forfeits = len(self._games), self._info.games, self._forfeits.total()
        given_up = sum(line.given_up for line in self._games)
        parts = [
            f"{done}/{games} games",
            f"{self._rate.per_minute():.0f} games/min",
            self._rate.left(max(0, games - done)),
            counted(forfeits, "forfeit") if forfeits else "",
            f"{given_up} could not be played" if given_up else "",
        ]
        return " · ".join(filter(None, parts))

    def status_lines(self) -> list[str]:
        """Return lines of text: the progress and the best bots with their ratings, then the match of two bots and machines."""
        ratings = rate_games(self._games, self._info.bots, anchor=self._info.anchor, resamples=0)
        best = ", ".join(f"{shortened(printable(rating.bot))} {points(rating.rating)}" for rating in ratings[:NAMED])
        return [f"{self.progress()} · {best}", *self._more()]

    def _more(self) -> list[str]:
        """Return the state of a match of two bots, and of the other machines."""
        match: list[str] = []
        if self._info.sprt is not None:
            a, b = self._info.bots
            match = progress_lines(a, b, run_sprt(self._games, a, self._info.sprt))
        machines = self._info.machines() if self._info.machines is not None else ()
        return [f"  {line}" for line in (*match, *map(str, machines))]

    def _picture(self) -> RenderableType:
        now = time.monotonic()
        if now >= self._table_due:
            ratings = rate_games(self._games, self._info.bots, anchor=self._info.anchor, resamples=0)
            table = standings_table([bot_stats(rating.bot, self._games, rating) for rating in ratings], COLUMNS_SO_FAR)
            self._table = Group("", table, *(Text(printable(line), no_wrap=True) for line in ["", *self._more()]))
            self._table_due = now + max(1.0, 20 * (time.monotonic() - now))
        title = Text(printable(self._info.title), style="bold", no_wrap=True, overflow="ellipsis")
        return Group(title, Text(self.progress(), no_wrap=True), self._table)
