"""The rules: play one ply, and take it back.

`play` and `undo` are kernels that take one `sim.game.GAME` record. `step` and `step_all` call `play` from Python. A second
variant of `play` writes a log of events (see `sim.events` and `sim.replay`). The parts of a ply have a fixed order: set
`last_dir`, move or act, fight (North, East, South, West), lose one life to thirst, get the income, add 1 to the turn. The rules
are those of the original server (docs/rules.md), verified against recorded games. They are deterministic: equal games and equal
moves give equal games.
"""

from __future__ import annotations

import numpy as np
from numba import types
from numpy.typing import NDArray

from sim import events
from sim.game import (
    AIR,
    ALL_CRASHED,
    BEER_COST,
    BEER_HEALS,
    BLOW,
    CRASH,
    GAMES,
    HERO_SHIFT,
    LAST_MINE,
    MAX_LIFE,
    MINE,
    MINE_COST,
    OFFSET,
    RUNNING,
    STAY,
    STRIDE,
    TAVERN,
    TILE_BITS,
    TURN_MAX,
    UNDOS,
    WALL,
    Games,
)
from sim.kernel_types import INT8S, EventLogRecord, GameRecord, HeroRecord, UndoRecord, int64, uint64, uintp
from sim.kernels import entry, inlined, kernel

# An unsigned index needs no test for negative values. This saves time in the kernels that are called most.
_WORD = uintp
# Small numbers as bytes. A byte that compiled code reads from memory stays a byte. A computed byte becomes a word, and so does
# every value that is combined with a word.
_BYTE = np.arange(TILE_BITS + 1, dtype=np.uint8)


@kernel
def _end(game: GameRecord) -> int:
    """Return the square after the last row in use."""
    return (int64(game["size"]) + 1) * STRIDE


@kernel
def is_present(game: GameRecord, hero: int) -> bool:
    """Return whether a hero (0..3) is on the board. An absent hero stands on a square of `ABSENT`, south of the board."""
    return int64(game.hero[hero].pos) < _end(game)


@kernel
def tile_at(game: GameRecord, square: int) -> int:
    """Return the tile code of a square, without the hero on it."""
    return int64(game.cell[_WORD(square)]) & TILE_BITS


@kernel
def hero_at(game: GameRecord, square: int) -> int:
    """Return the id (1..4) of the hero on a square, 0 if there is none. If two heroes share the square, return the lower id."""
    return int64(game.cell[_WORD(square)]) >> HERO_SHIFT


@kernel
def _first_at(game: GameRecord, square: int) -> int:
    for hero in range(4):
        if game.hero[hero].pos == square:
            return hero + 1
    return 0


@kernel
def _refresh(game: GameRecord, square: int) -> None:
    game.cell[_WORD(square)] = tile_at(game, square) | (_first_at(game, square) << HERO_SHIFT)


@kernel
def _transfer_mines(game: GameRecord, loser: int, new_owner: int, log: EventLogRecord | None) -> None:
    """Give all mines of hero `loser` (0..3) to the hero with id `new_owner` (1..4), or to no hero (0)."""
    count = game.hero[_WORD(loser)].mines
    if count == 0:
        return
    if log is not None:
        events.note(log, events.INHERITED, loser, new_owner - 1, 0, 0, count)
    game.hero[_WORD(loser)].mines = 0
    if new_owner:
        game.hero[_WORD(new_owner - 1)].mines += count
    # One masked pass over the rows in use is compiled to vector instructions; it is faster than a list of mines.
    old, new, low = MINE + 1 + loser, MINE + new_owner, _BYTE[TILE_BITS]
    was, change = _BYTE[_WORD(old)], _BYTE[_WORD(old ^ new)]
    for square in range(STRIDE, _end(game)):
        cell = game.cell[_WORD(square)]
        game.cell[_WORD(square)] = cell ^ change if (cell & low) == was else cell


