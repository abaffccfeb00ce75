"""Seats that play bots with traits, built-in bots, and lists of moves.

Traits of this project are asked in the process of the game. A bot with other traits, or with a limit of its memory, has a worker
process. So its traits cannot damage the process of the game or of another seat. And two bots in different folders may both have
a ``coward.py``: if a trait imports a module while it votes, it gets the module of its own bot.
"""

from __future__ import annotations

import contextlib
import json
import signal
import time
from collections.abc import Iterable, Iterator, Sequence
from itertools import repeat
from pathlib import Path

import numpy as np
from pydantic import TypeAdapter

from sim import kernels
from sim.game import GAME, STAY, Games
from vindibot.arena.schedule import SeatTask
from vindibot.arena.seats.entrants import Entrant, Limits
from vindibot.arena.seats.programs import last_lines
from vindibot.arena.seats.seat import Forfeit, Seat, TurnNotes
from vindibot.config.bots import Bot, make_importable
from vindibot.engine import forkserver
from vindibot.engine.agent import Agent, in_process_voters
from vindibot.engine.worker_process import Ending, Requests, WorkerEnded, WorkerLate, WorkerProcess
from vindibot.games.ballot import Ballot
from vindibot.games.notes import read_notes, write_notes
from vindibot.games.outcome import Outcome, Reason
from vindibot.games.position import Position

#: The name of the process of a seat, as ``ps`` shows it.
NAME = "vindibot-seat"
#: Seconds that a worker may take to import the bot's modules and to build the bot. A move may take `HANG_MARGIN` seconds longer
#: than its time limit. Without a time limit, it may take `HANG_SECONDS`.
START_SECONDS, HANG_MARGIN, HANG_SECONDS = 40.0, 2.0, 60.0
#: Largest number of bytes of an answer.
LONGEST_ANSWER = 1 << 16
#: The first byte of the answer of a worker: a move (0..4), or one of these.
READY, FORFEIT = 5, 6

_OUTCOME: TypeAdapter[Outcome] = TypeAdapter(Outcome)


class SeatKilledError(Exception):
    """Somebody has killed the process of a seat. It is not known who is at fault."""


