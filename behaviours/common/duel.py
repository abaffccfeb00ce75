"""Duels: who wins if two heroes fight it out where they stand.

The **exchange**: two heroes stand beside each other and neither gives way. Whoever is to move strikes the other, whatever his
order is; so his only choice is between staying and, beside a tavern and with the gold for it, a beer. A beer heals 50 where a
blow costs 20, and it is best drunk at the last moment, when the next blow would kill: nothing of it is wasted then, and until
then more gold has come in. So that is what both do.

The **stand-off**: two steps apart, whoever comes nearer strikes first, but leaves what tavern he stood beside. He does if he
wins the exchange that follows; else he waits or drinks, and the other has the same choice, once. With gold in @2's purse
neither comes: @1 would strike a man beside his tavern, and @2 would leave it::

    ##  ##  []
    @1      @2
"""

from __future__ import annotations

import numpy as np
from numba import types
from numpy.typing import NDArray

from behaviours.base import View
from behaviours.common.kernel_types import GameRecord, int64
from sim.game import (
    AIR,
    BEER_COST,
    BEER_HEALS,
    BLOW,
    GAMES,
    MAX_LIFE,
    OFFSET,
    STRIDE,
    TAVERN,
    UNDO,
    Games,
    copy_of,
)
from sim.kernels import entry, kernel
from sim.rules import step_saving, tile_at

#: Blows after which an exchange counts as undecided: both drink as fast as they are struck.
MOST_BLOWS = 64


@kernel
def beside_tavern(game: GameRecord, square: int) -> bool:
    """Whether a square has a tavern north, south, east or west of it."""
    north, south = tile_at(game, square - STRIDE), tile_at(game, square + STRIDE)
    return north == TAVERN or south == TAVERN or tile_at(game, square + 1) == TAVERN or tile_at(game, square - 1) == TAVERN


@kernel
def exchange(
    life: int,
    gold: int,
    income: int,
    drinks: bool,
    other_life: int,
    other_gold: int,
    other_income: int,
    other_drinks: bool,
    blows: int,
) -> int:
    """The exchange between the one who moves now and the other, both beside each other and nobody giving way.

    Lives are 1..100, gold and income (per move) 0 or more; `drinks` says who stands beside a tavern; `blows` are the moves that
    both have left together. Returns the life that the winner has left: positive if the mover wins, negative if the other does,
    0 if nobody is dead by then.
    """
    sign = 1
    for _ in range(min(blows, MOST_BLOWS)):
        # His day costs him one life before the next blow.
        if drinks and gold >= BEER_COST and life <= BLOW + 1 and other_life > BLOW:
            life, gold = life + BEER_HEALS, gold - BEER_COST
        other_life -= BLOW
        life, gold = max(1, life - 1), gold + income
        if other_life <= 0:
            return sign * life
        life, other_life = other_life, life
        gold, other_gold = other_gold, gold
        income, other_income = other_income, income
        drinks, other_drinks = other_drinks, drinks
        sign = -sign
    return 0


@kernel
def wins_exchange(striker: int, other: int) -> bool:
    """Whether the one who strikes first wins in the open; lives are 1..100."""
    return exchange(striker, 0, 0, False, other, 0, 0, False, MOST_BLOWS) > 0


@entry(types.Array(types.uint8, 1, "C")())
def duel_table() -> NDArray[np.uint8]:
    """`wins_exchange` for all lives: uint8, 1 at ``striker * (MAX_LIFE + 1) + other`` where the one who strikes first wins."""
    table = np.zeros((MAX_LIFE + 1) * (MAX_LIFE + 1), np.uint8)
    for striker in range(MAX_LIFE + 1):
        for other in range(MAX_LIFE + 1):
            table[striker * (MAX_LIFE + 1) + other] = wins_exchange(striker, other)
    return table