@kernel
def _respawn(game: GameRecord, hero: int, new_owner: int, log: EventLogRecord | None) -> int:
    """Respawn a dead hero (0..3), and give its mines to `new_owner` (id, or 0).

    If another hero stands on the spawn square, this other hero dies and respawns in turn.

    Return the set (a bit per hero) of the heroes that respawned.
    """
    respawned = 0
    _transfer_mines(game, hero, new_owner, log)
    while True:
        left, spawn = int64(game.hero[_WORD(hero)].pos), int64(game.hero[_WORD(hero)].spawn)
        there = _first_at(game, spawn) - 1
        if log is not None:
            events.note(log, events.RESPAWNED, hero, events.NO_HERO, left, spawn, 0)
        game.hero[_WORD(hero)].pos = spawn
        game.hero[_WORD(hero)].life = MAX_LIFE
        _refresh(game, left)
        _refresh(game, spawn)
        respawned |= 1 << hero
        if there < 0 or there == hero:
            return respawned
        if log is not None:
            events.note(log, events.KILLED_ON_SPAWN, hero, there, 0, 0, 0)
        _transfer_mines(game, there, hero + 1, log)
        hero = there


@kernel
def _save_board(game: GameRecord, undo: UndoRecord | None) -> None:
    if undo is not None and undo.deaths == 0:
        undo.cell[:] = game.cell


@kernel
def _fight(game: GameRecord, me: int, respawned: int, undo: UndoRecord | None, log: EventLogRecord | None) -> int:
    """Strike all enemies beside the hero to move, `me` (0..3), except those in `respawned` (a bit per hero).

    Return `respawned` plus the bits of the heroes that respawn now. If the mover has respawned, it strikes no enemy.
    """
    pos = int64(game.hero[me].pos)
    # The enemies are listed before the first blow, with four bits per enemy. The enemy in the North has the lowest bits.
    north, south = hero_at(game, pos - STRIDE), hero_at(game, pos + STRIDE)
    east, west = hero_at(game, pos + 1), hero_at(game, pos - 1)
    listed = north | (east << 4) | (south << 8) | (west << 12)
    while listed:
        enemy = (listed & 15) - 1
        listed >>= 4
        if enemy < 0 or (respawned >> enemy) & 1:
            continue
        if (respawned >> me) & 1:
            break
        if log is not None:
            events.note(log, events.STRUCK, me, enemy, 0, 0, 0)
        life = int64(game.hero[_WORD(enemy)].life) - BLOW
        if life > 0:
            game.hero[_WORD(enemy)].life = life
        else:
            _save_board(game, undo)
            if log is not None:
                events.note(log, events.KILLED, me, enemy, 0, 0, 0)
            respawned |= _respawn(game, enemy, me + 1, log)
            if undo is not None:
                undo.deaths = respawned
    return respawned


@inlined
def play(game: GameRecord, direction: int, undo: UndoRecord | None, log: EventLogRecord | None = None) -> None:
    """Play one ply of the hero to move, in place. The game must be running, and `direction` must be 0..4 or `CRASH`.

    `undo` is None or an `UNDO` record. `play` fills the record for the kernel `undo`, which cannot take back a crash. `log` is
    None or a `sim.events.EVENT_LOG` record. `play` adds the events of the ply to the log. If `undo` or `log` is None, numba
    compiles a variant of `play` that does not write this record.
    """
    me = int64(game.turn) & 3
    hero = game.hero[me]
    if undo is not None:
        undo.hero[0] = game.hero[0]
        undo.hero[1] = game.hero[1]
        undo.hero[2] = game.hero[2]
        undo.hero[3] = game.hero[3]
        undo.mine = 0
        undo.deaths = 0
        undo.status = game.status
    if direction == CRASH:
        if log is not None:
            events.note(log, events.CRASHED, me, events.NO_HERO, 0, 0, 0)
        hero.crashed = 1
        others = game.hero[0].crashed & game.hero[1].crashed & game.hero[2].crashed & game.hero[3].crashed
        if game.training or others:
            game.status = ALL_CRASHED
    else:
        respawned = 0
        hero.last_dir = direction
        start = int64(hero.pos)
        target = start + OFFSET[_WORD(direction)]
        there = int64(game.cell[_WORD(target)])
        # There is no branch here, because a processor cannot predict whether the square is free.
        pos = target if there == AIR else start
        game.cell[_WORD(start)] &= np.uint8(TILE_BITS)
        game.cell[_WORD(pos)] |= np.uint8((me + 1) << HERO_SHIFT)
        hero.pos = pos
        if undo is not None:
            undo.reached = pos
        if log is not None and pos != start:
            events.note(log, events.MOVED, me, events.NO_HERO, start, pos, 0)
        if game.shared:
            _refresh(game, start)
            _refresh(game, pos)
        if WALL < there <= LAST_MINE:
            if there == TAVERN:
                if hero.gold >= BEER_COST:
                    if log is not None:
                        healed = min(MAX_LIFE - int64(hero.life), BEER_HEALS)
                        events.note(log, events.DRANK, me, events.NO_HERO, target, 0, healed)
                    hero.gold -= BEER_COST
                    hero.life = min(MAX_LIFE, int64(hero.life) + BEER_HEALS)
            elif there != MINE + 1 + me:
                if hero.life > MINE_COST:
                    if log is not None:
                        owner = there - MINE - 1 if MINE < there <= MINE + 4 else events.NO_HERO
                        events.note(log, events.TOOK_MINE, me, owner, target, 0, 0)
                    hero.life -= MINE_COST
                    if MINE < there <= MINE + 4:
                        game.hero[there - MINE - 1].mines -= 1
                    hero.mines += 1
                    if undo is not None:
                        undo.mine = target
                        undo.mine_was = there
                    game.cell[_WORD(target)] = MINE + 1 + me
                else:
                    _save_board(game, undo)
                    if log is not None:
                        events.note(log, events.DIED_IN_MINE, me, events.NO_HERO, target, 0, 0)
                    respawned = _respawn(game, me, 0, log)
                    if undo is not None:
                        undo.deaths = respawned
        pos = int64(hero.pos)
        near = game.cell[_WORD(pos - STRIDE)] | game.cell[_WORD(pos + 1)]
        near |= game.cell[_WORD(pos + STRIDE)] | game.cell[_WORD(pos - 1)]
        if near >> HERO_SHIFT:
            _fight(game, me, respawned, undo, log)
    hero.life = max(1, int64(hero.life) - 1)
    hero.gold += hero.mines
    if game.status == RUNNING:
        game.turn += 1
        if game.turn >= game.max_turns:
            game.status = TURN_MAX


