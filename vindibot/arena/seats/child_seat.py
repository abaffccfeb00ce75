"""Child seats: seats that play a bot file in a child process of their own.

Every bot with traits that are not of this project plays in such a seat. So its traits cannot damage the process of the game or
of another seat. And two bots in different folders may both have a ``coward.py``: if a trait imports a module while it votes, it
gets the module of its own bot.

The child gets the state of the game in the memory that it shares with its owner. It sends moves with notes, and forfeits (see
`serve`), which are the only data that the owner reads.
"""

from __future__ import annotations

import contextlib
import json
import pickle
import signal
import time
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from pydantic import TypeAdapter

from sim import kernels
from sim.game import GAME, Games
from vindibot.arena.schedule import SeatTask
from vindibot.arena.seats.entrants import Entrant
from vindibot.arena.seats.programs import last_lines
from vindibot.arena.seats.seat import Forfeit, Said, Seat, local_seat
from vindibot.base.errors import VindibotError
from vindibot.config.bots import Bot, make_importable
from vindibot.games.notes import read_notes, write_notes
from vindibot.games.outcome import Outcome, Reason
from vindibot.processes.child import Child
from vindibot.processes.ending import ChildEnded, ChildEnding, ChildLate
from vindibot.processes.frames import FIRST_KIND, READY, ChildFrame
from vindibot.processes.inside import Owner
from vindibot.processes.requests import ChildLimits, Needs

#: What a child runs, and the name of its process.
RUN, NAME = "vindibot.arena.seats.child_seat:serve", "vindibot-seat"
#: The kinds of frames: two requests and two answers.
START, MOVE, MOVED, FORFEIT = range(FIRST_KIND, FIRST_KIND + 4)
#: Seconds that a seat may take to import the bot's modules and to build the bot. A move may take `HANG_MARGIN` seconds longer
#: than its time limit. Without a time limit, it may take `HANG_SECONDS`.
START_SECONDS, HANG_MARGIN, HANG_SECONDS = 40.0, 2.0, 60.0
#: Largest number of bytes of an answer, number of moves, and number of attempts to start a child.
LONGEST_ANSWER, MOVES, ATTEMPTS = 1 << 16, 5, 3
#: Largest length of the label of a trait in a note.
LONGEST_LABEL = 80
#: The reasons for which a bot file may forfeit.
_REASONS = (Reason.TIMEOUT, Reason.MEMORY, Reason.CRASH, Reason.STALL)

_OUTCOME: TypeAdapter[Outcome] = TypeAdapter(Outcome)


class SeatKilled(Exception):  # noqa: N818  # an event: nobody knows who is at fault
    """Somebody has killed or stopped the process of a seat."""


def needs_of(bot: Bot) -> Needs:
    """Return what a process needs to build a bot."""
    return Needs(bot.folders, bot.modules)


def needs_child(entrant: Entrant) -> bool:
    """Return whether an entrant plays in a child process: a bot with foreign traits, or a bot with a limit of its memory."""
    return entrant.bot is not None and (bool(needs_of(entrant.bot).foreign) or entrant.limits.memory_mb is not None)


