"""Seats: who decides a hero's moves in one game, whatever it is: traits, something built in, a program.

A seat is used from one thread, start, moves, close. What ends a bot's part in a game before its time is a `Forfeit`; from
then on nobody asks it any more and its hero is crashed, as one whose answers a server does not get.
"""

from __future__ import annotations

import contextlib
import signal
import threading
import time
from collections.abc import Iterator, Sequence
from typing import Protocol

import numpy as np

from sim.game import STAY, Games
from vindibot.arena.entrants import Limits
from vindibot.arena.schedule import SeatTask
from vindibot.config import Bot
from vindibot.engine import Agent, OutOfTime, in_process_voters
from vindibot.games import Ballot, Outcome, Reason


class Forfeit(Exception):  # noqa: N818 - the word of the field
    """A bot's part in a game has ended before the game: `outcome` says why."""

    def __init__(self, reason: Reason, message: str = "") -> None:
        super().__init__(reason, message)
        self.outcome = Outcome(reason, message)


class Seat(Protocol):
    """See the module. `moves` counts the answers so far."""

    def start(self, games: Games, me: int) -> None:
        """The game begins: `games` is the one record before the first ply, `me` our hero (0..3). Raises `Forfeit`."""

    def move(self, games: Games) -> int:
        """The order (0..4) for this state, which must not be changed. Raises `Forfeit`."""

    def close(self) -> None:
        """The game is over, or our part in it is."""


class BuiltIn:
    """``random``: North, South, East or West, each as likely, as the bots of the original server. ``stay``: Stay."""

    def __init__(self, kind: str, seed: int) -> None:
        self._rng = np.random.default_rng(seed) if kind == "random" else None
        self._moves: Iterator[int] = iter(())

    def start(self, games: Games, me: int) -> None:
        """Nothing to do."""

    def move(self, games: Games) -> int:
        """The order."""
        if self._rng is None:
            return STAY
        move = next(self._moves, None)
        if move is None:
            self._moves = iter(self._rng.integers(1, 5, 256).tolist())
            move = next(self._moves)
        return move

    def close(self) -> None:
        """Nothing to do."""


class ScriptedSeat:
    """Repeats the orders of a bot that had to be ended in an earlier attempt at the same game, then forfeits as it did."""

    def __init__(self, moves: Sequence[int], forfeit: Forfeit) -> None:
        self._moves = iter(moves)
        self._forfeit = forfeit

    def start(self, games: Games, me: int) -> None:
        """Nothing to do."""

    def move(self, games: Games) -> int:
        """The next of the orders, then `Forfeit`."""
        move = next(self._moves, None)
        if move is None:
            raise self._forfeit
        return move

    def close(self) -> None:
        """Nothing to do."""


class InProcessSeat:
    """A bot file, its traits in this very process.

    With a number of nodes nothing is timed. Else the stop word is set after `move_ms`; a Python loop that does not look at it
    is interrupted after the grace (in the main thread only); a kernel that does not must be ended from outside. `ballot` is
    that of the last move.
    """

    def __init__(self, bot: Bot, limits: Limits, seed: int, strikes: int = 3) -> None:
        self._limits, self._seed = limits, seed
        self._voters = in_process_voters(bot, strikes)
        self._agent: Agent | None = None
        self._first = True
        self.ballot = Ballot()

    def start(self, games: Games, me: int) -> None:
        """The game begins."""
        self._agent = Agent(self._voters, me, self._seed, nodes=self._limits.nodes)

    def move(self, games: Games) -> int:
        """The order. Raises `Forfeit` for an answer that comes too late, and when all traits have been benched."""
        if self._limits.nodes is not None:
            return self._decide(games, None)
        limit, self._first = self._limits.seconds(first=self._first), False
        allowed = limit + self._limits.grace_ms / 1000
        began = time.monotonic()
        try:
            with _interrupted_after(allowed):
                direction = self._decide(games, limit)
        except OutOfTime:
            raise _late(began) from None
        if time.monotonic() - began > allowed:
            raise _late(began)
        return direction

    def _decide(self, games: Games, limit: float | None) -> int:
        assert self._agent is not None
        self.ballot = self._agent.decide_now(games, limit)
        entries = self.ballot.entries
        if all(health.benched for health in self._voters.health_records):
            raise Forfeit(Reason.CRASH, f"every trait failed: {entries[-1].label}: {entries[-1].note or 'benched'}")
        for entry in entries:
            if entry.status == "error" and entry.note.startswith("MemoryError"):
                raise Forfeit(Reason.MEMORY, f"{entry.label}: {entry.note}")
        return self.ballot.direction

    def close(self) -> None:
        """Let the thread go that keeps the time."""
        self._voters.let_go()


def _late(began: float) -> Forfeit:
    return Forfeit(Reason.TIMEOUT, f"{(time.monotonic() - began) * 1000:.0f} ms for a move")


@contextlib.contextmanager
def _interrupted_after(seconds: float) -> Iterator[None]:
    """Raise `OutOfTime` inside when the time is over. Only where signals can be had, in the main thread of a process."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def late(number: int, frame: object) -> None:
        raise OutOfTime

    before = signal.signal(signal.SIGALRM, late)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def local_seat(task: SeatTask) -> Seat:
    """The seat of a bot that plays inside of this process. Raises `Forfeit` for one that cannot be built."""
    entrant = task.entrant
    if entrant.kind in ("random", "stay"):
        return BuiltIn(entrant.kind, task.seed)
    assert entrant.bot is not None
    try:
        return InProcessSeat(entrant.bot, entrant.limits, task.seed)
    except Exception as problem:
        raise Forfeit(Reason.STALL, f"{type(problem).__name__}: {problem}"[:300]) from problem
