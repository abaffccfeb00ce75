"""Small positions drawn at random."""

from __future__ import annotations

import numpy as np

from sim.game import AIR, MINE, TAVERN, WALL, Games, new_game, place_heroes

Place = tuple[int, int]

#: Lives near limits of the rules: a blow or a mine kills, or a beer heals completely.
LIVES = (1, 19, 20, 21, 22, 40, 41, 42, 49, 50, 51, 60, 61, 80, 99, 100)


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
