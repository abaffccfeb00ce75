"""Features of a decision: the one-hot inputs of a net (`behaviours.net.network`).

A decision is one turn of a hero. It has `STATE_SLOTS` slots for the position, and `MOVE_SLOTS` slots for each of the five moves.
Each slot has the number of one feature. Slots of a move may have 0: no feature. The first `SLOTS` slots of a move are those of
`behaviours.net.move_features`. The last slots of a move and of the position are those of `behaviours.net.object_features`. These
are the others:

=====  =============================================================================================
slot   the feature depends on
=====  =============================================================================================
15     the rounds left, and the kind of the move
16     our share of the mines, and the kind of the move
17     the number of foreign mines within `WITHIN` moves after the move, and life
18     whether the square is the spawn of an enemy, and the mines of this enemy; whether it is our own spawn
19     the distance of the second nearest foreign mine after the move, and life
20     the gold, and the kind of the move
21     the distance of the nearest mine without an owner after the move, and our share of the mines
22     the distance of the nearest mine of the richest rival after the move, and our share of the mines
23     whether an enemy reaches the mine of slot 2 before us, and the distance of the mine
24     whether an enemy is nearer to a tavern than we are after the move, life, money for a beer
25     the number of enemies within `CLOSE` moves after the move, and life
26     the potential of foreign mines after the move, and its change by the move
27     the potential of the mines of the richest rival, and its change
28     the potential of enemies with more life, and its change
29     the potential of enemies with less life, and its change
=====  =============================================================================================

A potential is a sum over mines or enemies. Each term is discounted by the distance: 0.8 per move for mines, and 0.6 for enemies.
An enemy with less life counts once for itself and once per mine of it. These are the slots of the position:

=====  =============================================================================================
slot   the feature depends on
=====  =============================================================================================
0      life, in steps of five
1      our share of the mines
2      the rounds left
3      the distance of the nearest tavern, and money for a beer
4      the distance of the nearest foreign mine, and life
5-7    per enemy: its distance, the difference of the lives, its share of the mines
8-10   per enemy: its distance from a tavern, its life, money for a beer
11     the largest share of the mines of an enemy
12     the share of the mines without an owner
13     the rounds left, if they are fewer than 12
14     the gold
15     the lead over the best enemy, per round left and mine: gold at the end if no mine changed hands
16     life, and the number of our mines
17     the potential of foreign mines, and life
=====  =============================================================================================

Distances are numbers of moves on the board without heroes. Only the `LISTED` mines nearest to a square count for it. "After the
move" means: on the square where we are then. Mines keep their owners, and the potentials of enemies depend on our present life. A
tavern is the one nearest to our square. An enemy that has crashed counts only for its mines, gold and spawn.
"""

from __future__ import annotations

import numpy as np

from behaviours.common.map_tables import AWAY, LISTED, MAX_MINES, NO_MINE, MapRecord
from behaviours.net.move_features import (
    FEATURES as BASIC_FEATURES,
    RANGES as BASIC_RANGES,
    SLOTS,
    STEPS,
    Enemy,
    Mover,
    away_from,
    effect_of_move,
    features_of_move,
    mover_of,
    rival_away,
)
from behaviours.net.object_features import (
    NEAR,
    OBJECT_GROUPS,
    OBJECT_MOVE_SLOTS,
    OBJECT_STATE_SLOTS,
    FoundRecord as FoundRecord,
    add_move_objects,
    add_state_objects,
)
from sim.game import BEER_COST, CELLS, MINE, PLIES_PER_ROUND, TILE_BITS
from sim.kernel_types import GameRecord, array_of, int64, record, uintp
from sim.kernels import inlined, kernel
from sim.rules import tile_at

#: Number of slots of a move, and of a position.
_MOVE_SLOTS, _STATE_SLOTS = 30, 18
MOVE_SLOTS, STATE_SLOTS = _MOVE_SLOTS + OBJECT_MOVE_SLOTS, _STATE_SLOTS + OBJECT_STATE_SLOTS
#: The distance of a near foreign mine, and of a close enemy, in moves.
WITHIN, CLOSE = 5, 3

