"""Functions that play a list of moves, with or without the events of each ply."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numba import types
from numpy.typing import NDArray

from sim.events import EVENT, EVENT_LOG, EVENT_LOGS, EVENTS, MAX_EVENTS, Events
from sim.game import CRASH, GAMES, RUNNING, Games, copy_of
from sim.kernel_types import INT8S, INT64S, int64
from sim.kernels import entry
from sim.rules import play

#: The type of the moves that `play_moves` takes.
Moves = NDArray[np.int8]


@entry(types.int64(GAMES, types.int64, INT8S))
def play_moves(games: Games, index: int, moves: Moves) -> int:
    """Play `moves` (writable int8, each 0..4 or `CRASH`) in ``games[index]``, in place.

    Stop at the end of the moves, at the end of the game, or at a number that is not a move. Return the number of moves played.
    """
    game = games[index]
    for number in range(len(moves)):
        move = int64(moves[number])
        if game.status != RUNNING or move < 0 or CRASH < move:
            return number
        play(game, move, None)
    return len(moves)


@entry(types.int64(GAMES, types.int64, INT8S, EVENT_LOGS, EVENTS, INT64S))
def _play_logged(games: Games, index: int, moves: Moves, logs: NDArray[np.void], events: Events, ends: NDArray[np.int64]) -> int:
    """Play like `play_moves`, and write the events of ply k into ``events[ends[k - 1]:ends[k]]``.

    ``logs[0]`` is working memory.
    """
    game, log = games[index], logs[0]
    total = 0
    for number in range(len(moves)):
        move = int64(moves[number])
        if game.status != RUNNING or move < 0 or CRASH < move:
            return number
        log.count = 0
        play(game, move, None, log)
        for place in range(log.count):
            events[total] = log.event[place]
            total += 1
        ends[number] = total
    return len(moves)


def moves_of(moves: Sequence[int] | bytes | bytearray) -> Moves:
    """Return moves (0..4 or `CRASH`) as an array for kernels: one int8 per ply."""
    return np.array(list(moves), np.int8)


def events_of(games: Games, moves: Sequence[int] | bytes | bytearray) -> tuple[Events, NDArray[np.int64]]:
    """Return the events that happen if `moves` (0..4 or `CRASH`) are played in ``games[0]``, as two arrays.

    The game does not change, and moves after its end are ignored. The first array holds the events of all plies, one after the
    other. The second array holds, for each ply played, the number of events up to the end of this ply.
    """
    wanted = moves_of(moves)
    events, ends = np.empty(MAX_EVENTS * len(wanted), EVENT), np.empty(len(wanted), np.int64)
    played = _play_logged(copy_of(games), 0, wanted, np.zeros(1, EVENT_LOG), events, ends)
    ends = ends[:played]
    return events[: ends[-1] if played else 0].copy(), ends
