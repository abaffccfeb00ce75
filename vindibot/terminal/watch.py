"""``vindibot watch``: show a game in the terminal, live or recorded. Without a terminal, print a line per ply."""

from __future__ import annotations

import asyncio
import contextlib
import re
import time
from bisect import bisect_right
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, aclosing, asynccontextmanager
from dataclasses import replace

from rich.console import Console

from vindibot.base.errors import UsageError
from vindibot.base.output.console import say, terminal
from vindibot.base.output.text import printable
from vindibot.base.paths import given_path
from vindibot.games.history import GameHistory
from vindibot.terminal.board import Frame
from vindibot.terminal.display import Display
from vindibot.terminal.keyboard import keyboard
from vindibot.terminal.lines import ending_text, lines_of, move_word
from vindibot.terminal.stream import GameAddress, Watcher

#: Plies per second at speed 1, and the range of speeds.
PLIES_PER_SECOND = 4.0
SLOWEST, FASTEST = 0.25, 64.0
#: Number of plies by which a key moves forward; negative: backward.
STEPS = {"right": 1, "left": -1, "down": 4, "up": -4, ".": 1, ",": -1, "n": 1, "p": -1, "l": 1, "h": -1, "j": 4, "k": -4}
KEYS = "space pause  arrows step  + - speed  Home End  q quit"
#: Number of lines that the command prints below the last board.
LINES_BELOW = 2


class Playback:
    """The position in a game, and the speed of its playback. This class needs no terminal. `now` is always the time in seconds.

    `position` is the number of the state that is shown. While `following` is True, it is always the newest state of a live game.
    `turn` is the turn (the protocol's number) at which playback begins and pauses. `quit` says that the user wants to leave.
    """

    def __init__(
        self, history: GameHistory, now: float, *, speed: float | None = None, turn: int | None = None, following: bool = False
    ) -> None:
        self.history, self.speed = history, speed or 1.0
        self.position = 0 if turn is None else history.at_turn(turn)
        self.following = following
        self.paused = turn is not None and not following
        self.quit = False
        self._since = now  # when the state that is shown was due

    def press(self, key: str, now: float) -> None:
        """Perform the action of a key (see `keys_in`). A key without an action does nothing."""
        last = len(self.history)
        if key in ("q", "Q", "\x04"):
            self.quit = True
        elif key == " ":
            restart = self.paused and self.history.complete and self.position == last
            self.paused, self.position = not self.paused, 0 if restart else self.position
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

    def resume(self, now: float) -> None:
        """Go on at the time `now` after the program was stopped."""
        self._since = now

    def advance(self, now: float) -> None:
        """Move to the state that is due at the time `now`."""
        last = len(self.history)
        if self.following:
            self.position = last
        elif not self.paused and self.position < last:
            plies_per_second = self.speed * PLIES_PER_SECOND
            due = int((now - self._since) * plies_per_second)
            if due <= 0:
                return
            self._since += due / plies_per_second
            self.position = min(last, self.position + due)
        if self.position >= last:  # at the newest state of a live game: follow it
            self._since = now
            self.following = self.following or not (self.history.complete or self.paused)

    @property
    def moving(self) -> bool:
        """Whether playback goes on to the next state by itself."""
        return not self.paused and not self.following and self.position < len(self.history)

    def wait(self, now: float) -> float | None:
        """Return the seconds until the next state is due, None if no state is due."""
        return max(0.0, self._since + 1 / (self.speed * PLIES_PER_SECOND) - now) if self.moving else None

    def frame(self) -> Frame:
        """Return the frame of the current state, with our latest ballot up to this state, if there is one."""
        history, number = self.history, self.position
        ply = history[number - 1] if number else None
        games = ply.after if ply is not None else history.state(0)
        at_end = history.complete and number == len(history)
        mode = "the end" if at_end else "paused" if self.paused else "live" if self.following else f"{self.speed:g}x"
        mover = ply.mover if ply is not None else None
        voted = bisect_right(list(history.ballots), number) - 1
        ballot_at = list(history.ballots)[voted] if voted >= 0 else None
        ballot = history.ballots[ballot_at] if ballot_at is not None else None
        return Frame(
            games,
            history.me if history.me is not None else mover or 0,
            history.names,
            ballot,
            ballot.margin_ms if ballot is not None else None,
            ending=ending_text(history) if at_end else "",
            message=history.ranking() if at_end else "",
            move=f"@{ply.mover + 1} {move_word(ply.move)}" if ply and ply.mover is not None and ply.move is not None else "",
            voted=history.turn(ballot_at) if ballot_at is not None else None,
            status=f"{mode}  {KEYS}",
            traits=max((len(known.entries) for known in history.ballots.values()), default=0),
        )