_KINDS = 4
#: The largest value of each bin but the last.
_BINS: dict[str, tuple[float, ...]] = {
    "far": (0, 1, 2, 3, 4, 6, 9),  # moves to a mine or tavern
    "enemy": (1, 2, 3, 5, 8, 12),  # moves to an enemy
    "coins": (0, 1, 3, 9, 49),  # gold, beside the kind of a move
    "gold": (0, 1, 3, 9, 24, 49, 99, 199, 399),
    "rounds": (1, 2, 4, 7, 11, 16, 22, 30, 40, 55, 75, 100, 140, 190, 245),
    "count": (0, 1, 2, 3, 5),
    "mines": (0, 1, 2, 4, 7),
}
#: Number of bins of each kind, and of numbers that have no list of bins: shares of the mines (coarse, fine), blows that a life
#: stands, potentials and their changes, leads, lives in steps of five.
_SIZE = {name: len(ends) + 1 for name, ends in _BINS.items()} | {
    "share": 6,
    "shares": 13,
    "blows": 5,
    "level": 6,
    "change": 7,
    "lead": 13,
    "steps": 20,
    "last": 13,
    "wealth": 3,
    "difference": 5,
    "quarter": 4,
}


def _product(*names: str) -> int:
    return int(np.prod([_SIZE[name] for name in names]))


#: The groups of features in their order, with the number of features of each. A group has no two slots of one decision, except
#: the groups of enemies, which have one per enemy.
GROUPS: dict[str, int] = {
    "none and move_features": BASIC_FEATURES,
    "rounds left x kind": _product("rounds") * _KINDS,
    "share x kind": _product("share") * _KINDS,
    "near foreign mines x life": _product("count", "blows"),
    "spawn": 4,
    "second mine x life": _product("far", "blows"),
    "coins x kind": _product("coins") * _KINDS,
    "free mine x share": _product("far", "share"),
    "mine of the richest x share": _product("far", "share"),
    "race x mine": 2 * _product("far"),
    "tavern taken x life x money": 2 * _product("blows") * 2,
    "close enemies x life": 4 * _product("blows"),
    "mines: level x change": _product("level", "change"),
    "mines of the richest: level x change": _product("level", "change"),
    "stronger enemies: level x change": _product("level", "change"),
    "weaker enemies: level x change": _product("level", "change"),
    "life": _product("steps"),
    "shares": _product("shares"),
    "rounds left": _product("rounds"),
    "tavern x money": _product("far") * 2,
    "mine x life": _product("far", "blows"),
    "enemy: distance x life x share": _product("enemy", "difference", "quarter"),
    "enemy: tavern x life x money": _product("far", "blows") * 2,
    "best share": _product("shares"),
    "free share": _product("shares"),
    "last rounds": _product("last"),
    "gold": _product("gold"),
    "lead": _product("lead"),
    "life x mines": _product("blows", "mines") * 2,
    "potential of mines x life": _product("level", "blows"),
}
#: The first feature of `behaviours.net.object_features`.
_OBJECTS = sum(GROUPS.values())
GROUPS |= OBJECT_GROUPS
#: Number of features, including feature 0.
FEATURES = sum(GROUPS.values())
#: The first feature of each group, in the order of `GROUPS`.
_FIRST = np.cumsum([0, *GROUPS.values()])[:-1].tolist()
(
    _ROUNDS_KIND, _SHARE_KIND, _NEAR_MINES, _SPAWN, _SECOND, _COINS, _FREE_MINE, _RICH_MINE, _RACE, _TAKEN, _CROWD, _PULL,
    _RICH_PULL, _FEAR, _PREY, _LIFE, _SHARES, _ROUNDS, _TAVERN, _MINE, _ENEMY, _BAR, _BEST, _FREE, _LAST, _GOLD, _LEAD,
    _LIFE_MINES, _PULL_LIFE,
) = _FIRST[1 : len(_FIRST) - len(OBJECT_GROUPS)]  # fmt: skip

#: Ranges of features, as (first feature, number of slots of a decision that have a feature of this range).
RANGES = [
    *BASIC_RANGES,
    *(
        (first, 6 if name.startswith("mines: way") else 3 if "enemy:" in name else 1)
        for name, first in zip(list(GROUPS)[1:], _FIRST[1:], strict=True)
    ),
]

