"""The combat map: values of the squares near enemies.

Around an enemy (@2) that is weaker than our hero, owns a mine and stands in the open, the values are::

     .    .  -1    .   .
     .  -1  +0.5 -1    .
    -1 +0.5  @2  +0.5 -1        two steps from it, it strikes first;
     .  -1  +0.5 -1    .        beside it, we strike first
     .    .  -1    .   .
"""

from __future__ import annotations

import numpy as np
from numba import types
from numpy.typing import NDArray

from behaviours.base import View
from behaviours.common.duel import beside_tavern, wins_exchange
from sim.game import AIR, BLOW, CELLS, GAMES, OFFSET, Games
from sim.kernel_types import FLOATS, GameRecord, int64
from sim.kernels import entry, kernel
from sim.rules import is_present, tile_at

AVOID = -1.0
SEEK = 0.5


@kernel
def _is_open(game: GameRecord, square: int) -> bool:
    return tile_at(game, square) == AIR


@kernel
def _add(values: NDArray[np.float64], game: GameRecord, square: int, worth: float, safe_at_tavern: bool) -> None:
    """Add the value of a square for one enemy. If `safe_at_tavern`, the value is at least 0 beside a tavern."""
    if safe_at_tavern and worth < 0.0 and beside_tavern(game, square):
        worth = 0.0
    values[square] = worth if np.isnan(values[square]) else values[square] + worth


@kernel
def _add_enemy(values: NDArray[np.float64], game: GameRecord, me: int, enemy: int, duel: bool) -> None:
    """Add the values of the squares around one enemy. `duel` means the same as in `combat_map`."""
    own_life, enemy_life = int64(game.hero[me].life), int64(game.hero[enemy].life)
    pos = int64(game.hero[enemy].pos)
    safe_at_tavern = own_life > (BLOW + 1 if duel else BLOW)
    # A step to a square two moves away costs our hero one life before the enemy strikes.
    at_two = 0.0 if duel and not wins_exchange(enemy_life, max(1, own_life - 1)) else AVOID
    loses = not wins_exchange(own_life, enemy_life) if duel else own_life // BLOW <= enemy_life // BLOW - 1
    beside = np.nan
    if (enemy_life > BLOW and beside_tavern(game, pos)) or loses:
        beside = AVOID
    elif game.hero[enemy].mines > 0 or enemy_life <= BLOW:
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
            # Two ways lead to a diagonal square. Count the square once, for the first of the ways that is open.
            if second < direction and _is_open(game, pos + OFFSET[second]):
                continue
            _add(values, game, square, at_two, safe_at_tavern)


@entry(FLOATS(GAMES, types.int64, types.int64, types.boolean))
def _combat_map(games: Games, index: int, me: int, duel: bool) -> NDArray[np.float64]:
    game = games[index]
    values = np.full(CELLS, np.nan)
    for enemy in range(4):
        if enemy != me and is_present(game, enemy):
            _add_enemy(values, game, me, enemy, duel)
    return values


def combat_map(games: Games, me: int, *, duel: bool = False, index: int = 0) -> NDArray[np.float64]:
    """Return the value of each square for hero `me` (0..3) with respect to the enemies near it, as float64[1024] by square.

    A square that is more than two steps from every enemy has the value NaN. The values for several enemies are added. Without
    `duel`, fights are judged by comparing lives in units of 20. With `duel`, the exchange of blows is simulated; each move costs
    a hero 1 life (thirst). The game does not change.
    """
    values: NDArray[np.float64] = _combat_map(games, index, me, duel)
    return values


def danger(view: View, duel: bool = True) -> NDArray[np.uint8]:
    """Return the squares with a negative value in `combat_map` for the hero of a view, as uint8[1024] (1 = keep out).

    Traits share the array: do not change it.
    """
    return view.shared(("danger", duel), lambda: (shared_combat_map(view, duel) < 0).astype(np.uint8))


def shared_combat_map(view: View, duel: bool) -> NDArray[np.float64]:
    """Return `combat_map` for the hero of a view. Traits share the array: do not change it."""
    return view.shared(("combat map", duel), lambda: combat_map(view.games, view.me, duel=duel))