@kernel
def _attack(game: GameRecord, me: int, life: int, gold: int, enemy: int, his_life: int, his_gold: int, blows: int) -> int:
    """The best result of stepping beside an enemy two squares away, as `exchange`; -`MAX_LIFE` - 1 if there is no way."""
    best = -MAX_LIFE - 1
    if blows <= 0:
        return best
    pos, there = int64(game.hero[me].pos), int64(game.hero[enemy].pos)
    income, his_income = int64(game.hero[me].mines), int64(game.hero[enemy].mines)
    for direction in range(1, 5):
        square = pos + OFFSET[direction]
        if int64(game.cell[square]) != AIR or not _beside(square, there):
            continue
        left = max(1, life - 1)
        result = left
        if his_life > BLOW:
            result = -exchange(
                his_life - BLOW, his_gold, his_income, beside_tavern(game, there),
                left, gold + income, income, beside_tavern(game, square), blows - 1,
            )  # fmt: skip
        best = max(best, result)
    return best


@kernel
def _beside(one: int, other: int) -> bool:
    apart = abs(one - other)
    return apart == 1 or apart == STRIDE


@kernel
def _after_waiting(life: int, gold: int, income: int, beers: int) -> tuple[int, int]:
    """Life and gold after a move without a blow, with so many beers (0 or 1)."""
    life = min(MAX_LIFE, life + beers * BEER_HEALS)
    return max(1, life - 1), gold - beers * BEER_COST + income


@kernel
def _stand_off(game: GameRecord, me: int, enemy: int, blows: int) -> int:
    """Two squares apart, `me` to move; as `exchange`."""
    life, gold = int64(game.hero[me].life), int64(game.hero[me].gold)
    his_life, his_gold = int64(game.hero[enemy].life), int64(game.hero[enemy].gold)
    best = _attack(game, me, life, gold, enemy, his_life, his_gold, blows)
    if best > 0:
        return best
    income = int64(game.hero[me].mines)
    can_drink = gold >= BEER_COST and beside_tavern(game, int64(game.hero[me].pos))
    for beers in range(2 if can_drink else 1):
        then, purse = _after_waiting(life, gold, income, beers)
        answer = _attack(game, enemy, his_life, his_gold, me, then, purse, blows - 1)
        best = max(best, -max(answer, 0))
    return best


@kernel
def duel_between(game: GameRecord, me: int, enemy: int) -> int:
    """`duel`, for kernels."""
    left = int64(game.max_turns) - int64(game.turn)
    blows = (left + 3) // 4 + (left - ((enemy - me) & 3) + 3) // 4
    pos, there = int64(game.hero[me].pos), int64(game.hero[enemy].pos)
    if not _beside(pos, there):
        return _stand_off(game, me, enemy, blows)
    first, second = game.hero[me], game.hero[enemy]
    return exchange(
        int64(first.life), int64(first.gold), int64(first.mines), beside_tavern(game, pos),
        int64(second.life), int64(second.gold), int64(second.mines), beside_tavern(game, there), blows,
    )  # fmt: skip


@entry(types.int64(GAMES, types.int64, types.int64, types.int64))
def _duel(games: Games, index: int, me: int, enemy: int) -> int:
    return duel_between(games[index], me, enemy)


def duel(games: Games, me: int, enemy: int, index: int = 0) -> int:
    """Who wins if heroes `me` and `enemy` (0..3) fight it out, `me` moving next of the two, and nobody else has a say.

    Beside each other it is the exchange, two squares apart the stand-off (see the module), farther apart nothing. Returns the
    life that the winner has left: positive for `me`, negative for `enemy`, 0 where neither dies. Lives, gold, mines, taverns
    and the end of the game are those of ``games[index]``, which is not changed; whose turn it is there does not matter.
    """
    return int(_duel(games, index, me, enemy))


def killed_by(view: View, move: int) -> list[int]:
    """The heroes (0..3) who die by our move, all of a chain of respawns, ourselves included. Kept for the turn."""

    def compute() -> list[int]:
        saved = np.zeros(1, UNDO)
        step_saving(copy_of(view.games), 0, move, saved, 0)
        dead = int(saved["deaths"].item(0))
        return [hero for hero in range(4) if dead >> hero & 1]

    return view.shared(("fallen", move), compute)


def struck(view: View, move: int) -> list[int]:
    """The enemies whom our move strikes, dead or not."""
    before, after = view.games["hero"][0], view.after(move)["hero"][0]
    dead = killed_by(view, move)
    return [enemy for enemy in view.enemies if enemy in dead or int(after["life"][enemy]) != int(before["life"][enemy])]