# Tables are faster than comparisons. Each holds the bin of a whole number; numbers above the largest have the bin of the largest.
_FAR_BIN, _ENEMY_BIN, _GOLD_BIN, _COINS_BIN, _ROUNDS_BIN, _COUNT_BIN, _MINES_BIN = (
    np.searchsorted(_BINS[name], np.arange(most + 1)).astype(np.uint8)
    for name, most in (
        ("far", AWAY), ("enemy", AWAY), ("gold", 512), ("coins", 512), ("rounds", 512), ("count", LISTED), ("mines", MAX_MINES),
    )
)  # fmt: skip
#: Discounts by distance in units of 1/256: of mines, and of enemies.
_MINE_PULL = np.rint(256 * 0.8 ** np.arange(AWAY + 1)).astype(np.int64)
_ENEMY_PULL = np.rint(256 * 0.6 ** np.arange(AWAY + 1)).astype(np.int64)
_MINE_PULL[AWAY] = _ENEMY_PULL[AWAY] = 0
#: The discounts of mines, and above these bits 1 for a near mine. A sum of them counts the near mines, too.
_PULL_BITS = 32
_PULL_MASK = (1 << _PULL_BITS) - 1
_MINE_WORTH = _MINE_PULL + (np.arange(AWAY + 1) <= WITHIN) * (1 << _PULL_BITS)
#: The owner of a mine by its tile: 0..3, or 4 for none. The distance and the number of no mine.
_OWNER = np.full(TILE_BITS + 1, 4, np.uint8)
_OWNER[MINE + 1 : MINE + 5] = range(4)
_NOTHING = AWAY * 256 + NO_MINE
#: The smallest value of each bin but the first: of a potential, and of the size of its change.
_LEVELS, _CHANGES = (32, 128, 256, 512, 1024), (4, 32, 96)

#: Memory of `find_features`: the features of the position (`state`), the features of the five moves one after the other
#: (`moves`), and the owner (0..3: hero, 4: none) of each mine and of `NO_MINE`. The first feature of a move is -1 if the move has
#: no effect and is not a stay. `scores` is room for the scores of the moves (`behaviours.net.scoring`).
FOUND = record(state=("i2", STATE_SLOTS), moves=("i2", 5 * MOVE_SLOTS), owner=("u1", NO_MINE + 1), scores=("i8", 5), **NEAR)
#: numba's type of an array of these records.
FOUND_ARRAY = array_of(FOUND)


@inlined
def _level(potential: int) -> int:
    """Return the bin of a potential, 0..5."""
    level = int64(potential >= _LEVELS[0]) + int64(potential >= _LEVELS[1]) + int64(potential >= _LEVELS[2])
    return level + int64(potential >= _LEVELS[3]) + int64(potential >= _LEVELS[4])


@inlined
def _moved(level: int, change: int) -> int:
    """Return the feature of a potential in its group, from the bin of its level and its change."""
    size = abs(change)
    bin_ = int64(size >= _CHANGES[0]) + int64(size >= _CHANGES[1]) + int64(size >= _CHANGES[2])
    return level * 7 + (3 + bin_ if change > 0 else 3 - bin_)


@inlined
def _share(number: int, inverse: int) -> int:
    """Return ``number // total``, where `inverse` is 2**32 / total, rounded up. It is exact, and faster than a division."""
    return (number * inverse) >> 32


