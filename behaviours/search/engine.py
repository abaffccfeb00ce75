"""Alpha-beta search over the exact rules, as a loop with its own stack.

One call searches one root move to a fixed depth and window. `behaviours.search.deepening` calls it for every move and depth. Our
hero maximises the evaluation. Its **active** opponents minimise it. A hero that is not active follows the cheap policy. The mode
says which active opponents choose freely among their moves:

paranoid
    all of them, against us (Sturtevant and Korf 2000);
best-reply
    at most one per round, and the others stand still (Schadd and Winands 2011);
best-reply-plus
    at most one per round, and the others follow the cheap policy (BRS+, Esser et al. 2013).

The search first tries the move from the transposition table, then the killers, then the other moves by history. The table's key
covers everything that decides the result, also the turn and the gold. An entry of the table counts only for a search of the same
depth. So the scores are the same with and without the table. At the horizon the search goes on while the next blow may decide a
fight (quiescence).
"""

from __future__ import annotations

import numpy as np
from numba import types
from numpy.typing import NDArray

from behaviours.common.evaluation import WEIGHT_ARRAY, WeightsRecord, evaluate
from behaviours.common.map_tables import MAP_TABLES_ARRAY, MapRecord
from behaviours.common.policy import cheap_move
from behaviours.search.records import (
    BEST_REPLY,
    BEST_REPLY_PLUS,
    EXACT,
    INFINITE,
    LOWER,
    MAX_PLY,
    MAX_PV,
    PARANOID,
    STOP,
    STOP_MASK,
    TABLE_SIZE,
    UPPER,
    WINDOW,
    WORKS,
    FrameRecord,
    TaskRecord,
    WorkRecord,
    record_cutoff,
    sort_moves,
)
from sim.game import BLOW, GAMES, RUNNING, STAY, Games
from sim.kernel_types import GameRecord, int64, uint64, uintp
from sim.kernels import entry, inlined, kernel
from sim.rules import has_effect, hash_of, play, rehash, undo

_MULTIPLIER_1, _MULTIPLIER_2, _32 = uint64(0x9E3779B97F4A7C15), uint64(0xD6E8FEB86659FD93), uint64(32)
_TABLE_MASK = uint64(TABLE_SIZE - 1)
#: The order of moves without a table, killers or history: North, East, South, West, Stay.
_DEFAULT_ORDER = np.array([1, 3, 2, 4, 0], np.int64)


@kernel
def _salted(word: int, salt: int) -> int:
    mixed = (word ^ uint64(salt)) * _MULTIPLIER_1
    mixed = (mixed ^ (mixed >> _32)) * _MULTIPLIER_2
    return mixed ^ (mixed >> _32)


@kernel
def _key_of(game: GameRecord, position: int, deaths: int) -> int:
    """Return the table's key: a hash of the position, the turn, all gold, and the number of our deaths.

    The field `deviated` of the node is not part of the key. After a deviation, each other opponent has only one move, and nodes
    with one move are not stored.
    """
    gold = int64(game.hero[0].gold) | (int64(game.hero[1].gold) << 16)
    gold ^= (int64(game.hero[2].gold) << 32) ^ (int64(game.hero[3].gold) << 48)
    return uint64(_salted(_salted(position, gold), (int64(game.turn) << 8) | deaths))


@kernel
def _squares_between(game: GameRecord, hero: int, other: int) -> int:
    """Return the distance of two heroes in squares, rows plus columns."""
    first, second = int64(game.hero[hero].pos), int64(game.hero[other].pos)
    return abs((first >> 5) - (second >> 5)) + abs((first & 31) - (second & 31))


@kernel
def _is_undecided(game: GameRecord, me: int, active: int) -> bool:
    """Return whether the next blow may decide a fight.

    This is so if an active enemy is within two squares, and this enemy or our hero has at most `BLOW` life.
    """
    for enemy in range(4):
        weak = game.hero[me].life <= BLOW or game.hero[enemy].life <= BLOW
        if weak and (active >> enemy) & 1 and _squares_between(game, me, enemy) <= 2:
            return True
    return False


@inlined
def _list_moves(game: GameRecord, frame: FrameRecord, hero: int) -> int:
    """Write the moves of `hero` that have an effect into the frame, in `_DEFAULT_ORDER`; return their number."""
    count = 0
    for place in range(4):
        direction = _DEFAULT_ORDER[place]
        if has_effect(game, hero, direction):
            frame.moves[uintp(count)] = direction
            count += 1
    frame.moves[uintp(count)] = STAY
    return count + 1


# ---- A node: enter it, make its next move, leave it ----


