"""The reporter for a console. In a terminal it shows a progress bar and the table so far, elsewhere a line every 15 s.

The tournament puts games and notes into a queue. A separate thread takes them out and prints them. So the tournament goes on if
the terminal is stopped (Ctrl-S) or closed.
"""

from __future__ import annotations

import time
from collections import Counter, deque
from collections.abc import Callable
from contextlib import suppress
from queue import Empty, SimpleQueue
from threading import Thread

import structlog
from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from vindibot.arena.report.charts import shortened
from vindibot.arena.report.reporter import Reporter, TournamentInfo
from vindibot.arena.report.summary import bot_stats
from vindibot.arena.report.table import COLUMNS_SO_FAR, WIDTH, points, progress_lines, standings_table
from vindibot.arena.results import GameLine
from vindibot.arena.scores import rate_games, run_sprt
from vindibot.base.output.text import counted, printable
from vindibot.statistics.ratings import Rating

#: Number of updates per second in a terminal, and seconds between two lines of progress elsewhere.
RATE, EVERY = 4.0, 15.0
#: Number of the latest games from which the game rate is computed.
PACE = 200
#: Number of forfeits that are reported one by one, per bot and reason. After them, the 20th, 40th, 80th ... are reported.
TOLD = 5
#: Seconds to wait at the end for the last line to be printed.
TIMEOUT = 2.0
#: Number of bots that the heading names.
NAMED = 6

_log = structlog.get_logger("vindibot.arena")


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


