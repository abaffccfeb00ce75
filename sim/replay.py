"""Functions that play a list of moves, with or without the events of each ply."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numba import types
from numpy.typing import NDArray

from sim.events import EVENT, EVENT_LOG, EVENT_LOGS, EVENTS, MAX_EVENTS, Events
from sim.game import CRASH, GAMES, RUNNING, SEATS, Games, copy_of
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


@entry(types.int64(GAMES, types.int64, INT8S, EVENT_LOGS, EVENTS, INT64S, INT64S))
def _play_logged(
    games: Games,
    index: int,
    moves: Moves,
    logs: NDArray[np.void],
    events: Events,
    ends: NDArray[np.int64],
    squares: NDArray[np.int64],
) -> int:
    """Play like `play_moves`, and write the events of ply k into ``events[ends[k - 1]:ends[k]]``.

    Write the squares of the heroes after ply k into ``squares[SEATS * k:SEATS * (k + 1)]``. ``logs[0]`` is working memory.
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
        for hero in range(SEATS):
            squares[SEATS * number + hero] = game.hero[hero].pos
    return len(moves)


@dataclass(frozen=True, eq=False)
class PlayedMoves:
    """What happens if moves are played. `plies` is their number, without moves after the end of the game.

    - `last`: the last state.
    - `events`, `ends`: the events of ply k are ``events[ends[k - 1]:ends[k]]``, and those of ply 0 ``events[:ends[0]]``.
    - `squares` (plies x 4): the squares of the four heroes after each ply.
    """

    last: Games
    events: Events
    ends: NDArray[np.int64]
    squares: NDArray[np.int64]

    @property
    def plies(self) -> int:
        """The number of plies."""
        return len(self.ends)


def moves_of(moves: Sequence[int] | bytes | bytearray) -> Moves:
    """Return moves (0..4 or `CRASH`) as an array for kernels: one int8 per ply."""
    return np.array(list(moves), np.int8)


def played(games: Games, moves: Sequence[int] | bytes | bytearray) -> PlayedMoves:
    """Return what happens if `moves` (0..4 or `CRASH`) are played in ``games[0]``. The game does not change."""
    last, array = copy_of(games), moves_of(moves)
    events, ends = np.empty(MAX_EVENTS * len(array), EVENT), np.empty(len(array), np.int64)
    squares = np.empty(SEATS * len(array), np.int64)
    plies = _play_logged(last, 0, array, np.zeros(1, EVENT_LOG), events, ends, squares)
    ends = ends[:plies]
    return PlayedMoves(last, events[: ends[-1] if plies else 0].copy(), ends, squares[: SEATS * plies].reshape(-1, SEATS))


def events_of(games: Games, moves: Sequence[int] | bytes | bytearray) -> tuple[Events, NDArray[np.int64]]:
    """Return the events of `moves` in ``games[0]``, and for each ply the number of events up to its end (see `PlayedMoves`)."""
    played_moves = played(games, moves)
    return played_moves.events, played_moves.ends
