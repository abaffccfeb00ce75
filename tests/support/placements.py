"""Tiny worlds: all placements of heroes on a few squares, and small positions drawn at random."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import product

import numpy as np

from sim.game import AIR, MINE, TAVERN, WALL, Games, new_game, place_heroes

Place = tuple[int, int]

#: Lives near limits of the rules: a blow or a mine kills, or a beer heals completely.
LIVES = (1, 19, 20, 21, 22, 40, 41, 42, 49, 50, 51, 60, 61, 80, 99, 100)


def placements(places: Sequence[Place], kinds: Sequence[Hashable], *, apart: bool = False) -> Iterator[tuple[Place, ...]]:
    """Yield every way to put heroes on different places (row, column): a place for each of `kinds`, in their order.

    Heroes of the same kind can be exchanged, so their places come only in the given order. With `apart`, no two heroes stand side
    by side (north, south, east or west of each other).
    """

    def put(taken: list[int]) -> Iterator[tuple[Place, ...]]:
        number = len(taken)
        if number == len(kinds):
            yield tuple(places[index] for index in taken)
            return
        after = max((taken[other] for other in range(number) if kinds[other] == kinds[number]), default=-1)
        for index in range(after + 1, len(places)):
            near = any(_beside(places[index], places[other]) for other in taken)
            if index not in taken and not (apart and near):
                yield from put([*taken, index])

    yield from put([])


def _beside(one: Place, other: Place) -> bool:
    return abs(one[0] - other[0]) + abs(one[1] - other[1]) == 1


@dataclass(frozen=True)
class World:
    """A tiny board (rows of ``.`` air, ``#`` wall, ``T`` tavern, ``M`` mine), and the values that can vary on it.

    Every combination of these values is a position: the squares of the heroes (the first ones are their spawn squares), the hero
    to move, the life and gold of each hero, and the owner of each mine.
    """

    rows: tuple[str, ...]
    heroes: int = 2
    lives: tuple[int, ...] = (20, 100)
    gold: tuple[int, ...] = (0, 2)
    owned: bool = True
    apart: bool = False
    left: int = 40
    tiles: np.ndarray = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        codes = {".": AIR, "#": WALL, "T": TAVERN, "M": MINE}
        object.__setattr__(self, "tiles", np.array([[codes[letter] for letter in row] for row in self.rows], np.uint8))

    def positions(self) -> Iterator[Games]:
        """Yield all positions, each as a new array of one game."""
        air = [(int(row), int(column)) for row, column in np.argwhere(self.tiles == AIR)]
        mines = [(int(row), int(column)) for row, column in np.argwhere(self.tiles == MINE)]
        present = range(self.heroes)
        spawns = [*air[: self.heroes], *[None] * (4 - self.heroes)]
        for places in placements(air, list(present), apart=self.apart):
            for owners in product(range(self.heroes + 1) if self.owned else [0], repeat=len(mines)):
                tiles = self.tiles.copy()
                for (row, column), owner in zip(mines, owners, strict=True):
                    tiles[row, column] = MINE + owner
                games = new_game(tiles, [*places, *[None] * (4 - self.heroes)], [*spawns])
                for lives in product(self.lives, repeat=self.heroes):
                    for gold in product(self.gold, repeat=self.heroes):
                        for turn in present:
                            position = games.copy()
                            position[0]["turn"], position[0]["max_turns"] = turn, turn + self.left
                            position[0]["hero"]["life"][: self.heroes] = lives
                            position[0]["hero"]["gold"][: self.heroes] = gold
                            yield position


def random_position(rng: np.random.Generator, *, heroes: int | None = None, size: int | None = None, taverns: int = 3) -> Games:
    """Return a small board with `heroes` (2 to 4) heroes near each other, with lives near limits of the rules.

    A third of the games end within a few plies. There are at most `taverns` taverns.
    """
    size = int(rng.integers(3, 6)) if size is None else size
    heroes = int(rng.integers(2, 5)) if heroes is None else heroes
    tiles = rng.choice([AIR, WALL, MINE], (size, size), p=[0.7, 0.12, 0.18]).astype(np.uint8)
    owned = tiles == MINE
    tiles[owned] += rng.integers(0, heroes + 1, int(owned.sum())).astype(np.uint8)
    free = rng.permutation(size * size).tolist()
    starts: list[Place | None] = [None] * 4
    spawns: list[Place | None] = [None] * 4
    for _ in range(int(rng.integers(0, taverns + 1))):
        tiles[divmod(free.pop(), size)] = TAVERN
    for hero in range(heroes):
        starts[hero] = divmod(free.pop(), size)
        tiles[starts[hero]] = AIR
    places = [place for place in starts if place is not None]
    if rng.random() < 0.5:  # the spawn squares are elsewhere, and another hero may stand there
        places = [*places, *(divmod(place, size) for place in free[:4] if tiles[divmod(place, size)] == AIR)]
    chosen = rng.permutation(len(places)).tolist()[:heroes]
    spawns[:heroes] = [places[index] for index in chosen]
    turn = 4 * int(rng.integers(0, 10)) + int(rng.integers(0, heroes))
    games = new_game(tiles, starts, spawns, max_turns=turn + int(rng.integers(1, 9) if rng.random() < 0.3 else 400))
    game = games[0]
    game["turn"] = turn
    game["hero"]["life"][:heroes] = rng.choice(LIVES, heroes)
    game["hero"]["gold"][:heroes] = rng.integers(0, 6, heroes)
    place_heroes(games)
    return games
