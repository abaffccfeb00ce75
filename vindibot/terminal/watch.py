"""``vindibot watch``: a game in the terminal, live or recorded, by keys; a line for each ply where there is no terminal."""

from __future__ import annotations

import asyncio
import contextlib
import math
import os
import re
import signal
import sys
import time
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import aclosing, asynccontextmanager, contextmanager
from pathlib import Path

from rich.console import Console

from vindibot.base import UsageError, printable, terminal
from vindibot.games import GameHistory
from vindibot.terminal.board import Shot
from vindibot.terminal.display import Display, Shown
from vindibot.terminal.lines import ending_of, lines_of, move_word
from vindibot.terminal.stream import GameAddress, Watcher

#: Plies a second at speed 1, and the speeds there are.
PACE = 4.0
SLOWEST, FASTEST = 0.25, 64.0
#: What a key does; a step is in plies.
STEPS = {"right": 1, "left": -1, "down": 4, "up": -4, ".": 1, ",": -1, "n": 1, "p": -1, "l": 1, "h": -1, "j": 4, "k": -4}
KEYS = "space, arrows, + -, Home End, q"
_SEQUENCES = {"A": "up", "B": "down", "C": "right", "D": "left", "H": "home", "F": "end", "1~": "home", "4~": "end"}
_KEY = re.compile(r"\x1b[\[O]([A-DHF]|[14]~)|\x1b\[[0-9;]*[@-~]|(.)", re.DOTALL)


def keys_in(text: str) -> Iterator[str]:
    """The keys in what a terminal sent: letters, "up", "down", "left", "right", "home", "end"; others are left out."""
    for found in _KEY.finditer(text):
        if found[1] is not None:
            yield _SEQUENCES[found[1]]
        elif found[2] is not None:
            yield found[2]


class Projector:
    """Where in a game we are, and how it moves on; no terminal, no clock of its own. Times are seconds.

    `position` is the number of the state that is shown. A viewer that follows a live game is always at its newest state.
    """

    def __init__(
        self, history: GameHistory, now: float, *, speed: float | None = None, turn: int | None = None, following: bool = False
    ) -> None:
        self.history, self.speed = history, speed or 1.0
        self.position = 0 if turn is None else history.at_turn(turn)
        self.following = following
        self.paused = turn is not None and not following
        self.over = False  # whether the viewer wants to leave
        self._since = now  # when the state that is shown was due

    def press(self, key: str, now: float) -> None:
        """A key was pressed."""
        last = len(self.history)
        if key in ("q", "Q", "\x04"):
            self.over = True
        elif key == " ":
            again = self.paused and self.history.complete and self.position == last
            self.paused, self.position = not self.paused, 0 if again else self.position
            self.following = False
        elif key in STEPS:
            self.paused, self.following = True, False
            self.position = max(0, min(last, self.position + STEPS[key]))
        elif key in ("home", "g", "0"):
            self.position, self.following = 0, False
        elif key in ("end", "G", "$"):
            self.position, self.following, self.paused = last, not self.history.complete, False
        elif key in ("+", "="):
            self.speed = min(FASTEST, self.speed * 2)
        elif key == "-":
            self.speed = max(SLOWEST, self.speed / 2)
        else:
            return
        self._since = now

    def advance(self, now: float) -> None:
        """Move on to where the viewer should be by now."""
        last = len(self.history)
        if self.following:
            self.position = last
        elif not self.paused and self.position < last:
            due = int((now - self._since) * self.speed * PACE)
            if due <= 0:
                return
            self._since += due / (self.speed * PACE)
            self.position = min(last, self.position + due)
        if self.position >= last:  # a live game goes on from here
            self._since = now
            self.following = self.following or not (self.history.complete or self.paused)

    @property
    def moving(self) -> bool:
        """Whether the next state comes by itself."""
        return not self.paused and not self.following and self.position < len(self.history)

    def wait(self, now: float) -> float | None:
        """Seconds until something changes by itself, None for never."""
        return max(0.0, self._since + 1 / (self.speed * PACE) - now) if self.moving else None

    def shot(self) -> Shot:
        """The picture of the state that is shown, with what the keys have done to it."""
        history, number = self.history, self.position
        ply = history[number - 1] if number else None
        games = ply.after if ply is not None else history.state(0)
        at_end = history.complete and number == len(history)
        state = "the end" if at_end else "paused" if self.paused else "live" if self.following else f"{self.speed:g}x"
        mover = ply.mover if ply is not None else None
        said = f"@{ply.mover + 1} {move_word(ply.move)}" if ply and ply.mover is not None and ply.move is not None else ""
        ballot = history.ballots.get(number)
        left = ballot.margin_ms if ballot is not None and math.isfinite(ballot.margin_ms) else None
        me = history.me if history.me is not None else mover if mover is not None else 0
        message = "" if ballot is not None else ending_of(history) if at_end else said
        return Shot(games, me, history.names, ballot, left, message, f"{state} | {KEYS}")


async def _follow(history: GameHistory, watcher: Watcher, game: str, grown: Callable[[], None]) -> None:
    """Let a history grow with what a server tells of its game."""
    try:
        async with aclosing(watcher.states(game)) as states:
            async for state in states:
                history.append(state)
                grown()
    finally:
        history.end()
        grown()


