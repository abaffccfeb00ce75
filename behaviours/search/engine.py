"""The search: alpha-beta over the exact rules, as a loop with its own stack.

One call searches one root move to a fixed depth and window; `behaviours.search.deepening` calls it for every move and depth.
The hero we play for maximises the evaluation, his **active** opponents minimise it, and whoever is not active follows the
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

from behaviours.common.evaluation import WEIGHT_ARRAY, evaluate
from behaviours.common.map_tables import GROUNDS
from behaviours.common.policy import policy_order
from behaviours.search.ordering import credit, rank
from behaviours.search.records import (
    AT_LEAST,
    AT_MOST,
    BEST_REPLY,
    BEST_REPLY_PLUS,
    EXACT,
    FRAMES,
    INFINITE,
    MAX_LINE,
    MAX_PLY,
    MEMORIES,
    PARANOID,
    STOP,
    STOP_MASK,
    TABLE,
    TASKS,
)
from sim.game import BLOW, GAMES, OFFSET, RUNNING, STAY, TAVERN, UNDOS
from sim.kernels import entry, inlined, kernel
from sim.rules import has_effect, hash_of, play, rehash, undo

_WORD = np.uintp
_MIX_1, _MIX_2, _32 = np.uint64(0x9E3779B97F4A7C15), np.uint64(0xD6E8FEB86659FD93), np.uint64(32)
#: Moves in the order in which they are tried when nothing better is known: North, East, South, West, Stay.
_ORDER = np.array([1, 3, 2, 4, 0], np.int64)


@kernel
def _salted(word, salt):
    mixed = (word ^ np.uint64(salt)) * _MIX_1
    mixed = (mixed ^ (mixed >> _32)) * _MIX_2
    return mixed ^ (mixed >> _32)


@kernel
def key_of(game, position, fallen):
    """The table's key: the hash of the position with the turn, all gold, and how often we died.

    Who deviated in this round need not be in it: where it matters, one who may not any more has one move only, and such
    positions are not kept.
    """
    gold = np.int64(game.hero[0].gold) | (np.int64(game.hero[1].gold) << 16)
    gold ^= (np.int64(game.hero[2].gold) << 32) ^ (np.int64(game.hero[3].gold) << 48)
    return _salted(_salted(position, gold), (np.int64(game.turn) << 8) | fallen)


@kernel
def _is_hot(game, me, active):
    """Whether the next blow may decide a fight: an active enemy within two squares, and one of the two at `BLOW` or less."""
    pos, life = np.int64(game.hero[me].pos), np.int64(game.hero[me].life)
    for step in range(1, 4):
        enemy = (me + step) & 3
        if (active >> enemy) & 1 and (life <= BLOW or game.hero[enemy].life <= BLOW):
            his = np.int64(game.hero[enemy].pos)
            rows, columns = abs((pos >> 5) - (his >> 5)), abs((pos & 31) - (his & 31))
            if rows + columns <= 2:
                return True
    return False


@kernel
def _is_near(game, me, hero):
    """Whether a hero takes part in a fight at the horizon: within three squares of us."""
    pos, his = np.int64(game.hero[me].pos), np.int64(game.hero[hero].pos)
    return abs((pos >> 5) - (his >> 5)) + abs((pos & 31) - (his & 31)) <= 3


@inlined
def _list_moves(game, frame, hero, cheap):
    """Write the moves of `hero` that have an effect of their own into the frame, in the order of `_ORDER`."""
    pos = np.int64(game.hero[hero].pos)
    count = 0
    for place in range(4):
        direction = _ORDER[place]
        if has_effect(game, hero, direction) or (cheap and np.int64(game.cell[_WORD(pos + OFFSET[_WORD(direction)])]) == TAVERN):
            frame.moves[_WORD(count)] = direction
            count += 1
    frame.moves[_WORD(count)] = STAY
    return count + 1


@kernel
def cheap_score(game, me, active):
    """Gold, 25 a mine, and life, less those of the best active rival: what the plain benchmark compares engines with."""
    mine = np.int64(game.hero[me].gold) + 25 * np.int64(game.hero[me].mines) + np.int64(game.hero[me].life)
    rival, alone = np.int64(-INFINITE), True
    for hero in range(4):
        if hero != me and (active >> hero) & 1:
            worth = np.int64(game.hero[hero].gold) + 25 * np.int64(game.hero[hero].mines) + np.int64(game.hero[hero].life)
            rival, alone = max(rival, worth), False
    return mine if alone else mine - rival


@inlined
def _search(game, undos, frames, ground, weights, task, table, memory, stop, depth, alpha, beta, fallen, cheap):
    """Score the position for ``task.me``, `depth` plies deep, within (alpha, beta): fail-soft. See the module.

    With `cheap` (a constant) all that costs is left out: no table, no ordering, no policy, no quiescence, no limits, and
    the evaluation is `cheap_score`. The game is as before when it returns, also when it was aborted.
    """
    me, active, mode = np.int64(task.me), np.int64(task.active), np.int64(task.mode)
    nodes, limit = np.int64(task.nodes), np.int64(task.limit)
    mask = _WORD(len(table) - 1)
    level, value = 0, np.int64(0)
    frames[0].alpha, frames[0].beta, frames[0].left, frames[0].calm = alpha, beta, depth, task.quiescence
    frames[0].deviated, frames[0].fallen = 0, fallen
    if not cheap:
        frames[0].hash = hash_of(game)
    entering = True
    while True:
        frame = frames[_WORD(level)]
        if entering:
            nodes += 1
            if not cheap:
                frame.line_length = 0
                if nodes >= limit or ((nodes & STOP_MASK) == 0 and stop[0] != 0):
                    task.aborted = 1
                    while level > 0:
                        level -= 1
                        undo(game, undos[_WORD(level)])
                    task.nodes = nodes
                    return np.int64(0)
            hero = np.int64(game.turn) & 3
            fighting = False
            if frame.left == 0 or game.status != RUNNING:
                if cheap:
                    value, entering = cheap_score(game, me, active), False
                else:
                    fighting = game.status == RUNNING and frame.calm > 0 and _is_hot(game, me, active)
                    if not fighting:
                        value = evaluate(game, ground, weights, me) - np.int64(frame.fallen) * task.death
                        entering = False
            if entering:
                # An inner node: which moves has he, and who is he?
                frame.maximises = hero == me
                free = hero == me or (active >> hero) & 1
                if fighting:
                    free = free and _is_near(game, me, hero)
                elif free and hero != me and mode != PARANOID and frame.deviated:
                    free = False
                frame.default = STAY
                if (
                    not cheap
                    and hero != me
                    and (not free or mode == BEST_REPLY_PLUS)
                    and not (mode == BEST_REPLY and (active >> hero) & 1)
                ):
                    frame.default = policy_order(game, ground, hero)
                frame.from_alpha, frame.from_beta = frame.alpha, frame.beta
                frame.best = -INFINITE if hero == me else INFINITE
                frame.best_move = -1
                frame.cursor = 0
                frame.kept = 0
                if not free:
                    frame.count = 1
                    frame.moves[0] = frame.default
                else:
                    frame.count = _list_moves(game, frame, hero, cheap)
                    if not cheap:
                        task.choices += 1
                        table_move = np.int64(-1)
                        if task.table and not fighting:
                            frame.kept = 1
                            frame.key = key_of(game, frame.hash, np.int64(frame.fallen))
                            entry_ = table[frame.key & mask]
                            if entry_.key == frame.key and entry_.age == task.age:
                                table_move = np.int64(entry_.move)
                                if entry_.depth == frame.left:
                                    known, bound = np.int64(entry_.value), entry_.bound
                                    if (
                                        bound == EXACT
                                        or (bound == AT_LEAST and known >= frame.beta)
                                        or (bound == AT_MOST and known <= frame.alpha)
                                    ):
                                        value, entering = known, False
                                        task.hits += 1
                        if entering and task.table:
                            rank(frame, memory, hero, np.int64(game.hero[hero].pos), level, table_move)
        if not entering:
            # Hand the value to the level above.
            if level == 0:
                task.nodes = nodes
                if not cheap:
                    task.line_length = frame.line_length
                    for place in range(np.int64(frame.line_length)):
                        task.line[place] = frame.line[place]
                return value
            level -= 1
            undo(game, undos[_WORD(level)])
            frame = frames[_WORD(level)]
            if frame.maximises:
                better = value > frame.best
                frame.alpha = max(np.int64(frame.alpha), value)
            else:
                better = value < frame.best
                frame.beta = min(np.int64(frame.beta), value)
            if better:
                frame.best = value
                if not cheap:
                    frame.best_move = frame.moves[_WORD(frame.cursor - 1)]
                    if frame.alpha < frame.beta or frame.count == 1:
                        _extend_line(frame, frames[_WORD(level + 1)])
            if frame.alpha >= frame.beta and frame.cursor < frame.count:
                if not cheap:
                    task.cut += 1
                    if task.table:
                        hero = np.int64(game.turn) & 3
                        credit(
                            memory, hero, np.int64(game.hero[hero].pos), level, np.int64(frame.best_move), np.int64(frame.left)
                        )
                frame.cursor = frame.count
        if frame.cursor < frame.count:
            # The next move.
            move = np.int64(frame.moves[_WORD(frame.cursor)])
            frame.cursor += 1
            hero = np.int64(game.turn) & 3
            play(game, move, undos[_WORD(level)])
            below = frames[_WORD(level + 1)]
            if not cheap:
                below.hash = rehash(frame.hash, game, undos[_WORD(level)])
                below.fallen = frame.fallen + ((undos[_WORD(level)].deaths >> me) & 1)
                below.deviated = 0
                if hero != me:
                    below.deviated = frame.deviated
                    if (active >> hero) & 1 and move != frame.default:
                        below.deviated = 1
                    if ((hero + 1) & 3) == me:
                        below.deviated = 0
                if frame.left > 0:
                    below.calm = frame.calm
                else:
                    below.calm = frame.calm - 1
            below.left = max(0, np.int64(frame.left) - 1)
            below.alpha, below.beta = frame.alpha, frame.beta
            level += 1
            entering = True
        else:
            # All moves are tried, or the rest is cut off.
            value = np.int64(frame.best)
            entering = False
            if not cheap and frame.kept:
                _store(table, mask, frame, task)


@kernel
def _extend_line(frame, below):
    length = np.int64(below.line_length) - np.int64(below.line_length == MAX_LINE)
    frame.line[0] = frame.best_move
    for place in range(length):
        frame.line[place + 1] = below.line[place]
    frame.line_length = length + 1


@kernel
def _store(table, mask, frame, task):
    """Keep a node's result, unless a deeper one of this search has the place."""
    entry_ = table[frame.key & mask]
    if entry_.age == task.age and entry_.depth > frame.left and entry_.key != frame.key:
        return
    bound = EXACT
    if frame.best <= frame.from_alpha:
        bound = AT_MOST
    elif frame.best >= frame.from_beta:
        bound = AT_LEAST
    entry_.key, entry_.value, entry_.depth, entry_.bound = frame.key, frame.best, frame.left, bound
    entry_.move, entry_.age = frame.best_move, task.age