class ChildSeat(Seat):
    """Plays a bot file in a child process. `log` is the file for its output, None for no file.

    The system or a user may kill or stop a process, too. If a signal SIGKILL or SIGSTOP ends the child, `move` raises
    `SeatKilled`, unless `forfeits_if_killed`.
    """

    def __init__(self, task: SeatTask, log: Path | None = None, *, forfeits_if_killed: bool = True) -> None:
        self._task, self._log, self._forfeits_if_killed = task, log, forfeits_if_killed
        self._limits = task.entrant.limits
        self._first = True
        self._said: list[Said] = []
        self._child: Child | None = None
        self._child = self._new_child()  # several seats of a game start at the same time

    def _new_child(self) -> Child:
        bot = self._task.entrant.bot
        assert bot is not None
        return Child(
            RUN,
            pickle.dumps(self._task),
            needs=needs_of(bot),
            limits=ChildLimits(memory_mb=self._limits.memory_mb, frame=LONGEST_ANSWER),
            memory=GAME.itemsize,
            kinds=(MOVED, FORFEIT),
            name=NAME,
        ).__enter__()

    def start(self, games: Games, me: int) -> None:
        """Make the agent that plays hero `me` (0..3). Raises `Forfeit`, and `VindibotError` if no process can be started."""
        for _ in range(ATTEMPTS):
            try:
                answer = self._ask(START, games, bytes([me]), START_SECONDS)
            except _NotStarted as problem:  # a process that starts processes has ended
                reason = problem
                self.close()
                self._child = self._new_child()
                continue
            if answer.kind != READY:
                self._refuse()
            return
        raise VindibotError(f"no process could be started for {self._task.entrant.label}: {reason}")

    def move(self, games: Games) -> int:
        """Return the bot's move. Raises `Forfeit` or `SeatKilled`."""
        limits = self._limits
        seconds = HANG_SECONDS
        if limits.nodes is None:
            seconds = limits.seconds(first=self._first) + limits.grace_ms / 1000 + HANG_MARGIN
        self._first = False
        answer = self._ask(MOVE, games, b"", seconds)
        if answer.kind != MOVED or not answer.payload or answer.payload[0] >= MOVES:
            self._refuse()
        if len(answer.payload) > 1:
            self._said += _read_said(int(games["turn"].item(0)), answer.payload[1:])
        return answer.payload[0]

    def said(self) -> list[Said]:
        """Return what the traits have said since the last call."""
        said, self._said = self._said, []
        return said

    def _ask(self, kind: int, games: Games, payload: bytes, seconds: float) -> ChildFrame:
        """Send a request with the state `games`, and return the answer."""
        assert self._child is not None
        self._child.memory[:] = games.view(np.uint8).data
        self._child.send(kind, payload)
        try:
            answer = self._child.receive(max(0.0, min(seconds, self.deadline - time.monotonic())))
        except ChildLate:
            self._child.kill()
            words = f"it did not come back in {seconds:.1f} s and had to be killed"
            raise Forfeit(Reason.STALL if kind == START else Reason.TIMEOUT, words) from None
        except ChildEnded as ended:
            raise self._fault(ended.ending) from None
        if answer.kind == FORFEIT:
            with contextlib.suppress(ValueError):
                outcome = _OUTCOME.validate_json(answer.payload)
                if outcome.reason in _REASONS:
                    raise Forfeit(outcome.reason, outcome.message)
            self._refuse()
        return answer

    def _refuse(self) -> None:
        """End the child, and raise the forfeit for an answer that is none."""
        assert self._child is not None
        self._child.end_as_malformed()
        raise Forfeit(Reason.CRASH, "its process wrote bytes that are no answer")

    def _fault(self, ending: ChildEnding) -> Exception:
        """Return the exception for the end of the child."""
        assert self._child is not None
        error = last_lines(self._child.output)
        match ending.kind:
            case "not started":
                return _NotStarted(str(ending))
            case "malformed":
                return Forfeit(Reason.CRASH, "its process wrote bytes that are no answer")
            case "memory":
                return Forfeit(Reason.MEMORY, "its process had no memory left" + (f": {error}" if error else ""))
            case "killed" if ending.code in (-signal.SIGKILL, -signal.SIGSTOP) and not self._forfeits_if_killed:
                return SeatKilled()
        return Forfeit(Reason.CRASH, f"its process ended with {ending}" + (f": {error}" if error else ""))

    def close(self) -> None:
        """End the child, and write its output to the log."""
        child, self._child = self._child, None
        if child is None:
            return
        child.take()
        child.close()
        if self._log is not None and child.output:
            with contextlib.suppress(OSError):  # the disk is full: only this output is lost
                self._log.parent.mkdir(parents=True, exist_ok=True)
                self._log.write_bytes(child.output)


class _NotStarted(Exception):  # noqa: N818
    """There was no process. This is not the fault of a bot."""


# ---- In the child ----


def serve(owner: Owner) -> None:
    """Build the seat of the `SeatTask` in the setup, and answer requests until the owner ends.

    ::

        request                          answer
        START: hero (0..3) as a byte     READY
        MOVE                             MOVED: the move (0..4) as a byte, then the notes (see `_write_said`)

    The memory has the state. The answer may also be FORFEIT with the `Outcome` as JSON.
    """
    task: SeatTask = owner.setup_object()
    games = np.frombuffer(owner.memory, GAME)
    seat = Seat()
    for frame in owner.requests():
        try:
            if frame.kind == START:
                assert task.entrant.bot is not None
                make_importable(task.entrant.bot.folders)
                seat = local_seat(task)
                kernels.warm()
                seat.start(games, frame.payload[0])
                owner.send(READY)
            else:
                move = seat.move(games)
                owner.send(MOVED, (bytes([move]) + _write_said(seat.said()))[:LONGEST_ANSWER])
        except Forfeit as forfeit:
            owner.send(FORFEIT, _OUTCOME.dump_json(forfeit.outcome)[:LONGEST_ANSWER])


def _write_said(said: Sequence[Said]) -> bytes:
    """Return what traits said on one turn, as bytes: for each trait a line with its label, and a line with its notes."""
    return b"".join(json.dumps(one.source).encode() + b"\n" + write_notes(one.notes) + b"\n" for one in said)


def _read_said(turn: int, data: bytes) -> list[Said]:
    """Return what `_write_said` has turned into `data`. What cannot be read is dropped: foreign code may have written it."""
    lines = data.split(b"\n")
    said = []
    for label, notes in zip(lines[::2], lines[1::2], strict=False):
        with contextlib.suppress(ValueError, RecursionError):
            said.append(Said(turn, str(json.loads(label))[:LONGEST_LABEL], read_notes(notes)))
    return said
