"""Features of the objects around a hero, one by one: near mines, taverns, and all enemies, with exact duels.

`behaviours.net.features` has the other features, and the memory for all of them. These are the slots of a move. "Nearer" compares
the distance before the move with the distance after it:

=====  =============================================================================================
slot   the feature depends on
=====  =============================================================================================
30     the distance of the nearest tavern after the move, whether it is nearer, life, money for a beer
31-36  per near foreign mine (`NEAR_MINES` of them): its distance after the move, whether it is nearer, whether it belongs to
       nobody, to the richest rival or to another one, whether an enemy is as near, whether our life is enough
37-39  per enemy: its distance after the move, the result of the duel, the share of the mines of both
40     how many enemies can strike us in their next move, the blows that we stand, whether we can drink
41     whether heroes stand on the next square of our way to the tavern, and to the nearest foreign mine
=====  =============================================================================================

And these are the slots of the position:

=====  =============================================================================================
slot   the feature depends on
=====  =============================================================================================
18     life
19-21  per enemy: its distance, the distance to its nearest rival except us, its life, its share of the mines
22     the number of mines of the map, and the size of the board
23     our rank in gold and in mines, and the rounds left
=====  =============================================================================================

**The duel** begins after the move. If the enemy is beside us, we have struck it, and it strikes next. Otherwise both heroes come
nearer, one after the other, and the hero that comes beside the other strikes first. A hero that waits beside a tavern, and has
money for a beer, drinks as often as it wants. The result is the life that the winner has left, in blows. The moves before the
duel and the moves in it cost thirst (`behaviours.common.duel`).
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from behaviours.common.map_tables import AWAY, LISTED, MAX_MINES, NO_MINE, MapRecord
from behaviours.net.move_features import DRINKS, TAKES, Enemy, Mover, away_from, rival_away
from sim.game import BEER_HEALS, BLOW, CELLS, HERO_SHIFT, MAX_LIFE, MINE_COST, OFFSET
from sim.kernel_types import GameRecord, int64, uintp
from sim.kernels import inlined, kernel

#: Number of slots of a move, and of a position.
OBJECT_MOVE_SLOTS, OBJECT_STATE_SLOTS = 12, 6
#: Number of foreign mines that have slots: the nearest ones before the move.
NEAR_MINES = 6

#: The largest value of each bin but the last: moves to a mine or tavern, moves to an enemy in a duel, moves to an enemy and from
#: an enemy to its nearest rival, mines of the map, rounds left.
_WAYS, _FIGHTS, _ROOMS = (0, 1, 2, 3, 4, 5, 6, 8, 10, 13, 17), (1, 2, 3, 4, 5, 7, 10), (2, 4, 8)
_RIVALS, _MINE_COUNTS, _TIMES = (1, 2, 4), (4, 6, 8, 12, 16, 20, 28), (10, 30, 75, 150)
#: Results of a duel: the winner's life in blows (four bins for each winner), a draw, and an enemy that our move kills.
RESULTS, DRAW, KILLS = 10, 4, 9
#: Number of bins of the share of the mines that a hero has.
_SHARES = 4

#: Memory for the near mines of a position: their numbers, squares, distances from us and from the nearest enemy, and their first
#: features (0 after the last mine).
NEAR = {
    "near": ("u1", NEAR_MINES),
    "near_square": ("i2", NEAR_MINES),
    "near_away": ("u1", NEAR_MINES),
    "near_rival": ("u1", NEAR_MINES),
    "near_first": ("i2", NEAR_MINES),
}
#: One record of `behaviours.net.features.FOUND`.
FoundRecord = Any

#: The groups of features in their order, with the number of features of each.
OBJECT_GROUPS = {
    "tavern: way x nearer x life x money": (len(_WAYS) + 1) * 3 * 10 * 2,
    "mines: way x nearer x owner x race x life": (len(_WAYS) + 1) * 3 * 3 * 2 * 2,
    "enemy: duel x distance x shares": RESULTS * len(_FIGHTS) * _SHARES * _SHARES,
    "strikes x blows x drink": 4 * 5 * 2,
    "heroes on the way": 4,
    "exact life": MAX_LIFE,
    "enemy: distance x its rival x life x share": 4 * 4 * 5 * _SHARES,
    "mines x size": (len(_MINE_COUNTS) + 1) * 4,
    "ranks x rounds": 4 * 4 * (len(_TIMES) + 1),
}
_TAVERN, _MINES, _DUEL, _STRIKES, _BLOCKED, _LIFE, _PAIR, _MAP, _RANKS = np.cumsum([0, *OBJECT_GROUPS.values()])[:-1].tolist()

_WAY_BIN, _FIGHT_BIN, _ROOM_BIN, _RIVAL_BIN = (
    np.searchsorted(ends, np.arange(AWAY + 1)).astype(np.uint8) for ends in (_WAYS, _FIGHTS, _ROOMS, _RIVALS)
)
_MINE_COUNT_BIN = np.searchsorted(_MINE_COUNTS, np.arange(MAX_MINES + 1)).astype(np.uint8)
_TIME_BIN = np.searchsorted(_TIMES, np.arange(513)).astype(np.uint8)


def duel_results() -> NDArray[np.uint8]:
    """Return the results of all duels, 0..8, for the hero that strikes first.

    The index is ((striker drinks) * 2 + (other drinks)) * 101 * 101 + (striker's life) * 101 + (other's life).
    """
    lives = np.arange(MAX_LIFE + 1)
    tables = []
    for drinks in ((False, False), (False, True), (True, False), (True, True)):
        pair = [np.repeat(lives, len(lives)), np.tile(lives, len(lives))]
        result = np.zeros(len(pair[0]), np.int64)
        for blow in range(24):
            striker, other = blow % 2, 1 - blow % 2
            if drinks[striker]:
                pair[striker] = pair[striker] + BEER_HEALS * ((pair[striker] <= BLOW + 1) & (pair[other] > BLOW))
            running = result == 0
            pair[other] = pair[other] - BLOW
            pair[striker] = np.maximum(pair[striker] - 1, 1)
            ended = running & (pair[other] <= 0)
            result[ended] = (pair[striker] if blow % 2 == 0 else -pair[striker])[ended]
        left = np.minimum((np.abs(result) - 1) // BLOW, 3)
        tables.append(np.where(result > 0, DRAW + 1 + left, np.where(result < 0, DRAW - 1 - left, DRAW)))
    return np.concatenate(tables).astype(np.uint8)


_DUELS = duel_results()
_LIVES = MAX_LIFE + 1


@inlined
def _share(mines: int, total: int) -> int:
    """Return the bin of a hero's share of the mines, 0..3."""
    return int64(mines > 0) + int64(8 * mines > total) + int64(3 * mines > total)


