"""Duels: which of two heroes wins if they fight and no other hero takes part.

**Exchange**: the two heroes are beside each other and stay there. The hero to move strikes the other with every move. Its only
choice is to stay or, beside a tavern and with the gold for a beer, to drink. A beer heals 50 and a blow costs 20. The best time
to drink is when the next blow would kill the hero: a beer then wastes no healing. Both heroes drink at this time.

**Stand-off**: the two heroes are two steps apart. A hero that comes nearer strikes first, but leaves its tavern. The hero to move
comes nearer if it wins the exchange that follows. Otherwise it waits or drinks, and then the other hero has the same choice,
once. If @2 has gold for beers, neither hero comes nearer in this drawing: @1 would strike a hero beside a tavern, and @2 would
leave its tavern::

    ##  ##  []
    @1      @2
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from numba import types
from numpy.typing import NDArray

from behaviours.base import View
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
from sim.kernel_types import BYTES, GameRecord, int64
from sim.kernels import entry, kernel
from sim.rules import step_saving, tile_at

#: After this number of blows an exchange is a draw: the heroes heal as much as the blows cost them.
MAX_BLOWS = 64


@kernel
def beside_tavern(game: GameRecord, square: int) -> bool:
    """Return whether a square has a tavern north, south, east or west of it."""
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
    """Return the result of an exchange (see the module) between the hero to move and the `other` hero.

    Lives are 1..100. Gold and income (gold per move) are 0 or more. `drinks` says whether the hero is beside a tavern. `blows` is
    the sum of the moves that both heroes have left, because each move is a blow. The result is the life that the winner has left:
    positive if the hero to move wins, negative if the other hero wins, 0 for a draw.
    """
    sign = 1
    for _ in range(min(blows, MAX_BLOWS)):
        # Thirst costs the mover one life before the next blow.
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
    """Return whether the `striker`, which strikes first, wins an exchange without a tavern. The arguments are lives, 1..100."""
    return exchange(striker, 0, 0, False, other, 0, 0, False, MAX_BLOWS) > 0


@entry(BYTES())
def duel_table() -> NDArray[np.uint8]:
    """Return `wins_exchange` for all pairs of lives, as uint8: 1 at ``striker * (MAX_LIFE + 1) + other`` if the striker wins."""
    table = np.zeros((MAX_LIFE + 1) * (MAX_LIFE + 1), np.uint8)
    for striker in range(MAX_LIFE + 1):
        for other in range(MAX_LIFE + 1):
            table[striker * (MAX_LIFE + 1) + other] = wins_exchange(striker, other)
    return table


@kernel
def _attack(game: GameRecord, me: int, life: int, gold: int, enemy: int, enemy_life: int, enemy_gold: int, blows: int) -> int:
    """Return the best result, in the form of `exchange`, of a step that leads beside an enemy two squares away.

    Return -`MAX_LIFE` - 1 if there is no such step.
    """
    best = -MAX_LIFE - 1
    if blows <= 0:
        return best
    pos, there = int64(game.hero[me].pos), int64(game.hero[enemy].pos)
    income, enemy_income = int64(game.hero[me].mines), int64(game.hero[enemy].mines)
    for direction in range(1, 5):
        square = pos + OFFSET[direction]
        if int64(game.cell[square]) != AIR or not _beside(square, there):
            continue
        left = max(1, life - 1)
        result = left
        if enemy_life > BLOW:
            result = -exchange(
                enemy_life - BLOW, enemy_gold, enemy_income, beside_tavern(game, there),
                left, gold + income, income, beside_tavern(game, square), blows - 1,
            )  # fmt: skip
        best = max(best, result)
    return best


@kernel
def _beside(square: int, other: int) -> bool:
    apart = abs(square - other)
    return apart == 1 or apart == STRIDE


@kernel
def _after_waiting(life: int, gold: int, income: int, beers: int) -> tuple[int, int]:
    """Return life and gold after a move without a blow; `beers` is 0 or 1."""
    life = min(MAX_LIFE, life + beers * BEER_HEALS)
    return max(1, life - 1), gold - beers * BEER_COST + income


@kernel
def _stand_off(game: GameRecord, me: int, enemy: int, blows: int) -> int:
    """Return the result of a stand-off (see the module) with `me` to move, in the form of `exchange`."""
    life, gold = int64(game.hero[me].life), int64(game.hero[me].gold)
    enemy_life, enemy_gold = int64(game.hero[enemy].life), int64(game.hero[enemy].gold)
    best = _attack(game, me, life, gold, enemy, enemy_life, enemy_gold, blows)
    if best > 0:
        return best
    income = int64(game.hero[me].mines)
    can_drink = gold >= BEER_COST and beside_tavern(game, int64(game.hero[me].pos))
    for beers in range(2 if can_drink else 1):
        later_life, later_gold = _after_waiting(life, gold, income, beers)
        answer = _attack(game, enemy, enemy_life, enemy_gold, me, later_life, later_gold, blows - 1)
        best = max(best, -max(answer, 0))
    return best


@entry(types.int64(GAMES, types.int64, types.int64, types.int64))
def _duel(games: Games, index: int, me: int, enemy: int) -> int:
    game: GameRecord = games[index]
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


def duel(games: Games, me: int, enemy: int, index: int = 0) -> int:
    """Return the result of a fight between heroes `me` and `enemy` (0..3) without other heroes. Hero `me` moves first.

    The result is the life that the winner has left: positive if `me` wins, negative if `enemy` wins, 0 if neither dies. Heroes
    beside each other make an exchange, heroes two squares apart a stand-off (see the module). For heroes farther apart the result
    is 0. Lives, gold, mines, taverns and the end of the game are taken from ``games[index]``. This game does not change. It does
    not matter which hero is to move in it.
    """
    return int(_duel(games, index, me, enemy))


def killed_by(view: View, move: int) -> list[int]:
    """Return the heroes (0..3) that our move kills, directly or by a respawn. Our hero may be one of them."""

    def compute() -> list[int]:
        saved = np.zeros(1, UNDO)
        step_saving(copy_of(view.games), 0, move, saved, 0)
        dead = int(saved["deaths"].item(0))
        return [hero for hero in range(4) if dead >> hero & 1]

    return view.shared(("killed by", move), compute)


def struck(view: View, move: int) -> list[int]:
    """Return the enemies (0..3) that our move strikes, whether or not it kills them."""
    before, after = view.games["hero"][0], view.after(move)["hero"][0]
    dead = killed_by(view, move)
    return [enemy for enemy in view.enemies if enemy in dead or int(after["life"][enemy]) != int(before["life"][enemy])]


@lru_cache(maxsize=1)
def _table() -> NDArray[np.uint8]:
    table = duel_table()
    table.flags.writeable = False
    return table


def wins(striker: int, other: int) -> bool:
    """Return whether the striker, which strikes first, wins an exchange without a tavern. The arguments are lives, 1..100."""
    return bool(_table()[striker * (MAX_LIFE + 1) + other])
