"""Maps that the user of this machine names in options and configurations.

For a text from another source (a request, a league file), use `sim.maps.read_map`, which never opens a file.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path

from sim.generator import GeneratorError, generate
from sim.maps import Map, MapError, UnknownMapError, named_map, parse_map
from vindibot.base.errors import UsageError, VindibotError
from vindibot.config.files import look_up, read, shipped, short
from vindibot.config.messages import shown

#: The name that asks for a new random map. An empty text does the same.
RANDOM = "random"
#: The file of the standard set of maps, among the built-in files.
STANDARD = "maps/standard.toml"
#: The name of a generated map: size and seed.
_GENERATED = re.compile(r"(?P<size>\d{1,2})-(?P<seed>\d{1,19})", re.ASCII)


def load_map(value: str) -> Map | None:
    """Return the map that `value` means, or None for a random map (``random`` or "").

    A text of several lines is a map itself. Any other text is tried in this order: as a file; as ``SIZE-SEED``, the name of a
    generated map (the arena's reports use these names); as the name or number (``m3``) of a built-in map. The name of a map from
    a file is the file name without its ending. Raises `UsageError` for a file that cannot be read, an invalid map (with line and
    column), or an unknown name.
    """
    text, source = _read(value)
    if text is None:
        return None
    try:
        return parse_map(text, Path(value).stem if "\n" not in value else "") if source else _named(text)
    except MapError as problem:
        raise UsageError(f"{source}: {problem}") from None


def map_text(value: str) -> str | None:
    """Return the map that `value` means (see `load_map`) for a request to a server.

    The result is the text of a map, a name, or None for a random map.

    The name is not checked here, because the server may know other maps. Raises `UsageError`.
    """
    text, source = _read(value)
    if text is not None and not source and _GENERATED.fullmatch(text):
        return _named(text).text()
    return text


def _read(value: str) -> tuple[str | None, str]:
    """Return the text of a map and its source. For a name, return the name and "". For a random map, return None and ""."""
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
        return path.read_bytes().decode("utf-8-sig"), short(path)
    except (OSError, UnicodeDecodeError) as problem:
        reason = problem.strerror if isinstance(problem, OSError) else "this is not UTF-8 text"
        raise UsageError(f"{short(path)}: the map cannot be read: {reason}") from None


def _named(name: str) -> Map:
    """Return the map of this name: a generated map or a built-in map."""
    try:
        if numbers := _GENERATED.fullmatch(name):
            return _generated(int(numbers["seed"]), int(numbers["size"]))
        return named_map(name)
    except (GeneratorError, UnknownMapError) as problem:
        raise UsageError(str(problem)) from None


def _generated(seed: int, size: int) -> Map:
    generated = generate(seed, size)
    return Map(generated.tiles, generated.starts, generated.spawns, f"{generated.size}-{seed}")


@lru_cache(maxsize=1)
def standard_maps() -> Sequence[Map]:
    """Return the standard set of the arena: 40 maps, four of each even size from 10 to 28.

    Ten maps that follow each other have all ten sizes.

    The file has the size, the seed and the digest of each map. Raises `VindibotError` if the generator makes a map with another
    digest.
    """
    file = read(shipped(STANDARD))
    maps = []
    for entry in file.data["maps"]:
        standard_map = _generated(entry["seed"], entry["size"])
        if standard_map.digest != entry["digest"]:
            raise VindibotError(f"{file.path}: the map of size {entry['size']} and seed {entry['seed']} has another digest")
        maps.append(standard_map)
    return tuple(maps)
