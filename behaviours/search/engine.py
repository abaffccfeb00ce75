"""The search: alpha-beta over the exact rules, as a loop with its own stack.

One call searches one root move to a fixed depth and window; `behaviours.search.deepening` calls it for every move and depth.
The hero we play for maximises the evaluation, its **active** opponents minimise it, and a hero that is not active follows the
cheap policy. What an active opponent may do depends on the mode:

paranoid
    all active opponents choose freely against us (Sturtevant and Korf 2000);
best-reply
    in every round at most one of them does, and the others stand still (Schadd and Winands 2011);
best-reply-plus
    the same, but the others follow the policy, so that the moves played stay legal and likely (BRS+, Esser et al. 2013).

With a transposition table, moves are tried in the order: table, killers, history. The table's key covers all that decides the
result (the turn and the gold too), and an entry counts only at the same depth: with and without it the scores are the same.
At the horizon a fight that the next blow decides is searched on (quiescence).
"""

from __future__ import annotations

import numpy as np
from numba import types
from numpy.typing import NDArray

from behaviours.common.evaluation import WEIGHT_ARRAY, evaluate
from behaviours.common.kernel_types import GameRecord, MapRecord, WeightsRecord, int64, uint64, uintp
from behaviours.common.map_tables import MAP_TABLES_ARRAY
from behaviours.common.policy import cheap_move
from behaviours.search.ordering import credit, rank
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
)
from sim.game import BLOW, GAMES, RUNNING, STAY, Games
from sim.kernels import entry, inlined, kernel
from sim.rules import has_effect, hash_of, play, rehash, undo

_MIX_1, _MIX_2, _32 = uint64(0x9E3779B97F4A7C15), uint64(0xD6E8FEB86659FD93), uint64(32)
_TABLE_MASK = uint64(TABLE_SIZE - 1)
#: Moves in the order in which they are tried when nothing better is known: North, East, South, West, Stay.
_ORDER = np.array([1, 3, 2, 4, 0], np.int64)


@kernel
def _salted(word: int, salt: int) -> int:
    mixed = (word ^ uint64(salt)) * _MIX_1
    mixed = (mixed ^ (mixed >> _32)) * _MIX_2
    return mixed ^ (mixed >> _32)


@kernel
def _key_of(game: GameRecord, position: int, deaths: int) -> int:
    """The table's key: the hash of the position with the turn, all gold, and how often we died.

    Who deviated in this round need not be in it: where it matters, a hero that may not deviate any more has one move only, and
    such nodes are not stored.
    """
    gold = int64(game.hero[0].gold) | (int64(game.hero[1].gold) << 16)
    gold ^= (int64(game.hero[2].gold) << 32) ^ (int64(game.hero[3].gold) << 48)
    return uint64(_salted(_salted(position, gold), (int64(game.turn) << 8) | deaths))


@kernel
def _is_hot(game: GameRecord, me: int, active: int) -> bool:
    """Whether the next blow may decide a fight: an active enemy within two squares, and one of the two at `BLOW` or less."""
    pos, life = int64(game.hero[me].pos), int64(game.hero[me].life)
    for step in range(1, 4):
        enemy = (me + step) & 3
        if (active >> enemy) & 1 and (life <= BLOW or game.hero[enemy].life <= BLOW):
            there = int64(game.hero[enemy].pos)
            rows, columns = abs((pos >> 5) - (there >> 5)), abs((pos & 31) - (there & 31))
            if rows + columns <= 2:
                return True
    return False


@kernel
def _is_near(game: GameRecord, me: int, hero: int) -> bool:
    """Whether a hero takes part in a fight at the horizon: within three squares of us."""
    pos, there = int64(game.hero[me].pos), int64(game.hero[hero].pos)
    return abs((pos >> 5) - (there >> 5)) + abs((pos & 31) - (there & 31)) <= 3


@inlined
def _list_moves(game: GameRecord, frame: FrameRecord, hero: int) -> int:
    """Write the moves of `hero` that have an effect of their own into the frame, in the order of `_ORDER`; their number."""
    count = 0
    for place in range(4):
        direction = _ORDER[place]
        if has_effect(game, hero, direction):
            frame.moves[uintp(count)] = direction
            count += 1
    frame.moves[uintp(count)] = STAY
    return count + 1


# ---- A node: enter it, make its next move, leave it ----


@inlined
def _chooses(game: GameRecord, frame: FrameRecord, task: TaskRecord, hero: int, fighting: bool) -> bool:
    """Whether `hero` chooses its move freely at a node."""
    me = int64(task.me)
    if hero != me and not (int64(task.active) >> hero) & 1:
        return False
    if fighting:
        return bool(_is_near(game, me, hero))
    return hero == me or task.mode == PARANOID or not frame.deviated


@inlined
def _usual_move(game: GameRecord, tables: MapRecord, task: TaskRecord, hero: int, chooses: bool) -> int:
    """The move of a hero that does nothing special: by the policy, or `STAY` where the mode says so."""
    if hero == task.me or (chooses and task.mode != BEST_REPLY_PLUS):
        return int64(STAY)
    if task.mode == BEST_REPLY and (int64(task.active) >> hero) & 1:
        return int64(STAY)
    return int64(cheap_move(game, tables, hero))