@inlined
def _chooses_freely(game: GameRecord, frame: FrameRecord, task: TaskRecord, hero: int, in_quiescence: bool) -> bool:
    """Return whether `hero` chooses its move freely at a node.

    A hero that is neither ours nor active never does. In quiescence, our hero chooses freely, and so does each active hero within
    three squares of ours. Outside quiescence, our hero chooses freely, and the mode decides for active heroes.
    """
    me = int64(task.me)
    if hero != me and not (int64(task.active) >> hero) & 1:
        return False
    if in_quiescence:
        return bool(_squares_between(game, me, hero) <= 3)
    return hero == me or task.mode == PARANOID or not frame.deviated


@inlined
def _default_move(game: GameRecord, tables: MapRecord, task: TaskRecord, hero: int, chooses: bool) -> int:
    """Return the default move of `hero`: `STAY` for our hero and in modes that require it, else the move of the cheap policy."""
    if hero == task.me or (chooses and task.mode != BEST_REPLY_PLUS):
        return int64(STAY)
    if task.mode == BEST_REPLY and (int64(task.active) >> hero) & 1:
        return int64(STAY)
    return int64(cheap_move(game, tables, hero))


@inlined
def _enter_node(game: GameRecord, tables: MapRecord, weights: WeightsRecord, work: WorkRecord, level: int) -> tuple[bool, int]:
    """Begin the node on `level`. Return whether its score is known already, and the score.

    If the score is not known, list the moves of the node.
    """
    frame, task = work.frames[uintp(level)], work.task
    frame.pv_length = 0
    me, hero = int64(task.me), int64(game.turn) & 3
    in_quiescence = False
    if frame.depth == 0 or game.status != RUNNING:
        in_quiescence = game.status == RUNNING and frame.quiescence > 0 and _is_undecided(game, me, int64(task.active))
        if not in_quiescence:
            return True, evaluate(game, tables, weights, me) - int64(frame.deaths) * int64(task.death)
    chooses = _chooses_freely(game, frame, task, hero, in_quiescence)
    frame.default_move = _default_move(game, tables, task, hero, chooses)
    frame.maximises = hero == me
    frame.first_alpha, frame.first_beta = frame.alpha, frame.beta
    frame.best = -INFINITE if hero == me else INFINITE
    frame.best_move = -1
    frame.cursor = 0
    frame.stored = 0
    if not chooses:
        frame.count = 1
        frame.moves[0] = frame.default_move
        return False, int64(0)
    frame.count = _list_moves(game, frame, hero)
    if not task.table:
        return False, int64(0)
    table_move = int64(-1)
    if not in_quiescence:
        known, value, table_move = _probe_table(game, work, frame)
        if known:
            return True, value
    sort_moves(frame, work.memory, hero, int64(game.hero[hero].pos), level, table_move)
    return False, int64(0)


@inlined
def _probe_table(game: GameRecord, work: WorkRecord, frame: FrameRecord) -> tuple[bool, int, int]:
    """Look up a node in the table. Return whether its score is known, the score, and the move to try first (-1: none)."""
    frame.stored = 1
    frame.key = _key_of(game, frame.hash, int64(frame.deaths))
    slot = work.table[frame.key & _TABLE_MASK]
    if slot.key != frame.key or slot.age != work.task.age:
        return False, int64(0), int64(-1)
    value, bound = int64(slot.value), slot.bound
    known = slot.depth == frame.depth and (
        bound == EXACT or (bound == LOWER and value >= frame.beta) or (bound == UPPER and value <= frame.alpha)
    )
    return known, value, int64(slot.move)


@inlined
def _make_next_move(game: GameRecord, work: WorkRecord, level: int) -> None:
    """Make the next move of the node on `level`, and write the initial values of the node below."""
    task, saved = work.task, work.undos[uintp(level)]
    frame, below = work.frames[uintp(level)], work.frames[uintp(level + 1)]
    me, hero = int64(task.me), int64(game.turn) & 3
    move = int64(frame.moves[uintp(frame.cursor)])
    frame.cursor += 1
    play(game, move, saved)
    below.hash = rehash(frame.hash, game, saved)
    below.deaths = frame.deaths + ((saved.deaths >> me) & 1)
    below.deviated = 0
    if hero != me and ((hero + 1) & 3) != me:
        below.deviated = frame.deviated
        if (int64(task.active) >> hero) & 1 and move != frame.default_move:
            below.deviated = 1
    below.quiescence = frame.quiescence if frame.depth > 0 else frame.quiescence - 1
    below.depth = max(0, int64(frame.depth) - 1)
    below.alpha, below.beta = frame.alpha, frame.beta


