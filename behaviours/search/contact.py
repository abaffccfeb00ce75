"""Contact: which opponents can come to matter within the horizon."""

from __future__ import annotations

from sim.game import ABSENT, Games
from sim.maps import Map


def active_enemies(games: Games, where: Map, me: int, moves: int, at_most: int, index: int = 0) -> int:
    """The opponents of hero `me` (0..3) who are at most this many `moves` away, the nearest `at_most` of them: a bit for each.

    Distances are walked over air, heroes not being in the way. Equally near ones: the lower index.
    """
    places = games["hero"]["pos"][index].tolist()
    row = where.distances[places[me]]
    away = sorted((int(row[place]), hero) for hero, place in enumerate(places) if hero != me and place != ABSENT[hero])
    return sum(1 << hero for distance, hero in away[:at_most] if distance <= moves)
