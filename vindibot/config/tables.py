"""Tables of values from several files, merged by one rule: a later file overrides the keys that it sets, at every depth.

Tables are merged. Every other value is replaced, also a list. So a file keeps all values of the file that it extends, except
those that it sets itself. Its list `reset` names keys that do not keep these values: they go back to their defaults::

    extends = "strong"
    reset = ["traits.search.weights"]     # a key, or a whole table

    [traits.search.weights]
    danger = 0.9                          # all other weights have their defaults
"""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Generic, TypeVar

from behaviours.registry import nearest
from vindibot.config.files import KeyPath, TomlFile
from vindibot.config.messages import dotted, shown

#: The keys of a file that say what it takes from another file. They are no values.
EXTENDS, RESET = "extends", "reset"

Origin = TypeVar("Origin")


class Tables(Generic[Origin]):
    """Nested tables, and the origin of each value.

    `values` has the merged tables. `origins` maps the path of each value to the origin that set it last, and the path of each
    table to the origin that began it.
    """

    def __init__(self) -> None:
        self.values: dict[str, Any] = {}
        self.origins: dict[KeyPath, Origin] = {}

    def merge(self, layer: Mapping[str, Any], origin_of: Callable[[KeyPath], Origin], path: KeyPath = ()) -> None:
        """Override the table at `path` with the values of `layer`. `origin_of` returns the origin of a key of the layer."""
        table = self.table(path)
        for name, value in layer.items():
            key = (*path, name)
            if isinstance(value, Mapping) and isinstance(table.get(name), dict):
                self.merge(value, origin_of, key)
                continue
            if isinstance(table.get(name), dict):
                self.forget(key)
            self.origins[key] = origin_of(key)
            table[name] = {} if isinstance(value, Mapping) else value
            if isinstance(value, Mapping):
                self.merge(value, origin_of, key)

    def forget(self, path: KeyPath) -> None:
        """Remove the value or the table at `path`, with the origins of all values in the table."""
        table = self.table(path[:-1])
        inner = table.pop(path[-1])
        self.origins.pop(path, None)
        for inside, _ in flat(inner, path) if isinstance(inner, dict) else ():
            for length in range(len(path) + 1, len(inside) + 1):
                self.origins.pop(inside[:length], None)

    def table(self, path: KeyPath) -> dict[str, Any]:
        """Return the table at `path`. Raises `KeyError` if there is none."""
        table = self.values
        for name in path:
            table = table[name]
        if not isinstance(table, dict):
            raise KeyError(path)
        return table

    def origin(self, path: KeyPath, default: Origin) -> Origin:
        """Return the origin of the value at `path`: of the longest part of the path that has one, else `default`."""
        return next((self.origins[path[:end]] for end in range(len(path), 0, -1) if path[:end] in self.origins), default)

    def reset(self, file: TomlFile) -> None:
        """Remove the keys that the list `reset` of a file names. Raises `UsageError` for a key that has no value."""
        keys = file.data.get(RESET, [])
        if not isinstance(keys, list) or not all(isinstance(key, str) for key in keys):
            raise file.refuse([RESET], f"must be a list of keys in quotes, not {shown(keys)}")
        for key in keys:
            path = key_path(key)
            if path not in self.origins:
                hint = nearest(key, map(dotted, self.origins))
                words = (
                    "is set by no file that this file extends" if EXTENDS in file.data else "needs a file that this file extends"
                )
                raise file.refuse([RESET], f"names {shown(key)}, which {words}{hint}")
            self.forget(path)


def own_values(file: TomlFile) -> dict[str, Any]:
    """Return the values of a file, without the keys that say what it takes from another file."""
    return {key: value for key, value in file.data.items() if key not in (EXTENDS, RESET)}


def flat(table: Mapping[str, Any], path: KeyPath = ()) -> Iterator[tuple[KeyPath, Any]]:
    """Yield the path and the value of each entry of nested tables. An empty table counts as a value.

    `path` is the path of `table` itself.
    """
    for name, value in table.items():
        if isinstance(value, Mapping) and value:
            yield from flat(value, (*path, name))
        else:
            yield (*path, name), value


def key_path(text: str) -> KeyPath:
    """Return the path of a dotted key, which TOML would read: ``traits."a.b".weight``. An invalid key is one name."""
    try:
        value: Any = tomllib.loads(f"{text} = 0") if "\n" not in text and "=" not in text else 0
    except (tomllib.TOMLDecodeError, RecursionError):
        value = 0
    path: KeyPath = ()
    while isinstance(value, dict):
        ((name, value),) = value.items()
        path = (*path, name)
    return path or (text,)
