"""The opponents that can matter within the horizon of a search."""

from __future__ import annotations

from sim.game import ABSENT, Games
from sim.maps import Map

#: Moves added to a distance from our spawn square: dying leads there at once, but is seldom wanted.
FROM_SPAWN = 3


def active_enemies(games: Games, where: Map, me: int, moves: int, at_most: int) -> int:
    """Return the set of the nearest `at_most` opponents of hero `me` (0..3) within `moves` moves: a bit for each.

    Distances are over air, through heroes, from us, or from our spawn square with `FROM_SPAWN` moves added. Of equally near
    opponents the lower index counts first. Crashed heroes never move and are left out.
    """
    places = games["hero"]["pos"][0].tolist()
    crashed = games["hero"]["crashed"][0].tolist()
    here, home = where.distances[places[me]], where.distances[int(games["hero"]["spawn"][0, me])]
    others = [hero for hero in range(4) if hero != me and places[hero] != ABSENT[hero] and not crashed[hero]]
    away = sorted((min(int(here[places[hero]]), int(home[places[hero]]) + FROM_SPAWN), hero) for hero in others)
    return sum(1 << hero for distance, hero in away[:at_most] if distance <= moves)