@inlined
def undo(game: GameRecord, saved: UndoRecord) -> None:
    """Take back the ply that filled `saved` (an `UNDO` record). This must be the last ply played, and must not be a crash."""
    game.turn -= 1
    game.status = saved.status
    me = int64(game.turn) & 3
    if saved.deaths:
        game.cell[:] = saved.cell
    for hero in range(4):
        game.hero[hero] = saved.hero[hero]
    reached, back = int64(saved.reached), int64(saved.hero[me].pos)
    if reached != back:
        game.cell[_WORD(reached)] &= np.uint8(TILE_BITS)
        game.cell[_WORD(back)] |= np.uint8((me + 1) << HERO_SHIFT)
        if game.shared:
            _refresh(game, reached)
            _refresh(game, back)
    if saved.mine:
        game.cell[_WORD(saved.mine)] = saved.mine_was


# ---- The hash of positions ----

_MIX_1 = uint64(0x9E3779B97F4A7C15)
_MIX_2 = uint64(0xD6E8FEB86659FD93)
_SHIFT = uint64(32)


@kernel
def _mix(word: int) -> int:
    """Return a 64-bit hash of a small number (multiply and fold, twice)."""
    mixed = uint64(word) * _MIX_1
    mixed = (mixed ^ (mixed >> _SHIFT)) * _MIX_2
    return mixed ^ (mixed >> _SHIFT)


@kernel
def _hero_key(hero: HeroRecord, index: int) -> int:
    return _mix(((index + 1) << 40) | (int64(hero.pos) << 16) | (int64(hero.life) << 1) | int64(hero.crashed))


@kernel
def _mine_key(square: int, tile: int) -> int:
    return _mix((square << 4) | tile)


@kernel
def _mover_key(index: int) -> int:
    return _mix((9 << 40) | index)


@kernel
def hash_of(game: GameRecord) -> int:
    """Return a 64-bit hash of a position. Searches use it as the key of their tables.

    The hash covers the hero to move, the square, life and crash of each hero, and the owner of each mine. It does not cover gold,
    the turn number or the last directions.
    """
    total = _mover_key(int64(game.turn) & 3)
    for hero in range(4):
        total ^= _hero_key(game.hero[hero], hero)
    for square in range(STRIDE, _end(game)):
        tile = tile_at(game, square)
        if tile >= MINE:
            total ^= _mine_key(square, tile)
    return total


