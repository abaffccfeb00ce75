"""Seats: a seat decides the moves of one hero in one game. It plays a bot with traits, a program, or a list of moves.

Use a seat in one thread: call `start`, then `move` for each ply of its hero, then `close`. If the seat raises `Forfeit`, the
bot's part in the game ends: do not call `move` again. Its hero crashes, as if the bot had not answered a server in time.
"""

from __future__ import annotations

import contextlib
import signal
import threading
import time
from collections.abc import Iterable, Iterator
from itertools import repeat
from math import inf
from typing import NamedTuple

import numpy as np

from behaviours.notes import Note
from sim.game import STAY, Games
from vindibot.arena.schedule import SeatTask
from vindibot.arena.seats.entrants import Limits
from vindibot.config.bots import Bot
from vindibot.engine.agent import Agent, in_process_voters
from vindibot.engine.failures import OutOfTime
from vindibot.games.ballot import Ballot
from vindibot.games.outcome import Outcome, Reason
from vindibot.games.position import Position


class Forfeit(Exception):  # noqa: N818 - the word of the field
    """The end of a bot's part in a game. `outcome` has the reason and a message."""

    def __init__(self, reason: Reason, message: str = "") -> None:
        message = message.encode(errors="replace").decode()  # a trait may raise an error whose text no file can store
        super().__init__(reason, message)
        self.outcome = Outcome(reason, message)


class Said(NamedTuple):
    """What a bot said on a turn: the protocol's turn, the source (`vindibot.games.notes.GameNote`) and the notes."""

    turn: int
    source: str
    notes: tuple[Note, ...]


class Seat:
    """Decides the moves of one hero. A seat should not wait after `deadline`, a monotonic time in seconds: the game ends then.

    `surplus` is the first output of a program that belongs to no turn.
    """

    deadline = inf
    surplus = ""

    def start(self, games: Games, me: int) -> None:
        """Prepare for hero `me` (0..3) before the first ply. `games` is an array with one game.

        Raises `Forfeit` if the bot cannot be started.
        """

    def move(self, games: Games) -> int:
        """Return the move (0..4) for the state `games`. The state is not changed.

        Raises `Forfeit` if the bot gives no valid move in time.
        """
        raise NotImplementedError

    def close(self) -> None:
        """Release all resources of the seat. Call this after the game or after a forfeit."""

    def said(self) -> list[Said]:
        """Return what the bot has said since the last call of this method. Call it after each move and after `close`."""
        return []


class ScriptedSeat(Seat):
    """Plays the moves of a list. After the last move it raises `forfeit`."""

    def __init__(self, moves: Iterable[int], forfeit: Forfeit | None = None) -> None:
        self._moves = iter(moves)
        self._forfeit = forfeit

    def move(self, games: Games) -> int:
        """Return the next move of the list. Raises `Forfeit` after the last one."""
        move = next(self._moves, None)
        if move is None:
            assert self._forfeit is not None, "only an endless list of moves may have no forfeit"
            raise self._forfeit
        return move


def _random_moves(seed: int) -> Iterator[int]:
    """Yield random moves forever: North, South, East and West are equally likely, as for the original server's bots."""
    rng = np.random.default_rng(seed)
    while True:
        yield from rng.integers(1, 5, 256).tolist()


class InProcessSeat(Seat):
    """Plays a bot file. The bot's traits run in this process.

    With a node budget there is no time limit. Otherwise the seat sets the stop word when the time limit of the move has passed.
    The stop word is a flag that searches read. If a Python loop ignores the flag, it is interrupted `grace_ms` later, but only in
    the main thread. If a kernel ignores the flag, another process must kill this process.

    `ballot` has all votes for the last move. A trait that failed `strikes` times is benched: it votes no more in this game.
    """

    def __init__(self, bot: Bot, limits: Limits, seed: int, strikes: int = 3, opening: Position | None = None) -> None:
        self._limits, self._seed, self._opening = limits, seed, opening
        self._voters = in_process_voters(bot, strikes)
        self._agent: Agent | None = None
        self._first = True
        self._said: list[Said] = []
        self.ballot = Ballot()

    def start(self, games: Games, me: int) -> None:
        """Make the agent that plays hero `me` (0..3). The agent has seen the turns of this hero in the opening of the game."""
        self._agent = Agent(self._voters, me, self._seed, nodes=self._limits.nodes)
        for before in self._opening.turns_of(me) if self._opening is not None else ():
            self._agent.see(before)

    def move(self, games: Games) -> int:
        """Return the bot's move. Raises `Forfeit` if it comes too late, if all traits are benched, or if memory runs out."""
        if self._limits.nodes is not None:
            return self._decide(games, None)
        limit, self._first = self._limits.seconds(first=self._first), False
        allowed = limit + self._limits.grace_ms / 1000
        began = time.monotonic()
        direction = None
        with contextlib.suppress(OutOfTime), _interrupted_after(allowed):
            direction = self._decide(games, limit)
        passed = time.monotonic() - began
        if direction is None or passed > allowed:
            raise Forfeit(Reason.TIMEOUT, f"{passed * 1000:.0f} ms for a move")
        return direction

    def _decide(self, games: Games, limit: float | None) -> int:
        assert self._agent is not None
        self.ballot = self._agent.decide_now(games, limit)
        entries = self.ballot.entries
        self._said += [Said(int(games["turn"].item(0)), entry.label, entry.notes) for entry in entries if entry.notes]
        if all(health.benched for health in self._voters.health_records):
            raise Forfeit(Reason.CRASH, f"every trait failed: {entries[-1].label}: {entries[-1].note or 'benched'}")
        for entry in entries:
            if entry.status == "error" and entry.note.startswith("MemoryError"):
                raise Forfeit(Reason.MEMORY, f"{entry.label}: {entry.note}")
        return self.ballot.direction

    def close(self) -> None:
        """End the thread that sets the stop word."""
        self._voters.let_go()

    def said(self) -> list[Said]:
        """Return what the traits have said since the last call."""
        said, self._said = self._said, []
        return said


@contextlib.contextmanager
def _interrupted_after(seconds: float) -> Iterator[None]:
    """Raise `OutOfTime` in the ``with`` block after this number of seconds. Do nothing outside the main thread.

    Only the main thread gets the signal that this function uses.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def late(number: int, frame: object) -> None:
        raise OutOfTime

    before, began = signal.signal(signal.SIGALRM, late), time.monotonic()
    left, _ = signal.setitimer(signal.ITIMER_REAL, seconds)  # of somebody else's timer, 0 for none
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
        if left:
            signal.setitimer(signal.ITIMER_REAL, max(1e-6, left - (time.monotonic() - began)))


def local_seat(task: SeatTask) -> Seat:
    """Return the seat for a bot file or a built-in bot. If the bot cannot be built, the seat forfeits at its first move."""
    entrant = task.entrant
    if entrant.bot is None:
        return ScriptedSeat(_random_moves(task.seed) if entrant.kind == "random" else repeat(STAY))
    try:
        return InProcessSeat(entrant.bot, entrant.limits, task.seed, opening=task.opening)
    except Exception as problem:
        return ScriptedSeat((), Forfeit(Reason.STALL, f"{type(problem).__name__}: {problem}"))
