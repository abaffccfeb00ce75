"""Contact: which opponents can come to matter within the horizon."""

from __future__ import annotations

from sim.game import ABSENT, Games
from sim.maps import Map

#: How far away our spawn square counts as: dying leads there at once, but is seldom wanted.
FROM_SPAWN = 3


def active_enemies(games: Games, where: Map, me: int, moves: int, at_most: int, index: int = 0) -> int:
    """The opponents of hero `me` (0..3) who are at most this many `moves` away, the nearest `at_most` of them: a bit for each.

    Distances are walked over air, heroes not being in the way, from us, or (if we died) from our spawn square, which counts
    as `FROM_SPAWN` moves away. Equally near ones: the lower index. Those who have crashed stand still for ever and are no
    use searching.
    """
    places = games["hero"]["pos"][index].tolist()
    crashed = games["hero"]["crashed"][index].tolist()
    here, home = where.distances[places[me]], where.distances[int(games["hero"]["spawn"][index, me])]
    others = [hero for hero in range(4) if hero != me and places[hero] != ABSENT[hero] and not crashed[hero]]
    away = sorted((min(int(here[places[hero]]), int(home[places[hero]]) + FROM_SPAWN), hero) for hero in others)
    return sum(1 << hero for distance, hero in away[:at_most] if distance <= moves)