@inlined
def _enter(game: GameRecord, tables: MapRecord, weights: WeightsRecord, work: WorkRecord, level: int) -> tuple[bool, int]:
    """Begin the node on `level`: whether its score is known at once, and the score. If it is not, its moves are listed."""
    frame, task = work.frames[uintp(level)], work.task
    frame.pv_length = 0
    me, hero = int64(task.me), int64(game.turn) & 3
    fighting = False
    if frame.left == 0 or game.status != RUNNING:
        fighting = game.status == RUNNING and frame.quiescence > 0 and _is_hot(game, me, int64(task.active))
        if not fighting:
            return True, evaluate(game, tables, weights, me) - int64(frame.deaths) * int64(task.death)
    chooses = _chooses(game, frame, task, hero, fighting)
    frame.usual = _usual_move(game, tables, task, hero, chooses)
    frame.maximises = hero == me
    frame.first_alpha, frame.first_beta = frame.alpha, frame.beta
    frame.best = -INFINITE if hero == me else INFINITE
    frame.best_move = -1
    frame.cursor = 0
    frame.stored = 0
    if not chooses:
        frame.count = 1
        frame.moves[0] = frame.usual
        return False, int64(0)
    frame.count = _list_moves(game, frame, hero)
    if not task.table:
        return False, int64(0)
    table_move = int64(-1)
    if not fighting:
        known, value, table_move = _look_up(game, work, frame)
        if known:
            return True, value
    rank(frame, work.memory, hero, int64(game.hero[hero].pos), level, table_move)
    return False, int64(0)


@inlined
def _look_up(game: GameRecord, work: WorkRecord, frame: FrameRecord) -> tuple[bool, int, int]:
    """Ask the table: whether it knows the node's score, the score, and the move to try first (-1 for none)."""
    frame.stored = 1
    frame.key = _key_of(game, frame.hash, int64(frame.deaths))
    entry_ = work.table[frame.key & _TABLE_MASK]
    if entry_.key != frame.key or entry_.age != work.task.age:
        return False, int64(0), int64(-1)
    value, bound = int64(entry_.value), entry_.bound
    known = entry_.depth == frame.left and (
        bound == EXACT or (bound == LOWER and value >= frame.beta) or (bound == UPPER and value <= frame.alpha)
    )
    return known, value, int64(entry_.move)


@inlined
def _make_next_move(game: GameRecord, work: WorkRecord, level: int) -> None:
    """Make the next move of the node on `level`, and write what the node below it begins with."""
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
        if (int64(task.active) >> hero) & 1 and move != frame.usual:
            below.deviated = 1
    below.quiescence = frame.quiescence if frame.left > 0 else frame.quiescence - 1
    below.left = max(0, int64(frame.left) - 1)
    below.alpha, below.beta = frame.alpha, frame.beta


@inlined
def _leave(game: GameRecord, work: WorkRecord, level: int, value: int) -> tuple[bool, int]:
    """Take back the last move of the node on `level`, which is worth `value`: whether that settles the node, and its score."""
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
            _extend_line(frame, work.frames[uintp(level + 1)])
    if frame.cursor < frame.count:
        if frame.alpha < frame.beta:
            return False, int64(0)
        if work.task.table:
            hero = int64(game.turn) & 3
            credit(work.memory, hero, int64(game.hero[hero].pos), level, int64(frame.best_move), int64(frame.left))
    if frame.stored:
        _store(work, frame)
    return True, int64(frame.best)


@kernel
def _extend_line(frame: FrameRecord, below: FrameRecord) -> None:
    """The principal variation of a node: its best move and the line of the node below."""
    length = int64(below.pv_length) - int64(below.pv_length == MAX_PV)
    frame.pv[0] = frame.best_move
    for place in range(length):
        frame.pv[place + 1] = below.pv[place]
    frame.pv_length = length + 1


@kernel
def _store(work: WorkRecord, frame: FrameRecord) -> None:
    """Keep a node's result, unless a deeper one of this search has the place."""
    entry_, age = work.table[frame.key & _TABLE_MASK], work.task.age
    if entry_.age == age and entry_.depth > frame.left and entry_.key != frame.key:
        return
    bound = EXACT
    if frame.best <= frame.first_alpha:
        bound = UPPER
    elif frame.best >= frame.first_beta:
        bound = LOWER
    entry_.key, entry_.value, entry_.depth, entry_.bound = frame.key, frame.best, frame.left, bound
    entry_.move, entry_.age = frame.best_move, age


# ---- The loop ----


@inlined
def _search(game: GameRecord, tables: MapRecord, weights: WeightsRecord, work: WorkRecord, stop: NDArray[np.int64]) -> int:
    """Score the position for ``task.me`` as frame 0 says, fail-soft. See the module.

    The game is as before when it returns, also when the search was aborted.
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
        settled, value = _enter(game, tables, weights, work, level)
        while settled:
            if level == 0:
                task.nodes = nodes
                return int64(value)
            level -= 1
            settled, value = _leave(game, work, level, value)
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
    """Score of ``games[0]`` after `move` of the hero to move, searched `depth` plies in all; ``task.aborted`` if cut short.

    `move` -1 searches the position itself. Within the `window` (alpha, beta) the score is exact; outside it is a bound.
    `works` is an array of one `WORK` record whose task says what is asked; its `nodes` and `pv` are written.
    """
    game: GameRecord = games[0]
    work: WorkRecord = works[0]
    task, root = work.task, work.frames[0]
    root.deaths, root.deviated, root.quiescence = 0, 0, task.quiescence
    if move >= 0:
        play(game, move, work.undos[MAX_PLY])
        depth -= 1
        root.deaths = (work.undos[MAX_PLY].deaths >> task.me) & 1
    root.alpha, root.beta, root.left = window[0], window[1], depth
    root.hash = hash_of(game)
    value: int = _search(game, tables_array[0], weights[0], work, stop)
    task.pv_length = root.pv_length
    for place in range(int64(root.pv_length)):
        task.pv[place] = root.pv[place]
    if move >= 0:
        undo(game, work.undos[MAX_PLY])
    return value