class ScriptedSeat(Seat):
    """Plays the moves of a list. After the last move it raises `forfeit`."""

    def __init__(self, moves: Iterable[int], forfeit: Forfeit | None = None) -> None:
        super().__init__()
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
    The stop word is a flag that searches read. If a trait ignores the flag, another process must kill this process.

    `ballot` has all votes for the last move. A trait that failed `strikes` times is benched: it votes no more in this game.
    """

    def __init__(self, bot: Bot, limits: Limits, seed: int, strikes: int = 3, opening: Position | None = None) -> None:
        super().__init__()
        self._limits, self._seed, self._opening = limits, seed, opening
        self._voters = in_process_voters(bot, strikes)
        self._agent: Agent | None = None
        self._first = True
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
        direction = self._decide(games, limit)
        passed = time.monotonic() - began
        if passed > allowed:
            raise Forfeit(Reason.TIMEOUT, f"{passed * 1000:.0f} ms for a move")
        return direction

    def _decide(self, games: Games, limit: float | None) -> int:
        assert self._agent is not None
        self.ballot = self._agent.decide_now(games, limit)
        entries = self.ballot.entries
        self._notes += [TurnNotes(int(games["turn"].item(0)), entry.label, entry.notes) for entry in entries if entry.notes]
        if all(health.benched for health in self._voters.health_records):
            raise Forfeit(Reason.CRASH, f"every trait failed: {entries[-1].label}: {entries[-1].note or 'benched'}")
        for entry in entries:
            if entry.status == "error" and entry.note.startswith("MemoryError"):
                raise Forfeit(Reason.MEMORY, f"{entry.label}: {entry.note}")
        return self.ballot.direction

    def close(self) -> None:
        """End the thread that sets the stop word."""
        self._voters.let_go()


def needs_worker(entrant: Entrant) -> bool:
    """Return whether an entrant plays in a worker process: a bot with traits of its own, or with a limit of its memory."""
    return entrant.bot is not None and (bool(entrant.bot.own_modules) or entrant.limits.memory_mb is not None)


def bot_seat(task: SeatTask, log: Path | None = None, *, forfeits_if_killed: bool = True) -> Seat:
    """Return the seat for a bot file or a built-in bot. For the other parameters see `WorkerSeat`."""
    if needs_worker(task.entrant):
        return WorkerSeat(task, log, forfeits_if_killed=forfeits_if_killed)
    return local_seat(task)


def local_seat(task: SeatTask) -> Seat:
    """Return the seat for a bot file or a built-in bot. If the bot cannot be built, the seat forfeits at its first move."""
    entrant = task.entrant
    if entrant.bot is None:
        return ScriptedSeat(_random_moves(task.seed) if entrant.kind == "random" else repeat(STAY))
    try:
        return InProcessSeat(entrant.bot, entrant.limits, task.seed, opening=task.opening)
    except Exception as problem:
        return ScriptedSeat((), Forfeit(Reason.STALL, f"{type(problem).__name__}: {problem}"))


class WorkerSeat(Seat):
    """Plays a bot file in a worker process. `log` is the file for its output, None for no file.

    The system or a user may kill a process, too. So if a signal SIGKILL ends the worker, `move` raises `SeatKilledError`, unless
    `forfeits_if_killed`.
    """

    def __init__(self, task: SeatTask, log: Path | None = None, *, forfeits_if_killed: bool = True) -> None:
        super().__init__()
        self._log, self._forfeits_if_killed = log, forfeits_if_killed
        self._limits = task.entrant.limits
        self._first = True
        # Several seats of a game start at the same time.
        self._worker = WorkerProcess(forkserver.context(), serve, task, name=NAME, memory_mb=self._limits.memory_mb).start()

    def start(self, games: Games, me: int) -> None:
        """Make the agent that plays hero `me` (0..3). Raises `Forfeit`."""
        if self._ask(bytes([me]) + games.tobytes(), START_SECONDS, Reason.STALL)[0] != READY:
            raise self._malformed()

    def move(self, games: Games) -> int:
        """Return the bot's move. Raises `Forfeit` or `SeatKilledError`."""
        limits = self._limits
        seconds = HANG_SECONDS
        if limits.nodes is None:
            seconds = limits.seconds(first=self._first) + limits.grace_ms / 1000 + HANG_MARGIN
        self._first = False
        answer = self._ask(games.tobytes(), seconds, Reason.TIMEOUT)
        if answer[0] >= READY:
            raise self._malformed()
        if len(answer) > 1:
            self._notes += _read_notes(int(games["turn"].item(0)), answer[1:])
        return answer[0]

    def _ask(self, request: bytes, seconds: float, reason_if_late: Reason) -> bytes:
        """Return the answer to a request, at least one byte. Raises `Forfeit` or `SeatKilledError`."""
        self._worker.send(request)
        seconds = max(0.0, min(seconds, self.deadline - time.monotonic()))
        try:
            answer = self._worker.receive(seconds)
        except WorkerLate:
            self._worker.kill()
            raise Forfeit(reason_if_late, f"it did not come back in {seconds:.1f} s and had to be killed") from None
        except WorkerEnded as problem:
            raise self._fault(problem.ending) from None
        if not answer:
            raise self._malformed()
        if answer[0] == FORFEIT:
            with contextlib.suppress(ValueError):
                outcome = _OUTCOME.validate_json(answer[1:])
                raise Forfeit(outcome.reason, outcome.message)
        return answer

    def _malformed(self) -> Forfeit:
        self._worker.kill()
        return Forfeit(Reason.CRASH, "its process wrote bytes that are no answer")

    def _fault(self, ending: Ending) -> Exception:
        """Return the exception for the end of the worker."""
        if ending.code == -signal.SIGKILL and not self._forfeits_if_killed and self._limits.memory_mb is None:
            return SeatKilledError()
        lines = last_lines(self._worker.output)
        error = f": {lines}" if lines else ""
        if ending.kind == "memory":
            return Forfeit(Reason.MEMORY, f"its process had no memory left{error}")
        return Forfeit(Reason.CRASH, f"its process ended with {ending}{error}")

    def close(self) -> None:
        """End the worker, and write its output to the log."""
        self._worker.close()
        if self._log is not None and self._worker.output:
            with contextlib.suppress(OSError):  # the disk is full: only this output is lost
                self._log.parent.mkdir(parents=True, exist_ok=True)
                self._log.write_bytes(self._worker.output)


# ---- In the worker ----


def serve(requests: Requests, task: SeatTask) -> None:
    """Build the seat of `task`, and answer requests until the game's process ends.

    The first request is the hero (0..3) as a byte, and a state. Its answer is `READY`. Each other request is a state. Its answer
    is the move (0..4) as a byte, and the notes (see `_write_notes`). Every answer may also be `FORFEIT`, with the `Outcome` as
    JSON.
    """
    assert task.entrant.bot is not None
    make_importable(task.entrant.bot.folders)
    seat = local_seat(task)
    kernels.warm()
    first = requests.receive()
    seat.start(_state(first[1:]), first[0])
    requests.send(bytes([READY]))
    for request in requests:
        try:
            move = seat.move(_state(request))
            requests.send((bytes([move]) + _write_notes(seat.take_notes()))[:LONGEST_ANSWER])
        except Forfeit as forfeit:
            requests.send(bytes([FORFEIT]) + _OUTCOME.dump_json(forfeit.outcome)[:LONGEST_ANSWER])


def _state(data: bytes) -> Games:
    return np.frombuffer(data, GAME).copy()  # kernels need memory that can be written


def _write_notes(parts: Sequence[TurnNotes]) -> bytes:
    """Return what traits said on one turn, as bytes: for each trait a line with its label, and a line with its notes."""
    return b"".join(json.dumps(part.source).encode() + b"\n" + write_notes(part.notes) + b"\n" for part in parts)


def _read_notes(turn: int, data: bytes) -> list[TurnNotes]:
    """Return what `_write_notes` has turned into `data`. What cannot be read is dropped: the end of a long answer was cut off."""
    lines = data.split(b"\n")
    parts = []
    for label, notes in zip(lines[::2], lines[1::2], strict=False):
        with contextlib.suppress(ValueError):
            parts.append(TurnNotes(turn, str(json.loads(label)), read_notes(notes)))
    return parts