@inlined
def _leave_node(game: GameRecord, work: WorkRecord, level: int, value: int) -> tuple[bool, int]:
    """Take back the last move of the node on `level`, whose score is `value`. Return whether the node is done, and its score."""
    frame = work.frames[uintp(level)]
    undo(game, work.undos[uintp(level)])
    if frame.maximises:
        better = value > frame.best
        frame.alpha = max(int64(frame.alpha), value)
    else:
        better = value < frame.best
        frame.beta = min(int64(frame.beta), value)
    if better:
        frame.best = value
        frame.best_move = frame.moves[uintp(frame.cursor - 1)]
        if frame.alpha < frame.beta or frame.count == 1:
            _extend_pv(frame, work.frames[uintp(level + 1)])
    if frame.cursor < frame.count:
        if frame.alpha < frame.beta:
            return False, int64(0)
        if work.task.table:
            hero = int64(game.turn) & 3
            record_cutoff(work.memory, hero, int64(game.hero[hero].pos), level, int64(frame.best_move), int64(frame.depth))
    if frame.stored:
        _store(work, frame)
    return True, int64(frame.best)


@kernel
def _extend_pv(frame: FrameRecord, below: FrameRecord) -> None:
    """Write the principal variation of a node: its best move, then the variation of the node below."""
    length = int64(below.pv_length) - int64(below.pv_length == MAX_PV)
    frame.pv[0] = frame.best_move
    for place in range(length):
        frame.pv[place + 1] = below.pv[place]
    frame.pv_length = length + 1


@kernel
def _store(work: WorkRecord, frame: FrameRecord) -> None:
    """Store the result of a node in the table, unless a deeper result of this search has the slot."""
    slot, age = work.table[frame.key & _TABLE_MASK], work.task.age
    if slot.age == age and slot.depth > frame.depth and slot.key != frame.key:
        return
    bound = EXACT
    if frame.best <= frame.first_alpha:
        bound = UPPER
    elif frame.best >= frame.first_beta:
        bound = LOWER
    slot.key, slot.value, slot.depth, slot.bound = frame.key, frame.best, frame.depth, bound
    slot.move, slot.age = frame.best_move, age


# ---- The loop ----


@inlined
def _search(game: GameRecord, tables: MapRecord, weights: WeightsRecord, work: WorkRecord, stop: NDArray[np.int64]) -> int:
    """Return the score of the position for ``task.me``, fail-soft, with the depth and window of frame 0.

    The game is the same afterwards, also after an aborted search.
    """
    task = work.task
    nodes, limit = int64(task.nodes), int64(task.limit)
    level = 0
    while True:
        nodes += 1
        if nodes >= limit or ((nodes & STOP_MASK) == 0 and stop[0] != 0):
            task.aborted, task.nodes = 1, nodes
            while level > 0:
                level -= 1
                undo(game, work.undos[uintp(level)])
            return int64(0)
        done, value = _enter_node(game, tables, weights, work, level)
        while done:
            if level == 0:
                task.nodes = nodes
                return int64(value)
            level -= 1
            done, value = _leave_node(game, work, level, value)
        _make_next_move(game, work, level)
        level += 1


@entry(types.int64(GAMES, MAP_TABLES_ARRAY, WEIGHT_ARRAY, WORKS, STOP, types.int64, types.int64, WINDOW))
def search_below(
    games: Games,
    tables_array: NDArray[np.void],
    weights: NDArray[np.void],
    works: NDArray[np.void],
    stop: NDArray[np.int64],
    move: int,
    depth: int,
    window: tuple[int, int],
) -> int:
    """Return the score of ``games[0]`` after `move` of the hero to move. The search is `depth` plies deep, `move` included.

    If `move` is -1, the position itself is searched. A score inside the `window` (alpha, beta) is exact. A score outside the
    window is a bound. `works` is an array of one `WORK` record, whose `task` the caller has set. The kernel adds the nodes of
    this search to ``task.nodes``. If it ends before the result is known, it sets ``task.aborted`` to 1. It writes the principal
    variation after `move` to ``frames[0]``.
    """
    game: GameRecord = games[0]
    work: WorkRecord = works[0]
    task, root = work.task, work.frames[0]
    root.deaths, root.deviated, root.quiescence = 0, 0, task.quiescence
    if move >= 0:
        play(game, move, work.undos[MAX_PLY])
        depth -= 1
        root.deaths = (work.undos[MAX_PLY].deaths >> task.me) & 1
    root.alpha, root.beta, root.depth = window[0], window[1], depth
    root.hash = hash_of(game)
    value: int = _search(game, tables_array[0], weights[0], work, stop)
    if move >= 0:
        undo(game, work.undos[MAX_PLY])
    return value