_ARGUMENTS = (
    GAMES,
    UNDOS,
    FRAMES,
    GROUNDS,
    WEIGHT_ARRAY,
    TASKS,
    TABLE,
    MEMORIES,
    STOP,
    types.int64,
    types.int64,
    types.int64,
    types.int64,
)


@entry(types.int64(*_ARGUMENTS))
def search_below(games, undos, frames, grounds, weights, tasks, table, memories, stop, move, depth, alpha, beta):
    """Score of ``games[0]`` after `move` of the hero to move, searched `depth` plies in all; ``tasks[0].aborted`` if cut short.

    `move` -1 searches the position itself. Within (alpha, beta) the score is exact; outside it is a bound.
    """
    game, task = games[0], tasks[0]
    fallen = 0
    if move >= 0:
        play(game, move, undos[MAX_PLY])
        depth -= 1
        fallen = (undos[MAX_PLY].deaths >> task.me) & 1
    value = _search(
        game, undos, frames, grounds[0], weights[0], task, table, memories[0], stop, depth, alpha, beta, fallen, False
    )
    if move >= 0:
        undo(game, undos[MAX_PLY])
    return value


@entry(types.int64(*_ARGUMENTS))
def search_plainly(games, undos, frames, grounds, weights, tasks, table, memories, stop, move, depth, alpha, beta):
    """Plain fixed-depth alpha-beta with `cheap_score`, idle heroes standing still: to compare engines by nodes per second."""
    return _search(
        games[0], undos, frames, grounds[0], weights[0], tasks[0], table, memories[0], stop, depth, alpha, beta, 0, True
    )
