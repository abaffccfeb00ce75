"""Map sets: which map each block is played on.

The standard set is 40 maps, four of each even size from 10 to 28, kept in ``config/maps/standard.toml`` as the size and
seed from which the generator makes each, with the digest that must come out. They are in such an order that every ten
blocks see all sizes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from sim.generator import GeneratorError, generate
from sim.maps import Map, MapError, named_map, parse_map
from vindibot.arena.seeds import derive
from vindibot.arena.settings import MapSettings
from vindibot.base import UsageError, VindibotError
from vindibot.config import read, read_map, shipped

#: The standard set's file among those that ship with the package.
STANDARD = "maps/standard.toml"
#: How many seeds are tried for a random map: few of them give none.
ATTEMPTS = 20


@dataclass(frozen=True)
class MapSet:
    """The maps of a tournament: a fixed list, or random ones of given sizes (any sizes, if none are given)."""

    maps: tuple[Map, ...] = ()
    sizes: tuple[int, ...] = ()
    seed: int = 0

    def of_block(self, block: int) -> Map:
        """The map of a block (from 0)."""
        if self.maps:
            return self.maps[block % len(self.maps)]
        size = self.sizes[block % len(self.sizes)] if self.sizes else None
        return _random_map(self.seed, block, size)

    def identity(self) -> list[str] | list[int]:
        """What the maps follow from, as JSON."""
        return [found.digest for found in self.maps] if self.maps else list(self.sizes)


@lru_cache(maxsize=64)
def _random_map(seed: int, block: int, size: int | None) -> Map:
    for attempt in range(ATTEMPTS):
        number = derive(seed, "map", block, attempt) >> 31
        try:
            found = generate(number, size)
        except GeneratorError:
            continue
        return Map(found.tiles, found.starts, found.spawns, f"{found.size}-{number}")
    raise VindibotError(f"no map of size {size} could be generated for block {block}")


def read_map_set(settings: MapSettings, seed: int) -> MapSet:
    """The maps that the configuration asks for. Raises `UsageError`."""
    if settings.names:
        maps = [_named(name) for name in settings.names]
    elif settings.set == "random":
        return MapSet(sizes=tuple(settings.sizes), seed=seed)
    else:
        maps = list(standard_maps())
    if settings.sizes:
        maps = [found for found in maps if found.size in settings.sizes]
        if not maps:
            raise UsageError(f"maps.sizes: no map of the set has one of the sizes {list(settings.sizes)}")
    return MapSet(tuple(maps))


def _named(name: str) -> Map:
    choice = read_map(name)
    try:
        if choice.kind == "text":
            return parse_map(choice.text, Path(name).stem if "\n" not in name else "")
        return named_map(name)
    except MapError as problem:
        raise UsageError(f"maps.names: {choice.source}: {problem}") from None
    except KeyError:
        raise UsageError(f"maps.names: there is no map {name!r}") from None


@lru_cache(maxsize=1)
def standard_maps() -> Sequence[Map]:
    """The standard set. Raises `VindibotError` if the file does not give the maps it was made for."""
    file = read(shipped(STANDARD))
    maps = []
    for entry in file.data["maps"]:
        found = generate(entry["seed"], entry["size"])
        if found.digest != entry["digest"]:
            raise VindibotError(f"{file.path}: size {entry['size']}, seed {entry['seed']} gives another map than it should")
        maps.append(Map(found.tiles, found.starts, found.spawns, f"{found.size}-{entry['seed']}"))
    return tuple(maps)
