"""Many plies at once: a game is played on by a list of moves, with or without the events of each ply."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numba import types
from numpy.typing import NDArray

from sim.events import EVENT, EVENT_LOG, EVENT_LOGS, EVENTS, MOST, Events
from sim.game import CRASH, GAMES, RUNNING, Games, copy_of
from sim.kernel_types import int64
from sim.kernels import entry
from sim.rules import play

#: Moves as `play_moves` takes them.
Moves = NDArray[np.int8]
_MOVES = types.Array(types.int8, 1, "C")


@entry(types.int64(GAMES, types.int64, _MOVES))
def play_moves(games: Games, index: int, moves: Moves) -> int:
    """Play ``games[index]`` on in place by `moves` (int8, 0..4 or `CRASH`, writable) until the game is over.

    Returns the number of moves played. A number that is no move ends the play as well.
    """
    game = games[index]
    for number in range(len(moves)):
        move = int64(moves[number])
        if game.status != RUNNING or move < 0 or CRASH < move:
            return number
        play(game, move, None)
    return len(moves)


@entry(types.int64(GAMES, types.int64, _MOVES, EVENT_LOGS, EVENTS, types.Array(types.int64, 1, "C")))
def _play_logged(games: Games, index: int, moves: Moves, logs: NDArray[np.void], events: Events, ends: NDArray[np.int64]) -> int:
    """As `play_moves`; ``events[ends[k - 1]:ends[k]]`` becomes what happened in ply k. ``logs[0]`` is working memory."""
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
    """Moves as an array that kernels take."""
    return np.array(list(moves), np.int8)


def events_of(games: Games, moves: Sequence[int] | bytes | bytearray) -> tuple[Events, NDArray[np.int64]]:
    """What happens when a `Game` (which is not changed) is played on by `moves` (0..4 or `CRASH`).

    Returns the events of all plies, one after the other, and for each ply that was played the number of events up to its end.
    Plies end with the game.
    """
    wanted = moves_of(moves)
    events, ends = np.empty(MOST * len(wanted), EVENT), np.empty(len(wanted), np.int64)
    played = _play_logged(copy_of(games), 0, wanted, np.zeros(1, EVENT_LOG), events, ends)
    ends = ends[:played]
    return events[: ends[-1] if played else 0].copy(), ends
