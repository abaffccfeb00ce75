"""The moves between two states that one player saw, told from the states alone.

A player sees the game only when it is its turn. What happened in between follows from the heroes' last directions: each hero
moves at most once between two of its turns. Every guess is checked: the moves are played, and the state that comes out must
equal the one that was seen.
"""

from __future__ import annotations

import numpy as np

from sim.game import (
    ALL_CRASHED,
    CRASH,
    MAX_LIFE,
    MINE,
    NO_DIRECTION,
    OFFSET,
    PLIES_PER_ROUND,
    RUNNING,
    TILE_BITS,
    Games,
    copy_of,
    equal,
    place_heroes,
)
from sim.rules import step


def moves_between(before: Games, after: Games) -> tuple[list[int], Games] | None:
    """The moves that lead from one state to another at most four plies later, and the state that they lead to; None if the
    other does not follow. Both states are a `sim.game.Game`.

    A hero's last direction in `after` is its move, except that a crash leaves the last direction alone and sets the flag
    instead. A game ended by a crash does not count its last ply.
    """
    start, end = before[0], after[0]
    ended_by_crash = end["status"] == ALL_CRASHED
    count = int(end["turn"]) - int(start["turn"]) + int(ended_by_crash and start["status"] == RUNNING)
    if not 0 <= count <= PLIES_PER_ROUND:
        return None
    games = copy_of(before)
    moves: list[int] = []
    for number in range(1, count + 1):
        move = move_between(before, after, int(games[0]["turn"]) % PLIES_PER_ROUND)
        if ended_by_crash and number == count and not end["hero"]["crashed"].all():
            games[0]["training"] = 1  # whatever we were told: only in a training game one crash is the end
        if move == NO_DIRECTION or not step(games, 0, move):
            return None
        moves.append(move)
    if not _shows(after, games):
        return None
    games[0]["shared"] = end["shared"]
    return moves, games


def move_between(before: Games, after: Games, hero: int) -> int:
    """The move (0..4, `CRASH`) of a hero that moved once between two states; `NO_DIRECTION` if it never moved."""
    last = after[0]["hero"][hero]
    return CRASH if last["crashed"] and not before[0]["hero"][hero]["crashed"] else int(last["last_dir"])


def opening(games: Games) -> Games | None:
    """The state before the first ply, from a state of the first round; None if it cannot be told.

    All heroes stood on their spawn squares, and a mine that belongs to a hero which has just gone for it was nobody's.
    """
    turn = int(games[0]["turn"])
    if turn == 0 and games[0]["status"] == RUNNING:
        return games
    if turn >= PLIES_PER_ROUND:
        return None
    start = games.copy()
    game = start[0]
    game["turn"], game["status"] = 0, RUNNING
    for index, hero in enumerate(game["hero"]):
        spawn, last_dir = int(hero["spawn"]), int(hero["last_dir"])
        hero["pos"], hero["life"], hero["gold"] = spawn, MAX_LIFE, 0
        hero["last_dir"], hero["crashed"] = NO_DIRECTION, 0
        target = spawn + int(OFFSET[last_dir]) if last_dir != NO_DIRECTION else spawn
        if int(game["cell"][target]) & TILE_BITS == MINE + 1 + index:
            game["cell"][target] = MINE
    for index, hero in enumerate(game["hero"]):
        hero["mines"] = np.count_nonzero((game["cell"] & TILE_BITS) == MINE + 1 + index)
    place_heroes(start)
    return start if moves_between(start, games) is not None else None


def _shows(state: Games, games: Games) -> bool:
    """Whether a state of the wire shows this game; it tells neither the kind of game nor whether squares are shared."""
    state = copy_of(state)
    state[0]["training"], state[0]["shared"] = games[0]["training"], games[0]["shared"]
    return equal(state, games)
