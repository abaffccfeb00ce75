"""Maps that the user of this machine names: in options, configurations and bot files.

Text from elsewhere (a request, a league file) is no name of a file: `sim.maps.read_map` reads it, and opens none.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path

from sim.generator import GeneratorError, generate
from sim.maps import Map, MapError, UnknownMapError, named_map, parse_map
from vindibot.base import UsageError, VindibotError
from vindibot.config.files import look_up, read, shipped, short
from vindibot.config.messages import shown

#: What stands for a map that the generator makes anew each time, besides the empty text.
RANDOM = "random"
#: The standard set's file among those that ship with the package.
STANDARD = "maps/standard.toml"
#: A map of the generator: its size and its seed.
_GENERATED = re.compile(r"(?P<size>\d{1,2})-(?P<seed>\d{1,19})", re.ASCII)


def load_map(value: str) -> Map | None:
    """The map that `value` means; None for a random one (``random``, or no text at all).

    A text of more than one line is a map itself. Otherwise, in this order: a file; ``SIZE-SEED``, the map that the generator
    makes of these numbers (reports of the arena name maps so); a map that ships, by name or number (``m3``). A file's map is
    called as the file, without its ending. Raises `UsageError` for a file that cannot be read, a map that is wrong, with line
    and column, and an unknown name.
    """
    text, source = _read(value)
    if text is None:
        return None
    try:
        return parse_map(text, Path(value).stem if "\n" not in value else "") if source else _called(text)
    except MapError as problem:
        raise UsageError(f"{source}: {problem}") from None


def map_text(value: str) -> str | None:
    """What a server is told of the map that `value` means (see `load_map`): the map's text, or a name; None for a random map.

    Names are not looked up: the server may know others than we do. Raises `UsageError`.
    """
    text, source = _read(value)
    if text is not None and not source and _GENERATED.fullmatch(text):
        return _called(text).text()
    return text


def _read(value: str) -> tuple[str | None, str]:
    """The text of a map and where it comes from; a name, from nowhere; or None for a random map."""
    if value.strip() in ("", RANDOM):
        return None, ""
    if "\n" in value:
        return value, "the text of map"
    path = look_up(value)
    if path is None:
        if "/" in value or "\\" in value or Path(value).suffix:
            raise UsageError(f"there is no map file {shown(value)}")
        return value, ""
    try:
        return path.read_text("utf-8"), short(path)
    except (OSError, UnicodeDecodeError) as problem:
        reason = problem.strerror if isinstance(problem, OSError) else "this is not UTF-8 text"
        raise UsageError(f"{short(path)}: the map cannot be read: {reason}") from None


def _called(name: str) -> Map:
    """The map of the generator or among those that ship that has this name."""
    try:
        if numbers := _GENERATED.fullmatch(name):
            return _generated(int(numbers["seed"]), int(numbers["size"]))
        return named_map(name)
    except (GeneratorError, UnknownMapError) as problem:
        raise UsageError(str(problem)) from None


def _generated(seed: int, size: int) -> Map:
    found = generate(seed, size)
    return Map(found.tiles, found.starts, found.spawns, f"{found.size}-{seed}")


@lru_cache(maxsize=1)
def standard_maps() -> Sequence[Map]:
    """The standard set of the arena: 40 maps, four of each even size from 10 to 28, so ordered that every ten have all sizes.

    The file keeps the size and the seed from which the generator makes each, with the digest that must come out. Raises
    `VindibotError` if another map does.
    """
    file = read(shipped(STANDARD))
    maps = []
    for entry in file.data["maps"]:
        found = _generated(entry["seed"], entry["size"])
        if found.digest != entry["digest"]:
            raise VindibotError(f"{file.path}: size {entry['size']}, seed {entry['seed']} gives another map than it should")
        maps.append(found)
    return tuple(maps)
