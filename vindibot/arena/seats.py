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

from behaviours.base import HISTORY, Budget, View
from sim.game import GAME, STAY, Games
from sim.maps import Map, map_of
from vindibot.arena.entrants import Limits
from vindibot.arena.schedule import SeatTask
from vindibot.config import Bot
from vindibot.engine import Inline, conducts, fallback
from vindibot.games import Outcome, Reason, tally

#: Moves between which a thread looks whether the time of one is over are never shorter than this, in seconds.
SHORTEST_LOOK = 0.002


class Forfeit(Exception):  # noqa: N818 - the word of the field
    """A bot's part in a game has ended before the game: `outcome` says why."""

    def __init__(self, reason: Reason, message: str = "") -> None:
        super().__init__(reason, message)
        self.outcome = Outcome(reason, message)


class OutOfTime(BaseException):
    """The time of a move is over: raised in the middle of a trait's Python code, which could not be stopped otherwise."""


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
        self._orders: Iterator[int] = iter(())

    def start(self, games: Games, me: int) -> None:
        """Nothing to do."""

    def move(self, games: Games) -> int:
        """The order."""
        if self._rng is None:
            return STAY
        order = next(self._orders, None)
        if order is None:
            self._orders = iter(self._rng.integers(1, 5, 256).tolist())
            order = next(self._orders)
        return order

    def close(self) -> None:
        """Nothing to do."""


class Scripted:
    """Repeats the orders of a bot that had to be ended in an earlier attempt at the same game, then forfeits as it did."""

    def __init__(self, orders: Sequence[int], forfeit: Forfeit) -> None:
        self._orders = iter(orders)
        self._forfeit = forfeit

    def start(self, games: Games, me: int) -> None:
        """Nothing to do."""

    def move(self, games: Games) -> int:
        """The next of the orders, then `Forfeit`."""
        order = next(self._orders, None)
        if order is None:
            raise self._forfeit
        return order

    def close(self) -> None:
        """Nothing to do."""


class Stopper:
    """Sets a stop word when the time of a move is over.

    One thread for a whole game. It is never told of a move: it sleeps until the deadline it knows, or as long as a move may
    take, and a deadline that is set meanwhile lies behind that. `watch` starts the clock of a move, `rest` stops it.
    """

    def __init__(self, stop: np.ndarray, shortest: float) -> None:
        self._stop, self._shortest = stop, max(SHORTEST_LOOK, shortest)
        self._deadline = float("inf")
        self._ended = threading.Event()
        self._thread: threading.Thread | None = None

    def watch(self, seconds: float) -> None:
        self._stop[0] = 0
        self._deadline = time.monotonic() + seconds
        if self._thread is None:
            self._thread = threading.Thread(target=self._run, name="vindibot-stopper", daemon=True)
            self._thread.start()

    def rest(self) -> None:
        self._deadline = float("inf")

    def close(self) -> None:
        self._ended.set()

    def _run(self) -> None:
        while not self._ended.is_set():
            left = self._deadline - time.monotonic()
            if left <= 0:
                self._stop[0] = 1
                left = self._shortest
            self._ended.wait(min(left, self._shortest))


class InProcess:
    """A bot file, its traits in this very process, as `vindibot.engine.agent.Agent` has them: the same votes, the same sums.

    With a number of nodes nothing is timed. Else the stop word is set after `move_ms`; a Python loop that does not look at it
    is interrupted after the grace (in the main thread only); a kernel that does not must be ended from outside.
    """

    def __init__(self, bot: Bot, limits: Limits, seed: int, strikes: int = 3) -> None:
        self._limits, self._seed = limits, seed
        self._inline = Inline([behaviour for _, behaviour in bot.build()], conducts(bot, strikes))
        self._budget = Budget(limits.nodes)
        self._timed = limits.nodes is None
        self._stopper = Stopper(self._budget.stop, limits.seconds(first=False))
        self._seen: Games = np.zeros(0, GAME)
        self._count = 0
        self._me = 0
        self._map: Map | None = None

    def start(self, games: Games, me: int) -> None:
        """Make room for all states we shall see."""
        self._me = me
        self._map = map_of(games)
        turns = int(games["max_turns"].item(0)) // 4 + 2
        self._seen = np.zeros(turns, GAME)

    def move(self, games: Games) -> int:
        """The order. Raises `Forfeit` for an answer that comes too late, and when all traits have been benched."""
        count, self._count = self._count, self._count + 1
        self._seen[count : count + 1] = games
        view = View(
            self._seen[count : count + 1],
            self._me,
            history=self._seen[max(0, count - HISTORY) : count],
            budget=self._budget,
            seed=self._seed,
            map=self._map,
        )
        if not self._timed:
            return self._decide(view)
        limit = self._limits.seconds(first=count == 0)
        allowed = limit + self._limits.grace_ms / 1000
        began = time.monotonic()
        self._stopper.watch(limit)
        try:
            with _interrupted_after(allowed):
                direction = self._decide(view)
        except OutOfTime:
            raise Forfeit(Reason.TIMEOUT, self._slowest(time.monotonic() - began)) from None
        finally:
            self._stopper.rest()
        spent = time.monotonic() - began
        if spent > allowed:
            raise Forfeit(Reason.TIMEOUT, self._slowest(spent))
        return direction

    def _decide(self, view: View) -> int:
        entries = self._inline.vote_now(view)
        if all(conduct.benched for conduct in self._inline.conducts):
            raise Forfeit(Reason.CRASH, f"every trait failed: {entries[-1].label}: {entries[-1].note or 'benched'}")
        for entry in entries:
            if entry.status == "error" and entry.note.startswith("MemoryError"):
                raise Forfeit(Reason.MEMORY, f"{entry.label}: {entry.note}")
        if all(entry.status != "ok" and entry.votes is None for entry in entries):
            return fallback(view)
        return tally(entries, view.moves, lambda: view.rng("tie")).direction

    def _slowest(self, spent: float) -> str:
        return f"{spent * 1000:.0f} ms for a move"

    def close(self) -> None:
        """Let the thread go."""
        self._stopper.close()


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
        return InProcess(entrant.bot, entrant.limits, task.seed)
    except Exception as problem:
        raise Forfeit(Reason.STALL, f"{type(problem).__name__}: {problem}"[:300]) from problem
