"""Map sets. A map set has a map for each block of a tournament."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

from sim.generator import GeneratorError, generate
from sim.maps import Map
from vindibot.arena.settings import MapSettings
from vindibot.base.errors import UsageError, VindibotError
from vindibot.base.seeds import derive_seed
from vindibot.config.maps import RANDOM, load_map, standard_maps

#: Number of seeds to try for a random map. The generator finds no map for a few seeds.
ATTEMPTS = 20


@dataclass(frozen=True)
class MapSet:
    """The maps of a tournament. If the list `maps` is empty, the maps are random.

    Random maps take the `sizes` in turn. If `sizes` is empty, they may have any size.
    """

    maps: tuple[Map, ...] = ()
    sizes: tuple[int, ...] = ()
    seed: int = 0

    def of_block(self, block: int) -> Map:
        """Return the map for a block. Blocks are numbered from 0."""
        if self.maps:
            return self.maps[block % len(self.maps)]
        size = self.sizes[block % len(self.sizes)] if self.sizes else None
        return _random_map(self.seed, block, size)

    def identity(self) -> list[str] | list[int]:
        """Return the digests of the fixed maps, or the sizes of the random maps, as JSON values."""
        return [found.digest for found in self.maps] if self.maps else list(self.sizes)


@lru_cache(maxsize=64)
def _random_map(seed: int, block: int, size: int | None) -> Map:
    for attempt in range(ATTEMPTS):
        number = derive_seed(seed, "map", block, attempt) >> 31
        try:
            found = generate(number, size)
        except GeneratorError:
            continue
        return Map(found.tiles, found.starts, found.spawns, f"{found.size}-{number}")
    raise VindibotError(f"no map of size {size} could be generated for block {block}")


def read_map_set(settings: MapSettings, seed: int) -> MapSet:
    """Return the maps that the settings ask for. `seed` determines random maps.

    Raises `UsageError` for an unknown map, or if no map has one of the sizes.
    """
    if settings.set == "random" and not settings.names:
        return MapSet(sizes=tuple(settings.sizes), seed=seed)
    maps = [_load(name) for name in settings.names] or standard_maps()
    maps = [found for found in maps if not settings.sizes or found.size in settings.sizes]
    if not maps:
        raise UsageError(f"maps.sizes: no map of the set has one of the sizes {list(settings.sizes)}")
    return MapSet(tuple(maps))


def _load(name: str) -> Map:
    try:
        found = load_map(name)
    except UsageError as problem:
        raise UsageError(f"maps.names: {problem.message}") from None
    if found is None:
        raise UsageError(f"maps.names: {name!r} is not a map: maps.set = {RANDOM!r} gives random maps")
    return found