async def _follow(history: GameHistory, watcher: Watcher, game: str, changed: asyncio.Event) -> None:
    """Append the states of a game on a server to its history, and set `changed` each time."""
    try:
        async with aclosing(watcher.states(game)) as states:
            async for state in states:
                history.append(state)
                changed.set()
    finally:
        history.end()
        changed.set()


@asynccontextmanager
async def _live_history(address: GameAddress, console: Console, changed: asyncio.Event) -> AsyncIterator[GameHistory]:
    """Yield the history of a running game on a server. The history grows within the ``async with`` block.

    If an error has ended the stream of states, the end of the block raises this error.
    """
    watcher = Watcher(address.server, lambda text: say(console, printable(text), "dim"))
    try:
        game = address.game or await watcher.newest()
        history = GameHistory(game)
        task = asyncio.create_task(_follow(history, watcher, game, changed))
        try:
            yield history
            if task.done():
                task.result()
        finally:
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)
    finally:
        await watcher.aclose()


# ---- With a terminal ----


async def _play_back(playback: Playback, display: Display, changed: asyncio.Event) -> None:
    """Show the game until the user quits. Without a keyboard or without a state, stop when the game is over."""
    history = playback.history
    shown = display.game(history.names, 0, f"game {history.id}")
    before: tuple[int, str] | None = None

    def press(key: str) -> None:
        playback.press(key, time.monotonic())
        changed.set()

    async def stopping() -> None:
        display.leave_board()

    def resumed() -> None:
        nonlocal before
        before = None
        playback.resume(time.monotonic())
        changed.set()

    with keyboard(press, stopping, resumed) as has_keys:
        while not playback.quit:
            changed.clear()
            playback.advance(time.monotonic())
            if history:
                frame = playback.frame()
                if before != (playback.position, frame.status):
                    before = playback.position, frame.status
                    shown.show(frame)
            if history.complete and (not history or (not has_keys and not playback.moving)):
                break
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(playback.wait(time.monotonic())):
                    await changed.wait()
    if history:
        shown.show(replace(playback.frame(), status=""))


# ---- The command ----


def watch_game(source: str, *, game: str | None, turn: int | None, speed: float | None, lines: bool) -> None:
    """Show a game from a file or from a server. The parameters are those of the command ``vindibot watch``.

    Raises `VindibotError`, for example if the file or the server does not exist.
    """
    console = terminal()
    live_board = not lines and console.is_terminal and not console.is_dumb_terminal
    found: GameHistory | GameAddress
    if _is_address(source):
        found = GameAddress.parse(source)
        if game is not None and found.game:
            raise UsageError("the address names a game already; leave --game out, or give the server's address alone")
        found = GameAddress(found.server, game or found.game)
    else:
        found = GameHistory.read(given_path(source), game)
    history = asyncio.run(_watch(found, console, turn, speed, live_board=live_board))
    ended = f"ended: {ending_text(history)}" if history.complete else "goes on"
    say(console, printable(f"game {history.id} {ended}; {history.ranking()}"), "bold")


def _is_address(source: str) -> bool:
    """Return whether `source` is an address: it has a scheme, or it has a port and is not the name of a file."""
    return "://" in source or (not given_path(source).exists() and re.match(r"[\w.-]+:\d+(/|$)", source) is not None)


async def _watch(
    found: GameHistory | GameAddress, console: Console, turn: int | None, speed: float | None, *, live_board: bool
) -> GameHistory:
    """Show a game on the live board or as lines, and return its history."""
    changed = asyncio.Event()
    async with AsyncExitStack() as stack:
        display = stack.enter_context(Display(below=LINES_BELOW)) if live_board else None
        if on_server := isinstance(found, GameAddress):
            notes = display.console if display is not None else console
            history = await stack.enter_async_context(_live_history(found, notes, changed))
        else:
            history = found
        if display is None:
            await _print(history, console, turn or 0, None if on_server else speed, changed)
            return history
        while not history and not history.complete:
            changed.clear()
            await changed.wait()
        following = on_server and turn is None and speed is None
        playback = Playback(history, time.monotonic(), speed=speed, turn=turn, following=following)
        await _play_back(playback, display, changed)
    return history


async def _print(history: GameHistory, console: Console, turn: int, speed: float | None, changed: asyncio.Event) -> None:
    """Print a line per state, from `turn` until the game is complete. With `speed`, pause between the lines."""
    printed = 0
    while True:
        changed.clear()
        if history and (history.complete or history.turn(-1) >= turn):
            for line in lines_of(history, max(printed, history.at_turn(turn))):
                say(console, printable(line))
                if speed is not None:
                    await asyncio.sleep(1 / (speed * PLIES_PER_SECOND))
        printed = len(history) + 1 if history else 0
        if history.complete:
            return
        await changed.wait()
