"""The pace of the games on our own server, so that people can watch them. Keys change the pace."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable

from sim.game import PLIES_PER_ROUND

#: Times at speed 1: seconds per game, and the largest number of seconds per ply in a short game.
GAME_SECONDS, LONGEST_PLY = 60.0, 0.25
#: The range of speeds.
SLOWEST, FASTEST = 1 / 16, 64.0
#: Largest number of seconds until the program stops after Ctrl-Z.
REST_SECONDS = 2.0
#: For each key that pauses the game and plays single plies, the number of these plies.
STEPS = {"n": 1, "right": 1, "l": 1, ".": 1, "down": PLIES_PER_ROUND, "j": PLIES_PER_ROUND}
#: The text about the keys, for the line at the bottom of the terminal.
KEYS = "space {pause}  + - speed  n one move  e to the end  q quit"


class _HeldPly:
    """A ply that waits until it is due. `since` is the time of the previous ply, in seconds of the event loop's clock."""

    def __init__(self, pace: GamePace, play: Callable[[], None], since: float) -> None:
        self._pace = pace
        self.play, self.since = play, since

    def cancel(self) -> None:
        self._pace.drop(self)


class GamePace:
    """Decides when each ply of our games is played, so that people can watch. It is a `vindibot.server.room.Pacer`.

    At speed 1 a game of `rounds` rounds takes about `GAME_SECONDS` seconds, or less if it has few rounds. No ply is played before
    `begin`. `changed` is called after each change of the pace. `left` is called when the user presses the key to quit.

    - `paused`: whether plies wait for a key.
    - `at_once`: whether plies are played without pauses.
    """

    def __init__(self, rounds: int, changed: Callable[[], None] = lambda: None, left: Callable[[], None] = lambda: None) -> None:
        self._interval = min(LONGEST_PLY, GAME_SECONDS / (PLIES_PER_ROUND * rounds))
        self._changed, self._left = changed, left
        self.speed = 1.0
        self.paused = self.at_once = False
        self._waiting_for, self._begun = "", False
        self._steps = 0  # number of plies that are played while paused
        self._held: list[_HeldPly] = []
        self._timer: asyncio.TimerHandle | None = None
        self._arrived = asyncio.Event()
        self._resting = self._ending = False

    # ---- Plies ----

    def schedule(self, play: Callable[[], None], since: float) -> _HeldPly:
        """Call `play` when the next ply is due. Return this ply, which can be cancelled.

        `since` is the time of the previous ply, in seconds of the event loop's clock.
        """
        ply = _HeldPly(self, play, since)
        self._held.append(ply)
        self._arrived.set()
        self._set_timer()
        return ply

    def drop(self, ply: _HeldPly) -> None:
        """Remove a scheduled ply, so that it is not played."""
        if ply in self._held:
            self._held.remove(ply)
            self._set_timer()

    def _due(self, ply: _HeldPly) -> float:
        return 0.0 if self.at_once or self._steps else ply.since + self._interval / self.speed

    def _set_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if self._held and self._begun and not self._resting and (not self.paused or self._steps or self.at_once):
            self._timer = asyncio.get_running_loop().call_at(min(map(self._due, self._held)), self._play_next)

    def _play_next(self) -> None:
        ply = min(self._held, key=self._due)
        self._held.remove(ply)
        self._steps = max(0, self._steps - 1)
        self._timer = None
        self._set_timer()
        ply.play()

    # ---- Control ----

    def wait_for(self, event: str) -> None:
        """Show the text `event` in the status line in place of the pace, until `begin` is called."""
        self._waiting_for = event
        self._changed()

    def begin(self) -> None:
        """Allow plies to be played. Before this call, all plies wait."""
        self._begun = True
        self._change()

    def end(self) -> None:
        """Play the remaining plies without pauses. From now on, only the key to quit has an effect."""
        self._ending = True
        self.at_once, self.paused = True, False
        self.begin()

    def press(self, key: str) -> None:
        """Perform the action of a key. A key without an action does nothing."""
        if key in ("q", "Q", "\x04"):
            self._left()
        elif self._ending:
            return
        elif key == " ":
            self.paused, self.at_once = self._begun and not self.paused, False
        elif key in STEPS:
            self.paused, self.at_once = True, False
            self._steps += STEPS[key]
        elif key in ("+", "="):
            self.speed = min(FASTEST, 2 * self.speed)
        elif key in ("-", "_"):
            self.speed = max(SLOWEST, self.speed / 2)
        elif key in ("e", "E", "end", "G"):
            self.at_once, self.paused = True, False
        else:
            return
        self.begin()

    def _change(self) -> None:
        self._steps = self._steps if self.paused else 0
        self._set_timer()
        self._changed()

    async def rest(self, done: Callable[[], None]) -> None:
        """Play no ply until `go_on` is called, for example because the user has pressed Ctrl-Z.

        Call `done` when no bot is thinking any more, at the latest after `REST_SECONDS`.
        """
        self._resting = True
        self._set_timer()
        self._arrived.clear()
        if not self._held:
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(REST_SECONDS):
                    await self._arrived.wait()
        done()

    def go_on(self) -> None:
        """Play plies again after a call of `rest`, which has stopped them."""
        self._resting = False
        self._change()

    @property
    def status(self) -> str:
        """The line of text at the bottom of the terminal: the pace of the games, such as "5 rounds/s", and what the keys do."""
        rounds = self.speed / self._interval / PLIES_PER_ROUND
        pace = "paused" if self.paused else "to the end" if self.at_once else f"{rounds:.3g} rounds/s"
        if not self._begun:
            pace = self._waiting_for or "waiting"
        return f"{pace}  {KEYS.format(pause='go on' if self.paused else 'pause')}"
