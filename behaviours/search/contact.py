"""Contact: which opponents can come to matter within the horizon."""

from __future__ import annotations

from sim.game import ABSENT, Games
from sim.maps import Map


def active_enemies(games: Games, where: Map, me: int, moves: int, at_most: int, index: int = 0) -> int:
    """The opponents of hero `me` (0..3) who are at most this many `moves` away, the nearest `at_most` of them: a bit for each.

    Distances are walked over air, heroes not being in the way. Equally near ones: the lower index. Those who have crashed
    stand still for ever and are no use searching.
    """
    places = games["hero"]["pos"][index].tolist()
    crashed = games["hero"]["crashed"][index].tolist()
    row = where.distances[places[me]]
    others = [hero for hero in range(4) if hero != me and places[hero] != ABSENT[hero] and not crashed[hero]]
    away = sorted((int(row[places[hero]]), hero) for hero in others)
    return sum(1 << hero for distance, hero in away[:at_most] if distance <= moves)
