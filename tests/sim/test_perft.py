"""Perft: distinct states after a number of plies, from positions that are hard on the rules, against files and a second opinion.

Every hero always has five moves, so the number of sequences says nothing about the rules. Distinct states are counted, without
last directions, which have no effect. A file is a drawing and then lines ``perft DEPTH STATES DIGEST``; comments before the
drawing say where it comes from.
"""

from __future__ import annotations

import copy
import hashlib
from pathlib import Path

import numpy as np
import pytest

from sim.board import draw, parse, tile_text
from sim.game import NO_DIRECTION, Game, Games, row_column
from sim.rules import step_all
from tests.support.reference import Reference, reference
from tests.support.worlds import DATA

FILES = sorted((DATA / "perft").glob("*.txt"))


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


def read(path: Path) -> tuple[str, list[tuple[int, int, str]]]:
    lines = [line for line in path.read_text().splitlines() if not line.startswith("#")]
    expected = [line.split()[1:] for line in lines if line.startswith("perft ")]
    board = "\n".join(line for line in lines if not line.startswith("perft "))
    return board, [(int(depth), int(states), digest) for depth, states, digest in expected]


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_states_and_digest(path: Path) -> None:
    board, expected = read(path)
    games = parse(board)
    for depth, states, digest in expected:
        assert perft(games, depth) == (states, digest), f"depth {depth} from\n{draw(games)}"


def _key(opinion: Reference) -> str:
    turn, status, heroes, tiles = opinion.snapshot()
    return repr((turn, status, [(*hero[:5], hero[6]) for hero in heroes], sorted(tiles.items())))


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_the_second_opinion_counts_the_same_states(path: Path) -> None:
    games = parse(read(path)[0])
    opinions = {"": reference(games)}
    for _ in range(3):
        following = {}
        for opinion in opinions.values():
            for move in range(5):
                after = copy.deepcopy(opinion)
                after.play(move)
                following[_key(after)] = after
        opinions = following
    states = distinct_states(games, 3)
    assert sorted(opinions) == sorted(_key(reference(states[index : index + 1])) for index in range(len(states)))
