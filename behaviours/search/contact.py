"""The opponents that can matter within the horizon of a search."""

from __future__ import annotations

from sim.game import ABSENT, Games
from sim.maps import Map

#: Number of moves added to a distance from our spawn square. A death takes us to this square at once, but we seldom want to die.
FROM_SPAWN = 3


def active_enemies(games: Games, where: Map, me: int, moves: int, at_most: int) -> int:
    """Return the nearest opponents of hero `me` (0..3), at most `at_most` and within `moves` moves, as a set: bit h is hero h.

    Ways lead over air and through heroes. A way begins at our square, or at our spawn square with `FROM_SPAWN` moves added. The
    shorter of these two ways counts. If two opponents are equally near, the opponent with the lower index comes first. Crashed
    heroes never move and are left out.
    """
    places = games["hero"]["pos"][0].tolist()
    crashed = games["hero"]["crashed"][0].tolist()
    here, home = where.distances[places[me]], where.distances[int(games["hero"]["spawn"][0, me])]
    others = [hero for hero in range(4) if hero != me and places[hero] != ABSENT[hero] and not crashed[hero]]
    away = sorted((min(int(here[places[hero]]), int(home[places[hero]]) + FROM_SPAWN), hero) for hero in others)
    return sum(1 << hero for distance, hero in away[:at_most] if distance <= moves)
