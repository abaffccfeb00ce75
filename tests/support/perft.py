"""Perft: the number of distinct states after a number of plies, and a digest of them.

Every hero always has five moves, so the number of sequences says nothing about the rules. Distinct states are counted, without
last directions, which have no effect. A finished game stays as it is. If a rule is wrong, the digest changes.
"""

from __future__ import annotations

import hashlib

import numpy as np

from sim.board import tile_text
from sim.game import NO_DIRECTION, Game, Games, row_column
from sim.rules import step_all


def distinct_states(games: Games, depth: int) -> Games:
    """Return the distinct states that any moves (but no crashes) lead to in `depth` plies from any of `games`, as an array."""
    states = games.copy()
    states["hero"]["last_dir"] = NO_DIRECTION
    for _ in range(depth):
        following = np.repeat(states, 5)
        step_all(following, np.tile(np.arange(5, dtype=np.int8), len(states)))
        following["hero"]["last_dir"] = NO_DIRECTION
        first = {state.tobytes(): place for place, state in reversed(list(enumerate(following)))}
        states = following[sorted(first.values())]
    return states


def state_line(games: Games, index: int = 0) -> str:
    """Return a state as one line: turn, status, then row, column, life, gold, mines and crash of each
    hero, then the tiles."""
    game = games[index]
    heroes = [
        [*row_column(int(hero["pos"])), *(int(hero[name]) for name in ("life", "gold", "mines", "crashed"))]
        for hero in game["hero"]
    ]
    numbers = "|".join(" ".join(map(str, hero)) for hero in heroes)
    return f"{game['turn']} {game['status']}|{numbers}|{tile_text(games, index)}"


def perft(games: Game, depth: int) -> tuple[int, str]:
    """Return the number of distinct states `depth` plies after ``games[0]``, and a digest of them (16 hexadecimal digits)."""
    states = distinct_states(games[:1], depth)
    lines = sorted(state_line(states, index) for index in range(len(states)))
    return len(states), hashlib.sha256("\n".join(lines).encode()).hexdigest()[:16]
