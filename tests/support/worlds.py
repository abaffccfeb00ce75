"""Shared parts of the tests of `sim`: the paths of recorded games, and strategies that draw games."""

from __future__ import annotations

import numpy as np
from hypothesis import strategies as st

from sim.game import AIR, LAST_MINE, MINE, TAVERN, WALL, Games, mirrored, new_game, place_heroes
from sim.generator import generate
from sim.rules import step
from tests.support.paths import DATA, SHARED

#: A few recorded games of each kind, which are part of the project.
SAMPLE = DATA / "games.jsonl.gz"
#: All recorded games, if they are on this machine.
ORACLE = SHARED / "oracle"
YARDSTICK = SHARED / "yardstick" / "limit.c"

#: Any move; the crash is the last one.
moves = st.integers(0, 5)

_TILES = [AIR] * 7 + [WALL, TAVERN, MINE, *range(MINE + 1, MINE + 5), LAST_MINE]


@st.composite
def odd_games(draw: st.DrawFn) -> Games:
    """Draw a game on an unusual board: any tile beside any other, spawn squares on walls, on mines and on each other."""
    size = draw(st.integers(2, 6))
    count = size * size
    tiles = np.array(draw(st.lists(st.sampled_from(_TILES), min_size=count, max_size=count)), np.uint8).reshape(size, size)
    squares = st.integers(0, count - 1)
    starts = [divmod(place, size) for place in draw(st.lists(squares, min_size=4, max_size=4, unique=True))]
    free = [divmod(place, size) for place in draw(st.lists(squares, min_size=4, max_size=4))]
    spawns = draw(st.sampled_from([starts, mirrored(*starts[0], size), free]))
    for row, column in starts:
        tiles[row, column] = AIR
    turn = draw(st.integers(0, 8))
    games = new_game(tiles, [*starts], [*spawns], max_turns=turn + draw(st.integers(0, 40)), training=draw(st.booleans()))
    games[0]["turn"] = turn
    for hero in games[0]["hero"]:
        hero["life"] = draw(st.sampled_from([1, 19, 20, 21, 22, 40, 41, 49, 50, 51, 99, 100]))
        hero["gold"] = draw(st.integers(0, 5))
        hero["last_dir"] = draw(st.integers(-1, 4))
        hero["crashed"] = draw(st.booleans()) and draw(st.booleans())
    place_heroes(games)
    return games


@st.composite
def played_games(draw: st.DrawFn, plies: int = 300) -> Games:
    """Draw a game on a generated map after some random moves."""
    seed = draw(st.integers(0, 2**32))
    games = generate(seed).new_game(max_turns=draw(st.sampled_from([40, 1200])), training=draw(st.booleans()))
    rng = np.random.default_rng(seed)
    for move in rng.integers(0, 5, draw(st.integers(0, plies))).tolist():
        step(games, 0, move)
    return games
