"""Separate seats: seats that play a bot file in a process of their own.

Bots without traits of their own share the process of a game. Every bot with traits of its own has a separate seat. So its traits
cannot damage the process of the game or of another seat. And two bots in different folders may both have a ``coward.py``: if a
trait imports a module while it votes, it gets the module of its own bot.
"""

from __future__ import annotations

import contextlib
import faulthandler
import os
import signal
import traceback
import warnings
from collections.abc import Callable
from multiprocessing.connection import Connection, Pipe
from typing import NoReturn

import numpy as np
from pydantic import TypeAdapter

from sim.game import Games
from vindibot.arena.schedule import SeatTask
from vindibot.arena.seats import Forfeit, Seat, local_seat
from vindibot.base import die_with_parent
from vindibot.games import Outcome, Reason

#: Largest number of bytes of an answer, number of moves, and a number that no descriptor reaches.
LONGEST_ANSWER, MOVES, MOST_DESCRIPTORS = 1 << 16, 5, 1 << 16

_OUTCOME: TypeAdapter[Outcome] = TypeAdapter(Outcome)


class SeparateSeat(Seat):
    """Plays a bot file in a process that is forked from this process.

    The new process calls `prepare` before it builds the bot. It has no descriptor of this process but its standard streams. If
    the new process dies, this process ends in the same way: with the same signal or the same exit code. The parent of this
    process then looks for the seat at fault, as if the bot had played in this process.
    """

    def __init__(self, task: SeatTask, prepare: Callable[[], None]) -> None:
        self._connection, theirs = Pipe()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)  # it warns of other threads, but a game has none when it begins
            self._pid = os.fork()
        if self._pid == 0:
            _close_all_but(theirs.fileno())
            _serve(task, prepare, theirs)
        theirs.close()
        self._answer()

    def start(self, games: Games, me: int) -> None:
        """Make the agent that plays hero `me` (0..3). Raises `Forfeit`."""
        with contextlib.suppress(OSError):  # the process has died: `_answer` notices it
            self._connection.send((games, me))
        self._answer()

    def move(self, games: Games) -> int:
        """Return the bot's move. Raises `Forfeit`."""
        with contextlib.suppress(OSError):
            self._connection.send_bytes(games.tobytes())
        return self._answer()

    def close(self) -> None:
        """Close the connection. The process of the seat ends when it reads its next request."""
        self._connection.close()

    def _answer(self) -> int:
        try:
            answer = self._connection.recv_bytes(LONGEST_ANSWER)
            return answer[0] if len(answer) == 1 and answer[0] in range(MOVES) else _forfeit(answer)
        except EOFError:
            _, status = os.waitpid(self._pid, 0)
            _end_as(os.waitstatus_to_exitcode(status))
        except (OSError, ValueError):
            with contextlib.suppress(ProcessLookupError):
                os.kill(self._pid, signal.SIGKILL)
            raise Forfeit(Reason.CRASH, "its process wrote bytes that are no answer") from None


def _forfeit(answer: bytes) -> NoReturn:
    """Raise the forfeit in an answer. Raises `ValueError` if the answer is none."""
    outcome = _OUTCOME.validate_json(answer)
    raise Forfeit(outcome.reason, outcome.message)


def _close_all_but(one: int) -> None:
    """Close all descriptors of this process but the standard streams and one more."""
    os.closerange(3, one)
    os.closerange(one + 1, MOST_DESCRIPTORS)


def _end_as(code: int) -> NoReturn:
    """End this process with an exit code, or with the signal `-code` if `code` is negative."""
    if code < 0:
        faulthandler.disable()  # the process of the seat has printed its stack
        if -code not in (signal.SIGKILL, signal.SIGSTOP):
            signal.signal(-code, signal.SIG_DFL)
        os.kill(os.getpid(), -code)
    os._exit(code)


def _serve(task: SeatTask, prepare: Callable[[], None], connection: Connection) -> NoReturn:
    """Build the seat, send a byte, and answer requests. When the connection ends, end this process.

    The first request is the pair (games, me) for `Seat.start`, pickled. Each further request is the state for `Seat.move`, as the
    bytes of its array: unpickling would take four times as long. An answer is the move as one byte (0 to the first request), or
    the outcome of a `Forfeit` as JSON.
    """
    code = 1
    try:
        die_with_parent()
        prepare()
        seat = local_seat(task)
        connection.send_bytes(bytes(1))
        games, me = connection.recv()

        def start() -> int:
            seat.start(games, me)
            return 0

        connection.send_bytes(_answered(start))
        state = games.view(np.uint8)
        while True:
            connection.recv_bytes_into(state)
            connection.send_bytes(_answered(lambda: seat.move(games)))
    except (EOFError, ConnectionError):
        code = 0
    except BaseException:
        traceback.print_exc()
    finally:
        os._exit(code)


def _answered(ask: Callable[[], int]) -> bytes:
    """Return the answer to a request: the result of `ask`, or the `Forfeit` that it raises."""
    try:
        return bytes([ask()])
    except Forfeit as forfeit:
        return _OUTCOME.dump_json(forfeit.outcome)
