"""The moves between two states that one player saw, derived only from these states.

A player sees the game only on its own turns. Each hero moves at most once between two turns of the player, so the hero's last
direction in the later state is its move. To check the result, the moves are played. They must lead to the later state.
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
    """Return the moves from state `before` to state `after` (at most four plies later), and the state to which they lead.

    Return None if `after` does not follow from `before`. A hero's last direction in `after` is its move. If the hero's flag
    `crashed` is set only in `after`, the hero's move is `CRASH`. If a crash ends the game, the ply of the crash does not count as
    a turn.
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
            games[0]["training"] = 1  # the crash of a single hero ends only a training game
        if move == NO_DIRECTION or not step(games, 0, move):
            return None
        moves.append(move)
    if not _shows(after, games):
        return None
    games[0]["shared"] = end["shared"]
    return moves, games


def move_between(before: Games, after: Games, hero: int) -> int:
    """Return the move (0..4 or `CRASH`) of `hero` (0..3), which moved once between two states. Return `NO_DIRECTION` if it has
    never moved in the game."""
    last = after[0]["hero"][hero]
    return CRASH if last["crashed"] and not before[0]["hero"][hero]["crashed"] else int(last["last_dir"])


def first_state_before(games: Games) -> Games | None:
    """Return the state before the first ply, derived from a state of the first round. Return None if that is not possible.

    In the result all heroes stand on their spawn squares, and a mine that a hero took with its first move has no owner.
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
    """Return whether `state` equals `games`, except for the fields `training` and `shared`, which the protocol does not show."""
    state = copy_of(state)
    state[0]["training"], state[0]["shared"] = games[0]["training"], games[0]["shared"]
    return equal(state, games)