@inlined
def _nearer(before: int, after: int) -> int:
    """Return 0 if something is nearer after a move, 1 if it is as near, 2 if it is farther."""
    return int64(after >= before) + int64(after > before)


@inlined
def _duel(life: int, drinks: int, its_life: int, its_drinks: int, distance: int) -> int:
    """Return the result of a duel with an enemy at a distance of 1 or more after our move; `life` is ours after thirst."""
    its = its_life - BLOW if distance == 1 else its_life - (distance - 1) // 2
    own = life if distance == 1 else life - (distance - 2) // 2
    if distance == 1 and its <= 0:
        return int64(KILLS)
    its, own = max(its, int64(1)), max(own, int64(1))
    if distance > 1 and distance & 1:  # the enemy comes nearer, and we strike first
        return int64(_DUELS[uintp(int64(its_drinks & int64(distance == 3)) * (_LIVES * _LIVES) + own * _LIVES + its)])
    combination = (its_drinks & int64(distance == 1)) * 2 + (drinks & int64(distance <= 2))
    return 2 * DRAW - int64(_DUELS[uintp(combination * (_LIVES * _LIVES) + its * _LIVES + own)])


@kernel
def _list_mines(tables: MapRecord, features: FoundRecord, me: int, mover: Mover, richest: int, first: int) -> None:
    """Write the nearest foreign mines into ``features.near``, with what the features of all moves need to know about them.

    `first` is the first feature of a mine.
    """
    count = int64(0)
    for slot in range(LISTED):
        mine = int64(tables.nearest[uintp(mover.pos * LISTED + slot)])
        if mine == NO_MINE or count == NEAR_MINES:
            break
        owner = int64(features.owner[uintp(mine)])
        if owner == me:
            continue
        whose = int64(0) if owner > 3 else (int64(2) if owner == richest else int64(1))
        features.near[uintp(count)], features.near_square[uintp(count)] = mine, tables.mine[uintp(mine)]
        features.near_away[uintp(count)] = tables.to_mine[uintp(mover.pos * MAX_MINES + mine)]
        features.near_rival[uintp(count)], features.near_first[uintp(count)] = rival_away(tables, mover, mine), first + 4 * whose
        count += 1
    for slot in range(count, NEAR_MINES):
        features.near[uintp(slot)], features.near_first[uintp(slot)] = 0, 0


@kernel
def _blocked(game: GameRecord, me: int, square: int, step: int) -> int:
    """Return 1 if an enemy of `me` stands beside `square` in the direction `step` (0: no direction)."""
    hero = int64(game.cell[uintp(square + OFFSET[uintp(step)])]) >> HERO_SHIFT
    return int64((step > 0) & (hero > 0) & (hero != me + 1))


