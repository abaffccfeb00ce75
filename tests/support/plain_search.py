"""The search of the C engine with our rules: plain alpha-beta to a fixed depth, to compare the engines by nodes per second.

A hero that is not active stands still. The value of a hero is its gold, plus 25 per mine, plus its life. The score is our value
minus the value of the best active rival. There is no table, no policy and no limit. Moves are tried in the order North, East,
South, West, Stay.
"""

from __future__ import annotations

import numba
import numpy as np
from numpy.typing import NDArray

from behaviours.search.records import INFINITE, MAX_PLY
from sim.game import GAMES, LAST_MINE, MINE, OFFSET, RUNNING, STAY, UNDO, UNDOS, WALL, Games
from sim.kernel_types import GameRecord, int64, uintp
from sim.kernels import entry
from sim.rules import play, undo

MINE_WORTH = 25
#: A node on the stack: its window, its best score, and the moves that are not tried yet (`_moves_of`).
NODE = np.dtype((np.record, [("alpha", "i4"), ("beta", "i4"), ("best", "i4"), ("moves", "i4")]))
NODES = numba.types.Array(numba.from_dtype(NODE), 1, "C")


@numba.njit(error_model="numpy", nogil=True, forceinline=True)
def _worth(game: GameRecord, hero: int) -> int:
    who = game.hero[hero]
    return int64(who.gold) + MINE_WORTH * int64(who.mines) + int64(who.life)


@numba.njit(error_model="numpy", nogil=True, forceinline=True)
def _score(game: GameRecord, me: int, active: int) -> int:
    """Return the value of hero `me` minus the value of the best active rival."""
    rival = int64(-INFINITE)
    for hero in range(4):
        if hero != me and (active >> hero) & 1:
            rival = max(rival, _worth(game, hero))
    own: int = _worth(game, me)
    return own if rival == -INFINITE else own - rival


@numba.njit(error_model="numpy", nogil=True, forceinline=True)
def _moves_of(game: GameRecord, hero: int) -> int:
    """Return the moves of a hero that may have an effect: move + 1 in four bits each, the first one lowest, 0 at the end."""
    pos, own = int64(game.hero[hero].pos), MINE + 1 + hero
    moves = STAY + 1
    for direction in (4, 2, 3, 1):
        there = int64(game.cell[uintp(pos + OFFSET[direction])])
        fits = (there != WALL) & (there <= LAST_MINE) & (there != own)
        moves = (moves << 4 | (direction + 1)) if fits else moves
    return moves


@entry(numba.types.UniTuple(numba.types.int64, 2)(GAMES, UNDOS, NODES, *[numba.types.int64] * 3))
def _search(games: Games, undos: NDArray[np.void], stack: NDArray[np.void], me: int, active: int, depth: int) -> tuple[int, int]:
    game: GameRecord = games[0]
    nodes, level = int64(0), 0
    alpha, beta = int64(-INFINITE), int64(INFINITE)
    while True:
        # Enter a node.
        nodes += 1
        hero = int64(game.turn) & 3
        leaf = level == depth or game.status != RUNNING
        if leaf:
            value = _score(game, me, active)
        else:
            best = int64(-INFINITE) if hero == me else int64(INFINITE)
            moves = _moves_of(game, hero) if (active >> hero) & 1 else int64(STAY + 1)
        # Leave nodes until a node has a move left.
        while leaf or moves == 0 or alpha >= beta:
            if not leaf:
                value = best
            leaf = False
            if level == 0:
                return value, nodes
            level -= 1
            undo(game, undos[uintp(level)])
            node: np.record = stack[uintp(level)]
            alpha, beta, best, moves = int64(node.alpha), int64(node.beta), int64(node.best), int64(node.moves)
            if int64(game.turn) & 3 == me:
                best = max(best, value)
                alpha = max(alpha, value)
            else:
                best = min(best, value)
                beta = min(beta, value)
        # Make the next move.
        node = stack[uintp(level)]
        node.alpha, node.beta, node.best, node.moves = alpha, beta, best, moves >> 4
        play(game, (moves & 15) - 1, undos[uintp(level)])
        level += 1


class PlainSearch:
    """The search and its memory."""

    def __init__(self) -> None:
        self._undos, self._stack = np.zeros(MAX_PLY, UNDO), np.zeros(MAX_PLY, NODE)

    def __call__(self, games: Games, me: int, active: int, depth: int) -> tuple[int, int]:
        """Return the score of ``games[0]`` for hero `me` at `depth` plies (below `MAX_PLY`), and the number of nodes.

        `active` is a set of heroes (a bit per hero). The hero `me` always counts as active. The game does not change.
        """
        score, nodes = _search(games, self._undos, self._stack, me, active | 1 << me, depth)
        return int(score), int(nodes)
