"""Which rooms import which: the floors, and the rooms on them."""

from __future__ import annotations

import ast
from functools import cache
from pathlib import Path

from tests.support.paths import TOP

FLOORS = ("sim", "behaviours", "vindibot")
#: The names that `behaviours` offers, from its own rooms above: no import of the package itself.
FACE = TOP / "behaviours" / "names.py"

#: The rooms of the top floor, from the top: a room imports only rooms that stand behind it here.
ROOMS = (
    "cli",
    "review",
    "devtools",
    "challenge",
    "env",
    "learning",
    "tuning",
    "arena",
    "league",
    "session",
    "server",
    "viewer",
    "terminal",
    "engine",
    "client",
    "games",
    "statistics",
    "config",
    "base",
)


def modules(floor: str) -> list[Path]:
    """The files of one floor."""
    return sorted((TOP / floor).rglob("*.py"))


@cache
def imports(path: Path) -> frozenset[str]:
    """The dotted names that a module imports, anywhere in it; of ``from a import b`` both ``a`` and ``a.b``."""
    package = path.relative_to(TOP).with_suffix("").parts[:-1]
    found = set[str]()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            found.update(name.name for name in node.names)
        elif isinstance(node, ast.ImportFrom):
            start = list(package[: len(package) + 1 - node.level]) if node.level else []
            base = ".".join([*start, *([node.module] if node.module else [])])
            found.update([base, *(f"{base}.{name.name}" for name in node.names)])
    return frozenset(found)


def part_of(path: Path) -> str:
    """The room that a module belongs to: a folder of `vindibot` or of `behaviours`, else its floor."""
    floor, *inner = path.relative_to(TOP).with_suffix("").parts
    return inner[0] if len(inner) > 1 and floor != "sim" else floor


def name_of(path: Path) -> str:
    """The dotted name of a module."""
    return ".".join(path.relative_to(TOP).with_suffix("").parts).removesuffix(".__init__")


def file_edges() -> dict[str, set[str]]:
    """The modules that each module imports, for types alone too."""
    files = {name_of(path): path for floor in FLOORS for path in modules(floor) if path.name != "__init__.py"}
    return {name: {one for one in imports(path) if one in files} for name, path in files.items()}


@cache
def edges() -> set[tuple[str, str]]:
    """The rooms that import others, for types alone too."""
    parts = {name_of(path): part_of(path) for floor in FLOORS for path in modules(floor)}
    found = set()
    for floor in FLOORS:
        for path in set(modules(floor)) - {FACE}:
            part = part_of(path)
            found |= {
                (part, parts[name]) for name in imports(path) if name in parts and parts[name] != part and name not in FLOORS
            }
    return found


def longest_chain(every: set[tuple[str, str]]) -> list[str]:
    """The longest chain of rooms of which each imports the next. There must be no circle."""
    below: dict[str, set[str]] = {}
    for above, under in every:
        below.setdefault(above, set()).add(under)

    @cache
    def chain(room: str) -> list[str]:
        return [room, *max((chain(under) for under in sorted(below.get(room, ()))), key=len, default=[])]

    return max((chain(room) for room in sorted(below)), key=len, default=[])