@kernel
def add_state_objects(
    game: GameRecord,
    tables: MapRecord,
    features: FoundRecord,
    me: int,
    mover: Mover,
    richest: int,
    total: int,
    rounds: int,
    first: int,
    slot: int,
) -> None:
    """Write the features of the position from ``features.state[slot]`` on. The number of the first feature is `first`.

    `total` is the number of mines, and `rounds` are the rounds left.
    """
    own, state = game.hero[uintp(me)], features.state
    pos = int64(own.pos)
    state[uintp(slot)] = first + _LIFE + min(max(int64(own.life) - 1, int64(0)), int64(MAX_LIFE - 1))
    richer, leading = int64(0), int64(0)
    for step in range(1, 4):
        seat = (me + step) & 3
        enemy = game.hero[uintp(seat)]
        there, rival = int64(enemy.pos), int64(AWAY)
        for other in range(4):
            if other != me and other != seat and not game.hero[uintp(other)].crashed:
                rival = min(rival, int64(tables.to_square[uintp(int64(game.hero[uintp(other)].pos) * CELLS + there)]))
        away = int64(AWAY) if enemy.crashed else int64(tables.to_square[uintp(there * CELLS + pos)])
        place = (int64(_ROOM_BIN[uintp(away)]) * 4 + int64(_RIVAL_BIN[uintp(rival)])) * 5
        place += min(max(int64(enemy.life) - 1, int64(0)) // BLOW, int64(4))
        state[uintp(slot + step)] = first + _PAIR + place * _SHARES + _share(int64(enemy.mines), total)
        richer += int64(enemy.gold > own.gold)
        leading += int64(enemy.mines > own.mines)
    size = min(max((int64(game["size"]) - 9) // 5, int64(0)), int64(3))
    state[uintp(slot + 4)] = first + _MAP + int64(_MINE_COUNT_BIN[uintp(tables.mines)]) * 4 + size
    time = int64(_TIME_BIN[uintp(min(rounds, int64(512)))])
    state[uintp(slot + 5)] = first + _RANKS + (richer * 4 + leading) * (len(_TIMES) + 1) + time
    _list_mines(tables, features, me, mover, richest, first + _MINES)


@inlined
def _fight(enemy: Enemy, distance: int, left: int, drinks: int, total: int, first: int) -> tuple[int, int]:
    """Return the feature of the duel with an enemy, or 0 if it is far away, and 1 if the enemy can strike us in its next move."""
    if (distance < 1) | (distance > _FIGHTS[-1]):
        return int64(0), int64(0)
    result = _duel(left, drinks, enemy.life, enemy.drinks, distance)
    place = (int64(_FIGHT_BIN[uintp(distance)]) * RESULTS + result) * _SHARES + _share(enemy.mines, total)
    return first + place * _SHARES, int64((distance <= 2) & (result != KILLS))


@inlined
def add_move_objects(
    game: GameRecord,
    tables: MapRecord,
    features: FoundRecord,
    me: int,
    mover: Mover,
    total: int,
    move: int,
    kind: int,
    square: int,
    then: int,
    first: int,
    slot: int,
) -> None:
    """Write the features of a move from ``features.moves[slot]`` on, after `add_state_objects`. The first feature is `first`.

    `kind` is the kind of the move, `square` is where we are after it, and `then` is our life after it, without thirst.
    """
    moves, life = features.moves, mover.life
    before, tavern = int64(tables.to_tavern[uintp(mover.pos)]), int64(tables.to_tavern[uintp(square)])
    drinks, left = mover.pays & int64(tavern == 1), max(then - 1, int64(1))
    duels = first + _DUEL + _share(mover.mines, total)
    first_duel, first_strikes = _fight(mover.first, away_from(tables, mover.first, square), left, drinks, total, duels)
    second_duel, second_strikes = _fight(mover.second, away_from(tables, mover.second, square), left, drinks, total, duels)
    third_duel, third_strikes = _fight(mover.third, away_from(tables, mover.third, square), left, drinks, total, duels)
    strikes = first_strikes + second_strikes + third_strikes
    way = int64(_WAY_BIN[uintp(int64(0) if kind == DRINKS else tavern)])
    tenth = min(life // 10, int64(9))
    moves[uintp(slot)] = first + _TAVERN + ((way * 3 + _nearer(before, tavern)) * 10 + tenth) * 2 + mover.pays
    target = mover.pos + OFFSET[uintp(move)]
    for number in range(NEAR_MINES):
        away = int64(tables.to_mine[uintp(square * MAX_MINES + int64(features.near[uintp(number)]))])
        away = int64(0) if int64(features.near_square[uintp(number)]) == target else away
        nearer = _nearer(int64(features.near_away[uintp(number)]), away)
        place = (int64(_WAY_BIN[uintp(away)]) * 3 + nearer) * 12 + int64(int64(features.near_rival[uintp(number)]) <= away) * 2
        mine = int64(features.near_first[uintp(number)])
        moves[uintp(slot + 1 + number)] = mine + place + int64(life - away > MINE_COST) if mine else int64(0)
    moves[uintp(slot + 7)], moves[uintp(slot + 8)], moves[uintp(slot + 9)] = first_duel, second_duel, third_duel
    moves[uintp(slot + 10)] = first + _STRIKES + (strikes * 5 + min((left - 1) // BLOW, int64(4))) * 2 + drinks
    blocked = int64(0)
    if tables.taverns:
        blocked = _blocked(game, me, square, int64(tables.tavern_step[uintp(square)])) * 2
    nearest = int64((kind == TAKES) & (int64(features.near_square[0]) == target))
    if features.near_first[uintp(nearest)]:
        step = int64(tables.mine_step[uintp(int64(features.near[uintp(nearest)]) * CELLS + square)])
        blocked += _blocked(game, me, square, step)
    moves[uintp(slot + 11)] = first + _BLOCKED + blocked