@kernel
def rehash(old: int, game: GameRecord, saved: UndoRecord) -> int:
    """Return `hash_of` of `game` after a ply. `old` is the hash before the ply, `saved` the `UNDO` record that the ply filled."""
    me = int64(game.turn - 1) & 3
    new = old ^ _mover_key(me) ^ _mover_key((me + 1) & 3)
    for hero in range(4):
        after, before = game.hero[hero], saved.hero[hero]
        if after.pos != before.pos or after.life != before.life:
            new ^= _hero_key(after, hero) ^ _hero_key(before, hero)
    if saved.deaths:
        for square in range(STRIDE, _end(game)):
            tile, was = tile_at(game, square), int64(saved.cell[_WORD(square)]) & TILE_BITS
            if tile != was:
                new ^= _mine_key(square, tile) ^ _mine_key(square, was)
    if saved.mine:
        taken = int64(saved.mine)
        tile = (int64(saved.cell[_WORD(taken)]) & TILE_BITS) if saved.deaths else tile_at(game, taken)
        new ^= _mine_key(taken, tile) ^ _mine_key(taken, int64(saved.mine_was))
    return new


# ---- Effective moves ----


@kernel
def has_effect(game: GameRecord, hero: int, direction: int) -> bool:
    """Return whether a move of `hero` (0..3) has another effect than Stay. Return True for Stay itself.

    A move against a wall, the edge, a hero or an own mine has no effect. A move against a tavern has no effect if the hero lacks
    the gold for a beer.
    """
    if direction == STAY:
        return True
    there = int64(game.cell[_WORD(int64(game.hero[hero].pos) + OFFSET[_WORD(direction)])])
    if there == AIR:
        return True
    if there == TAVERN:
        return int64(game.hero[hero].gold) >= BEER_COST
    return MINE <= there <= LAST_MINE and there != MINE + 1 + hero


# ---- Entries for Python ----


@kernel
def _step(game: GameRecord, direction: int) -> bool:
    if game.status != RUNNING:
        return False
    play(game, direction if 0 <= direction <= CRASH else STAY, None)
    return True


@entry(types.boolean(GAMES, types.int64, types.int64))
def step(games: Games, index: int, direction: int) -> bool:
    """Play one ply of ``games[index]`` in place, and return True. If the game is finished, change nothing and return False.

    `direction` is 0..4 or `CRASH`. Any other number counts as Stay, like an unknown word in the protocol.
    """
    return _step(games[index], direction)


@entry(types.int64(GAMES, INT8S))
def step_all(games: Games, directions: NDArray[np.int8]) -> int:
    """Play one ply of each running game in place, with ``directions[i]`` (int8) as the move in ``games[i]``.

    Return the number of games in which a ply was played.
    """
    moved = 0
    for index in range(min(len(games), len(directions))):
        if _step(games[index], int64(directions[index])):
            moved += 1
    return moved


@entry(types.boolean(GAMES, types.int64, types.int64, UNDOS, types.int64))
def step_saving(games: Games, index: int, direction: int, undos: NDArray[np.void], slot: int) -> bool:
    """Play one ply as `step` does, and fill the `UNDO` record ``undos[slot]``.

    For a crash or a finished game, change nothing and return False.
    """
    game = games[index]
    if game.status != RUNNING or direction == CRASH:
        return False
    play(game, direction if 0 <= direction < CRASH else STAY, undos[slot])
    return True


@entry(types.void(GAMES, types.int64, UNDOS, types.int64))
def step_back(games: Games, index: int, undos: NDArray[np.void], slot: int) -> None:
    """Take back the last ply of ``games[index]``. It must be the ply that filled ``undos[slot]``."""
    undo(games[index], undos[slot])


@entry(types.uint64(GAMES, types.int64))
def position_hash(games: Games, index: int) -> int:
    """Return the result of `hash_of` for ``games[index]``."""
    return hash_of(games[index])


@entry(types.uint64(types.uint64, GAMES, types.int64, UNDOS, types.int64))
def position_rehash(old: int, games: Games, index: int, undos: NDArray[np.void], slot: int) -> int:
    """Return the result of `rehash` for ``games[index]`` and ``undos[slot]``."""
    return rehash(uint64(old), games[index], undos[slot])


@entry(types.int64(GAMES, types.int64, types.int64))
def effective_moves(games: Games, index: int, hero: int) -> int:
    """Return the moves of `hero` (0..3) for which `has_effect` is true, as a set: bit d is direction d.

    Stay is always in the set.
    """
    mask = 0
    for direction in range(5):
        if has_effect(games[index], hero, direction):
            mask |= 1 << direction
    return mask