@inlined
def _blows(life: int) -> int:
    """Return the number of blows that a life stands, 0..4."""
    return min(max(life - 1, int64(0)) // 20, int64(4))


@kernel
def _mines_from(
    tables: MapRecord, features: FoundRecord, me: int, richest: int, square: int
) -> tuple[int, int, int, int, int, int, int, int]:
    """Return facts about the mines near a square.

    The facts are: the number of the nearest foreign mine (`NO_MINE`: none) and its distance, the distances of the second nearest
    foreign mine, of the nearest mine without an owner and of the nearest mine of `richest`, the number of foreign mines within
    `WITHIN` moves, the potential of foreign mines, and the potential of the mines of `richest`.
    """
    first, second, free, rich = int64(_NOTHING), int64(_NOTHING), int64(AWAY), int64(AWAY)
    worths, rich_worths = int64(0), int64(0)
    # From the farthest mine to the nearest, which is stored last. There is no branch: a processor cannot predict owners.
    for slot in range(min(int64(tables.mines), int64(LISTED)) - 1, -1, -1):
        mine = int64(tables.nearest[uintp(square * LISTED + slot)])
        owner, away = int64(features.owner[uintp(mine)]), int64(tables.to_mine[uintp(square * MAX_MINES + mine)])
        worth = _MINE_WORTH[uintp(away)]
        second = first if owner != me else second
        first = away * 256 + mine if owner != me else first
        free = away if owner > 3 else free
        rich = away if owner == richest else rich
        worths += worth if owner != me else int64(0)
        rich_worths += worth if owner == richest else int64(0)
    near, pull, rich_pull = worths >> _PULL_BITS, worths & _PULL_MASK, rich_worths & _PULL_MASK
    return first & 255, first >> 8, second >> 8, free, rich, near, pull, rich_pull


@inlined
def _potentials(enemy: Enemy, distance: int, life: int) -> tuple[int, int]:
    """Return the potential of an enemy if it has more life than `life`, and the potential if it has not."""
    pull, stronger = _ENEMY_PULL[uintp(distance)], enemy.life > life
    return pull if stronger else int64(0), int64(0) if stronger else pull * (1 + enemy.mines)


@inlined
def _enemies_from(tables: MapRecord, mover: Mover, square: int) -> tuple[int, int, int]:
    """Return facts about the enemies near a square, if we are there.

    The facts are: the number of enemies within `CLOSE` moves, the potential of enemies with more life, and the potential of
    enemies with less life.
    """
    first, second = away_from(tables, mover.first, square), away_from(tables, mover.second, square)
    third = away_from(tables, mover.third, square)
    first_fear, first_prey = _potentials(mover.first, first, mover.life)
    second_fear, second_prey = _potentials(mover.second, second, mover.life)
    third_fear, third_prey = _potentials(mover.third, third, mover.life)
    close = int64(first <= CLOSE) + int64(second <= CLOSE) + int64(third <= CLOSE)
    return close, first_fear + second_fear + third_fear, first_prey + second_prey + third_prey


@inlined
def _spawn(enemy: Enemy, square: int, other: int) -> int:
    """Return the feature of the spawn of an enemy in its group, or `other` if it is not this square."""
    return 1 + int64(enemy.mines > 0) if enemy.spawn == square else other


@kernel
def _fill_state(
    game: GameRecord,
    tables: MapRecord,
    features: FoundRecord,
    me: int,
    total: int,
    inverse: int,
    free: int,
    best: int,
    rounds: int,
    away: int,
    pull: int,
) -> None:
    """Write the features of the position into ``features.state``.

    `total` is the number of mines (`inverse`: see `_share`), `free` of mines without an owner, `best` of the mines of the richest
    enemy. `rounds` are the rounds left, `away` the distance of the nearest foreign mine, `pull` the potential of foreign mines.
    """
    own = game.hero[uintp(me)]
    life, mines, gold, pos = int64(own.life), int64(own.mines), int64(own.gold), int64(own.pos)
    pays, blows = int64(gold >= BEER_COST), _blows(life)
    state = features.state
    state[0] = _LIFE + min((life - 1) // 5, int64(19))
    state[1] = _SHARES + _share(12 * mines, inverse)
    state[2] = _ROUNDS + int64(_ROUNDS_BIN[uintp(min(rounds, int64(512)))])
    state[3] = _TAVERN + int64(_FAR_BIN[uintp(tables.to_tavern[uintp(pos)])]) * 2 + pays
    state[4] = _MINE + int64(_FAR_BIN[uintp(away)]) * 5 + blows
    lead = int64(-(1 << 40))
    for step in range(1, 4):
        other = game.hero[uintp((me + step) & 3)]
        there, its_life, its_mines = int64(other.pos), int64(other.life), int64(other.mines)
        distance = int64(_ENEMY_BIN[uintp(tables.to_square[uintp(there * CELLS + pos)])])
        more = min(max((its_life - life + (50 if its_life > life else 30)) // 20, int64(0)), int64(4))
        if other.crashed:
            distance, more = int64(6), int64(0)
        state[4 + step] = _ENEMY + (distance * 5 + more) * 4 + min(_share(4 * its_mines, inverse), int64(3))
        its_tavern = int64(_FAR_BIN[uintp(tables.to_tavern[uintp(there)])])
        state[7 + step] = _BAR + (its_tavern * 5 + _blows(its_life)) * 2 + int64(other.gold >= BEER_COST)
        lead = max(lead, int64(other.gold) + its_mines * rounds)
    state[11] = _BEST + _share(12 * best, inverse)
    state[12] = _FREE + _share(12 * free, inverse)
    state[13] = _LAST + min(rounds, int64(12))
    state[14] = _GOLD + int64(_GOLD_BIN[uintp(min(gold, int64(512)))])
    ahead = gold + mines * rounds - lead
    state[15] = _LEAD + min(max(6 + (24 * ahead) // (total * (rounds + 20)), int64(0)), int64(12))
    state[16] = _LIFE_MINES + min(life // 10, int64(9)) * 6 + int64(_MINES_BIN[uintp(min(mines, int64(MAX_MINES)))])
    state[17] = _PULL_LIFE + _level(pull) * 5 + blows


@kernel
def find_features(game: GameRecord, tables: MapRecord, me: int, features: FoundRecord) -> None:
    """Write the features of the position and of all moves of the hero `me` (0..3) into a record of `FOUND`."""
    own = game.hero[uintp(me)]
    pos, gold, held = int64(own.pos), int64(own.gold), int64(own.mines)
    total, free = max(int64(tables.mines), int64(1)), int64(0)
    for mine in range(tables.mines):
        tile = tile_at(game, int64(tables.mine[uintp(mine)]))
        features.owner[uintp(mine)] = _OWNER[uintp(tile)]
        free += int64(tile == MINE)
    features.owner[NO_MINE] = me  # so that places without a mine do not count
    total = max(total, held)
    richest, best = int64((me + 1) & 3), int64(-1)
    for step in range(1, 4):
        mines = int64(game.hero[uintp((me + step) & 3)].mines)
        if mines > best:
            richest, best = int64((me + step) & 3), mines
    total = max(total, best)
    inverse = ((1 << 32) + total - 1) // total
    rounds = max(int64(0), (int64(game.max_turns) - int64(game.turn) + PLIES_PER_ROUND - 1) // PLIES_PER_ROUND)
    rounds_bin = int64(_ROUNDS_BIN[uintp(min(rounds, int64(512)))])
    share, coins = min(_share(6 * held, inverse), int64(5)), int64(_COINS_BIN[uintp(min(gold, int64(512)))])
    mover, row = mover_of(game, tables, me), features.moves

    mines_here, around = _mines_from(tables, features, me, richest, pos), _enemies_from(tables, mover, pos)
    _fill_state(game, tables, features, me, total, inverse, free, best, rounds, mines_here[1], mines_here[6])
    add_state_objects(game, tables, features, me, mover, richest, total, rounds, _OBJECTS, _STATE_SLOTS)
    for move in range(5):
        base = move * MOVE_SLOTS
        kind, square, then = effect_of_move(game, me, mover, move)
        if kind < 0:
            row[base : base + MOVE_SLOTS] = 0
            row[uintp(base)] = -1
            continue
        near_mines = _mines_from(tables, features, me, richest, square) if kind == STEPS else mines_here
        first, away, second, unowned, rich, near, pull, rich_pull = near_mines
        close, fear, prey = _enemies_from(tables, mover, square)
        spawn = _spawn(mover.third, square, _spawn(mover.second, square, _spawn(mover.first, square, int64(0))))
        spawn = int64(3) if int64(own.spawn) == square else spawn
        tavern, bar = int64(tables.to_tavern[uintp(square)]), int64(tables.tavern[uintp(square)])
        rival = min(
            away_from(tables, mover.first, bar), away_from(tables, mover.second, bar), away_from(tables, mover.third, bar)
        )
        race = int64(first != NO_MINE and rival_away(tables, mover, first) <= away)
        basic = features_of_move(game, tables, mover, move, kind, square, then, away)
        for slot in range(SLOTS):
            row[uintp(base + slot)] = basic[slot]
        blows, far = _blows(then), int64(_FAR_BIN[uintp(away)])
        row[uintp(base + 15)] = _ROUNDS_KIND + rounds_bin * _KINDS + kind
        row[uintp(base + 16)] = _SHARE_KIND + share * _KINDS + kind
        row[uintp(base + 17)] = _NEAR_MINES + int64(_COUNT_BIN[uintp(near)]) * 5 + blows
        row[uintp(base + 18)] = _SPAWN + spawn
        row[uintp(base + 19)] = _SECOND + int64(_FAR_BIN[uintp(second)]) * 5 + blows
        row[uintp(base + 20)] = _COINS + coins * _KINDS + kind
        row[uintp(base + 21)] = _FREE_MINE + int64(_FAR_BIN[uintp(unowned)]) * 6 + share
        row[uintp(base + 22)] = _RICH_MINE + int64(_FAR_BIN[uintp(rich)]) * 6 + share
        row[uintp(base + 23)] = _RACE + far * 2 + race
        row[uintp(base + 24)] = _TAKEN + (blows * 2 + mover.pays) * 2 + int64(rival < tavern)
        row[uintp(base + 25)] = _CROWD + close * 5 + blows
        row[uintp(base + 26)] = _PULL + _moved(_level(pull), pull - mines_here[6])
        row[uintp(base + 27)] = _RICH_PULL + _moved(_level(rich_pull), rich_pull - mines_here[7])
        row[uintp(base + 28)] = _FEAR + _moved(_level(fear), fear - around[1])
        row[uintp(base + 29)] = _PREY + _moved(_level(prey), prey - around[2])
        add_move_objects(game, tables, features, me, mover, total, move, kind, square, then, _OBJECTS, base + _MOVE_SLOTS)
