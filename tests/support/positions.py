"""Positions for tests of the evaluation, the policies and the search."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator

import numpy as np
from numpy.typing import ArrayLike

from behaviours.common.map_tables import map_tables_of
from behaviours.common.policy import policy
from sim.game import ABSENT, Games, mover
from sim.generator import generate
from sim.maps import map_of
from sim.rules import step
from tests.support.placements import random_position


def small_positions(seed: int, count: int) -> Iterator[Games]:
    """Yield three positions of each of `count` small games."""
    rng = np.random.default_rng(seed)
    for _ in range(count):
        games = random_position(rng)
        if rng.random() < 0.1:
            games[0]["hero"]["crashed"][int(rng.integers(4))] = 1
        for _ in range(3):
            yield games.copy()
            for move in rng.integers(0, 5, 5).tolist():
                step(games, 0, move)


def played_positions(seed: int, count: int) -> Iterator[Games]:
    """Yield positions on generated maps, from the middle and near the end of games. Moves come from the policy or are random."""
    for number in range(count):
        rng = np.random.default_rng((seed, number))
        games = generate(seed + number, size=int(rng.choice([8, 10, 12]))).new_game(max_turns=int(rng.choice([200, 1200])))
        tables = map_tables_of(map_of(games))
        for stray in (rng.random(int(rng.integers(40, 200))) < 0.4).tolist():
            step(games, 0, int(rng.integers(5)) if stray else policy(games, 0, mover(games), tables))
            if rng.random() < 0.1:
                yield games.copy()


def present(games: Games) -> list[int]:
    """Return the heroes on the board."""
    return [hero for hero in range(4) if games[0]["hero"][hero]["pos"] != ABSENT[hero]]


def enemies(games: Games) -> int:
    """Return the set of all opponents of the hero to move, as bits."""
    return sum(1 << hero for hero in present(games) if hero != mover(games))


def digest(numbers: ArrayLike) -> str:
    """Return a digest of whole numbers, for tests that compare many of them with what was recorded."""
    return hashlib.sha256(np.array(numbers, np.int64).tobytes()).hexdigest()[:16]