class ConsoleReporter(Reporter):
    """A `Reporter` for people, which prints to `console`.

    In a suitable terminal, it shows a progress bar and a table, and updates them. Elsewhere, it prints a line of progress every
    `EVERY` seconds.
    """

    def __init__(self, console: Console) -> None:
        self.console = console
        self._draws = console.is_terminal and not console.is_dumb_terminal
        self._queue: SimpleQueue[GameLine | str | None] = SimpleQueue()
        self._thread: Thread | None = None
        self._games: list[GameLine] = []
        self._forfeits: Counter[tuple[str, str]] = Counter()
        self._table: RenderableType = ""
        self._table_due = 0.0

    def begin(self, info: TournamentInfo) -> None:
        """Start the thread that prints. See `Reporter`."""
        self._info, self._rate = info, GameRate()
        self._games += info.before
        self._thread = Thread(target=self._work, name="vindibot-arena-console", daemon=True)
        self._thread.start()

    def finished(self, line: GameLine) -> None:
        """See `Reporter`."""
        self._queue.put(line)

    def note(self, text: str) -> None:
        """See `Reporter`. Before `begin`, the line is printed at once."""
        if self._thread is None:
            self._print(text)
        else:
            self._queue.put(text)

    def end(self) -> None:
        """Wait for the last output, at most `TIMEOUT` seconds."""
        self._queue.put(None)
        if self._thread is not None:
            self._thread.join(TIMEOUT)

    # ---- In the thread ----

    def _work(self) -> None:
        try:
            if self._draws:
                # Above the live picture, notes are printed through the same console.
                with Live(console=self.console, auto_refresh=False, transient=True, vertical_overflow="crop") as live:
                    self._follow(lambda: live.update(self._picture(), refresh=True), 1 / RATE)
            else:
                self._print(self._heading())
                self._follow(lambda: self._print(*self.lines()), EVERY)
        except (Exception, SystemExit) as error:  # rich exits the program at a broken pipe
            with suppress(Exception):
                _log.warning("the display has failed and is off; the tournament goes on", error=repr(error))

    def _follow(self, draw: Callable[[], object], pause: float) -> None:
        """Take games and notes out of the queue. Call `draw` every `pause` seconds if anything is new, and at the end."""
        due, fresh = time.monotonic() + (0 if self._draws else pause), True
        while True:
            try:
                item = self._queue.get(timeout=max(0.0, due - time.monotonic()))
                if item is None:
                    if fresh:
                        draw()
                    return
                if isinstance(item, str):
                    self._print(item)
                else:
                    self._games.append(item)
                    self._rate.tick()
                    for text in self._forfeit_notes(item):
                        self._print(text)
                    fresh = True
            except Empty:
                fresh = fresh or self._draws
            if time.monotonic() >= due:
                if fresh:
                    draw()
                due, fresh = time.monotonic() + pause, False

    def _print(self, *lines: str) -> None:
        for line in lines:
            self.console.print(Text(printable(line)), soft_wrap=True)

    def _forfeit_notes(self, line: GameLine) -> list[str]:
        """Return a line for each forfeit in this game that is to be reported (see `TOLD`)."""
        found = []
        for number, seat in enumerate(line.seats, start=1):
            if line.given_up or seat.outcome.finished:
                continue
            kind = seat.bot, seat.outcome.reason
            self._forfeits[kind] += 1
            count = self._forfeits[kind]
            if count <= TOLD or (count % (4 * TOLD) == 0 and (count // (4 * TOLD)).bit_count() == 1):
                which = f" (number {count})" if count > TOLD else ""
                note = f": {seat.outcome.message}" if seat.outcome.message else ""
                found.append(f"block {line.block}, game {line.game}: @{number} {seat.bot} {seat.outcome.reason}{which}{note}")
        return found

    def _machines(self) -> list[str]:
        """Return a line per other machine: its rate, or why it does not play. Empty if this machine plays all games."""
        found = self._info.machines() if self._info.machines is not None else ()
        return [f"  {one}" for one in found]

    def _heading(self) -> str:
        info = self._info
        bots = ", ".join(info.bots[:NAMED]) + (f" and {len(info.bots) - NAMED} more" if len(info.bots) > NAMED else "")
        done = f"; {len(info.before)} of them are there already" if info.before else ""
        at_once = f", {info.workers} at once" if info.workers > 1 and info.machines is None else ""
        return f"{info.title}: {counted(info.games, 'game')} in {counted(info.blocks, 'block')}{at_once}: {bots}{done}"

    def progress(self) -> str:
        """Return a line with the number of games so far, their rate, the time left, and the number of forfeits."""
        done, games, forfeits = len(self._games), self._info.games, self._forfeits.total()
        parts = [f"{done}/{games} games", f"{self._rate.per_minute():.0f} games/min", self._rate.left(max(0, games - done))]
        parts.append(counted(forfeits, "forfeit") if forfeits else "")
        given_up = sum(line.given_up for line in self._games)
        parts.append(f"{given_up} could not be played" if given_up else "")
        return " · ".join(filter(None, parts))

    def _ranked(self) -> list[Rating]:
        """Return the ratings so far, best first."""
        return rate_games(self._games, self._info.bots, anchor=self._info.anchor, resamples=0)

    def lines(self) -> list[str]:
        """Return lines of text: the progress and the best bots with their ratings, then the state of a match of two bots.

        The first line lists as many bots as fit into `WIDTH` characters, at least one.
        """
        found = self.progress()
        for number, one in enumerate(self._ranked()):
            part = f"{', ' if number else ' · '}{shortened(printable(one.bot))} {points(one.rating)}"
            if number and len(found) + len(part) > WIDTH:
                break
            found += part
        return [found, *(f"  {text}" for text in self._match()), *self._machines()]

    def _match(self) -> list[str]:
        """Return the state of a match of two bots in lines of text; no lines for other tournaments."""
        if self._info.sprt is None:
            return []
        a, b = self._info.bots
        return progress_lines(a, b, run_sprt(self._games, a, self._info.sprt))

    def _picture(self) -> RenderableType:
        now = time.monotonic()
        if now >= self._table_due:
            table = standings_table([bot_stats(one.bot, self._games, one) for one in self._ranked()], COLUMNS_SO_FAR)
            self._table = Group("", table, *(Text(line) for line in ["", *self._match()]))
            self._table_due = now + max(1.0, 20 * (time.monotonic() - now))
        progress = self.progress()
        width = max(10, min(30, self.console.width - len(progress) - 2))
        bar = ProgressBar(total=max(1, self._info.games), completed=len(self._games), width=width)
        head = Table.grid(padding=(0, 1))
        head.add_row(bar, Text(progress, no_wrap=True))
        title = Text(printable(self._info.title), style="bold", no_wrap=True, overflow="ellipsis")
        machines = (Text(printable(line), no_wrap=True, overflow="ellipsis") for line in self._machines())
        return Group(title, head, *machines, self._table)
