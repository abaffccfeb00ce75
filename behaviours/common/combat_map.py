"""The combat map: which squares near enemies are good to stand on.

Around an enemy (@2) who is weaker than we are, owns a mine and stands in the open it is::

     .    .  -1    .   .
     .  -1  +0.5 -1    .
    -1 +0.5  @2  +0.5 -1        two steps from him he strikes first,
     .  -1  +0.5 -1    .        beside him we do
     .    .  -1    .   .
"""

from __future__ import annotations

import numpy as np
from numba import types
from numpy.typing import NDArray

from behaviours.base import View
from behaviours.common.duel import beside_tavern, wins_exchange
from behaviours.common.kernel_types import GameRecord, int64
from sim.game import AIR, BLOW, CELLS, GAMES, OFFSET, STRIDE, Games
from sim.kernels import entry, kernel
from sim.rules import tile_at

AVOID = -1.0
SEEK = 0.5


@kernel
def _is_open(game: GameRecord, square: int) -> bool:
    return tile_at(game, square) == AIR


@kernel
def _add(values: NDArray[np.float64], game: GameRecord, square: int, worth: float, safe_at_tavern: bool) -> None:
    """Add one enemy's say on a square; a square beside a tavern counts at least 0 where that is safe."""
    if safe_at_tavern and worth < 0.0 and beside_tavern(game, square):
        worth = 0.0
    values[square] = worth if np.isnan(values[square]) else values[square] + worth


@kernel
def _add_enemy(values: NDArray[np.float64], game: GameRecord, me: int, enemy: int, duel: bool) -> None:
    """Add what one enemy makes of the squares around him (TRAITS of the write-up, or `duel`: of the later bot)."""
    mine, his = int64(game.hero[me].life), int64(game.hero[enemy].life)
    pos = int64(game.hero[enemy].pos)
    safe_at_tavern = mine > (BLOW + 1 if duel else BLOW)
    # The step to the square two away costs us one life before he strikes.
    at_two = 0.0 if duel and not wins_exchange(his, max(1, mine - 1)) else AVOID
    loses = not wins_exchange(mine, his) if duel else mine // BLOW <= his // BLOW - 1
    beside = np.nan
    if (his > BLOW and beside_tavern(game, pos)) or loses:
        beside = AVOID
    elif game.hero[enemy].mines > 0 or his <= BLOW:
        beside = SEEK
    for direction in range(1, 5):
        near = pos + OFFSET[direction]
        if not _is_open(game, near):
            continue
        if not np.isnan(beside):
            _add(values, game, near, beside, safe_at_tavern)
        for second in range(1, 5):
            square = near + OFFSET[second]
            if square == pos or not _is_open(game, square):
                continue
            # A square across a corner is two steps away along two sides: count it once, along the first open one.
            if second < direction and _is_open(game, pos + OFFSET[second]):
                continue
            _add(values, game, square, at_two, safe_at_tavern)


@entry(types.Array(types.float64, 1, "C")(GAMES, types.int64, types.int64, types.boolean))
def _combat_map(games: Games, index: int, me: int, duel: bool) -> NDArray[np.float64]:
    game = games[index]
    values = np.full(CELLS, np.nan)
    for enemy in range(4):
        # Absent heroes stand below the board.
        if enemy != me and int64(game.hero[enemy].pos) < (int64(game["size"]) + 1) * STRIDE:
            _add_enemy(values, game, me, enemy, duel)
    return values


def combat_map(games: Games, me: int, *, duel: bool = False, index: int = 0) -> NDArray[np.float64]:
    """What standing on each square is worth to hero `me` (0..3) in view of his enemies: float64[1024] by square.

    NaN where no enemy is near enough to matter; where several are, their values are added. `duel` selects the later
    version, which plays the exchange out (20 per blow, thirst) instead of comparing lives in twenties. Lives are taken as
    they are now. Does not change the game; deterministic.
    """
    values: NDArray[np.float64] = _combat_map(games, index, me, duel)
    return values


def danger(view: View, duel: bool = True) -> NDArray[np.uint8]:
    """The squares that our combat map marks below 0, as uint8[1024] (1 = keep out). Kept for the turn: do not change it."""
    return view.shared(("danger", duel), lambda: (kept_combat_map(view, duel) < 0).astype(np.uint8))


def kept_combat_map(view: View, duel: bool) -> NDArray[np.float64]:
    """`combat_map` for the hero of a view, computed once per turn: do not change it."""
    return view.shared(("combat map", duel), lambda: combat_map(view.games, view.me, duel=duel))