@asynccontextmanager
async def _live(
    place: GameAddress, tell: Callable[[str], None], grown: Callable[[], None]
) -> AsyncIterator[tuple[GameHistory, asyncio.Task[None]]]:
    """The history of a game on a server, and the task that makes it grow."""
    watcher = Watcher(place.server, tell)
    try:
        game = place.game or await watcher.newest()
        history = GameHistory(game)
        task = asyncio.create_task(_follow(history, watcher, game, grown))
        try:
            yield history, task
        finally:
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)
    finally:
        await watcher.aclose()


# ---- With a terminal ----


@contextmanager
def _keyboard(press: Callable[[str], None]) -> Iterator[bool]:
    """Each key as it is pressed, without echo; False where standard input is no terminal. Needs a running loop."""
    try:
        import termios
        import tty

        number = sys.stdin.fileno()
        before = termios.tcgetattr(number)
    except (ImportError, OSError, ValueError, termios.error):
        yield False
        return
    loop = asyncio.get_running_loop()

    def read() -> None:
        data = os.read(number, 1024)
        if not data:
            loop.remove_reader(number)
        for key in keys_in(data.decode(errors="ignore")):
            press(key)

    def take() -> None:
        with contextlib.suppress(termios.error):
            tty.setcbreak(number, termios.TCSANOW)

    take()
    loop.add_reader(number, read)
    loop.add_signal_handler(signal.SIGCONT, take)  # the shell gave us back the terminal as it likes it
    try:
        yield True
    finally:
        loop.remove_signal_handler(signal.SIGCONT)
        loop.remove_reader(number)
        with contextlib.suppress(termios.error):
            termios.tcsetattr(number, termios.TCSADRAIN, before)


async def _project(projector: Projector, shown: Shown, changed: asyncio.Event) -> None:
    """Show the game until it is over, or until the viewer has had enough; without keys it ends by itself."""
    before: tuple[int, str] | None = None

    def press(key: str) -> None:
        projector.press(key, time.monotonic())
        changed.set()

    with _keyboard(press) as keys:
        while not projector.over:
            changed.clear()
            projector.advance(time.monotonic())
            if projector.history:
                shot = projector.shot()
                if before != (projector.position, shot.message):
                    before = projector.position, shot.message
                    shown.show(shot)
            if not keys and projector.history.complete and not projector.moving:
                return
            if not projector.history and projector.history.complete:
                return
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(projector.wait(time.monotonic())):
                    await changed.wait()


# ---- The command ----


def watch_game(source: str, *, game: str | None, turn: int | None, speed: float | None, lines: bool) -> None:
    """Show a game from a file or on a server; see the command. Raises `VindibotError`."""
    console = terminal()
    drawn = not lines and console.is_terminal and not console.is_dumb_terminal
    if _is_address(source):
        place = GameAddress.parse(source)
        if game is not None and place.game:
            raise UsageError("the address names a game already; leave --game out, or give the server's address alone")
        asyncio.run(_watch_live(GameAddress(place.server, game or place.game), console, turn, speed, drawn))
        return
    history = GameHistory.read(source, game)
    if drawn:
        asyncio.run(_watch_file(history, turn, speed))
    else:
        asyncio.run(_print_file(history, console, turn, speed))
    _conclude(history, console)


def _is_address(source: str) -> bool:
    """Whether a source is on a server: it says so, or it names a port and no file is called that."""
    return "://" in source or (not Path(source).exists() and re.match(r"[\w.-]+:\d+(/|$)", source) is not None)


async def _watch_file(history: GameHistory, turn: int | None, speed: float | None) -> None:
    projector = Projector(history, time.monotonic(), speed=speed, turn=turn)
    with Display() as display:
        shown = display.game(history.names, history.me or 0, f"game {history.id}")
        await _project(projector, shown, asyncio.Event())


async def _print_file(history: GameHistory, console: Console, turn: int | None, speed: float | None) -> None:
    """All states as lines, at once unless a speed is wanted."""
    for line in lines_of(history, history.at_turn(turn) if turn is not None else 0):
        _say(console, line)
        if speed is not None:
            await asyncio.sleep(1 / (speed * PACE))


async def _watch_live(place: GameAddress, console: Console, turn: int | None, speed: float | None, drawn: bool) -> None:
    changed = asyncio.Event()
    display = Display() if drawn else None
    with display or contextlib.nullcontext():
        out = display.console if display is not None else console
        async with _live(place, lambda text: _say(out, text, "dim"), changed.set) as (history, task):
            if display is not None:
                while not history and not task.done():
                    changed.clear()
                    await changed.wait()
                following = turn is None and speed is None
                projector = Projector(history, time.monotonic(), speed=speed, turn=turn, following=following)
                await _project(projector, display.game(history.names, -1, f"game {history.id}"), changed)
            else:
                await _print_live(history, console, turn or 0, changed)
            if task.done() and not task.cancelled():
                task.result()
    _conclude(history, console)


async def _print_live(history: GameHistory, console: Console, turn: int, changed: asyncio.Event) -> None:
    """The states of a live game as lines, as they come."""
    printed = 0
    while True:
        changed.clear()
        if history and history.turn(-1) >= turn:
            for line in lines_of(history, max(printed, history.at_turn(turn))):
                _say(console, line)
        printed = len(history) + 1 if history else 0
        if history.complete:
            return
        await changed.wait()


def _conclude(history: GameHistory, console: Console) -> None:
    ended = f"ended: {ending_of(history)}" if history.complete else "goes on"
    _say(console, f"game {history.id} {ended}; {history.ranking()}", "bold")


def _say(console: Console, text: str, style: str = "") -> None:
    console.print(printable(text), style=style, markup=False, highlight=False, soft_wrap=True)
