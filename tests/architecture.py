"""Which rooms import which: the floors, the rooms on them, and their picture. ``python -m tests.architecture`` draws it."""

from __future__ import annotations

import ast
import json
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from tests.support.paths import TOP

FLOORS = ("sim", "behaviours", "vindibot")
PICTURE = TOP / "docs" / "architecture.svg"

#: The rooms of the top floor, from the top: a room imports only rooms that stand behind it here.
ROOMS = (
    "cli",
    "devtools",
    "challenge",
    "arena",
    "session",
    "server",
    "viewer",
    "terminal",
    "engine",
    "client",
    "games",
    "config",
    "base",
)


def modules(floor: str) -> list[Path]:
    """The files of one floor."""
    return sorted((TOP / floor).rglob("*.py"))


def imports(path: Path) -> Iterator[str]:
    """The dotted names that a module imports, anywhere in it; of ``from a import b`` both ``a`` and ``a.b``."""
    package = path.relative_to(TOP).with_suffix("").parts[:-1]
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            yield from (name.name for name in node.names)
        elif isinstance(node, ast.ImportFrom):
            start = list(package[: len(package) + 1 - node.level]) if node.level else []
            base = ".".join([*start, *([node.module] if node.module else [])])
            yield base
            yield from (f"{base}.{name.name}" for name in node.names)


def part_of(path: Path) -> str:
    """The room that a module belongs to: a folder of `vindibot` or of `behaviours`, else its floor."""
    floor, *inner = path.relative_to(TOP).with_suffix("").parts
    return inner[0] if len(inner) > 1 and floor != "sim" else floor


@cache
def edges() -> set[tuple[str, str]]:
    """The rooms that import others, for types alone too."""
    parts = {}
    for floor in FLOORS:
        for path in modules(floor):
            name = ".".join(path.relative_to(TOP).with_suffix("").parts).removesuffix(".__init__")
            parts[name] = part_of(path)
    found = set()
    for floor in FLOORS:
        for path in modules(floor):
            part = part_of(path)
            found |= {
                (part, parts[name]) for name in imports(path) if name in parts and parts[name] != part and name not in FLOORS
            }
    return found


def essential(every: set[tuple[str, str]]) -> set[tuple[str, str]]:
    """The edges that do not follow from the others: without a -> c where a -> b -> c. There must be no circle."""
    return {(above, below) for above, below in every if below not in _reached(every - {(above, below)}, above)}


def circle(every: set[tuple[str, str]]) -> list[str]:
    """The parts that import each other in a circle; none if there is none."""
    return sorted({part for part, _ in every if part in _reached(every, part)})


def longest_chain(every: set[tuple[str, str]]) -> list[str]:
    """The longest chain of rooms of which each imports the next. There must be no circle."""
    below: dict[str, set[str]] = {}
    for above, under in every:
        below.setdefault(above, set()).add(under)

    @cache
    def chain(room: str) -> list[str]:
        return [room, *max((chain(under) for under in sorted(below.get(room, ()))), key=len, default=[])]

    return max((chain(room) for room in sorted(below)), key=len, default=[])


def _reached(every: set[tuple[str, str]], start: str) -> set[str]:
    found: set[str] = set()
    ways = [start]
    while ways:
        here = ways.pop()
        new = {below for above, below in every if above == here} - found
        found |= new
        ways += new
    return found


# The picture: a band for each floor, a row for each level on it, the parts in the order of those above them.

WIDTH, ROW, BAND, BOX, TALL = 720, 66, 34, 132, 34
STYLE = """
    text { font: 14px system-ui, sans-serif; text-anchor: middle; fill: #1c2430 }
    .floor { font-weight: 600; text-anchor: start; fill: #5b6675 }
    .band { fill: #f3f5f8 } .part { fill: #fff; stroke: #8a97a8 } .import { fill: none; stroke: #8a97a8; stroke-width: 1.5 }
    marker path { fill: #8a97a8 }
    @media (prefers-color-scheme: dark) {
        text { fill: #e6ebf2 } .floor { fill: #9aa7b8 } .band { fill: #1a2029 } .part { fill: #252d39; stroke: #66758a }
        .import { stroke: #66758a } marker path { fill: #66758a }
    }
"""


def _floor_of() -> dict[str, str]:
    return {part_of(path): floor for floor in FLOORS for path in modules(floor)}


def _rows(every: set[tuple[str, str]]) -> list[tuple[str, list[str]]]:
    """From the top: (floor, the parts of one level on it)."""
    floors = _floor_of()
    level: dict[str, int] = {}

    def level_of(part: str) -> int:
        if part not in level:
            level[part] = 1 + max((level_of(below) for above, below in every if above == part), default=0)
        return level[part]

    rows: dict[tuple[int, int], list[str]] = {}
    for part, floor in sorted(floors.items()):
        rows.setdefault((FLOORS.index(floor), level_of(part)), []).append(part)
    return [(FLOORS[key[0]], rows[key]) for key in sorted(rows, reverse=True)]


def draw() -> str:
    """The picture as SVG, with the imports that it shows as JSON inside."""
    shown = essential(edges())
    at: dict[str, tuple[float, int]] = {}
    row_of: dict[str, int] = {}
    shapes, bands, top, before = [], [], 8, ""
    for number, (floor, parts) in enumerate(_rows(edges())):
        if floor != before:
            top += BAND
            bands.append((floor, top))
            before = floor

        def place(part: str) -> tuple[float, str]:
            above = [at[one][0] for one, below in shown if below == part and one in at]
            return sum(above) / len(above) if above else WIDTH / 2, part

        for index, part in enumerate(sorted(parts, key=place), start=1):
            at[part], row_of[part] = (WIDTH * index / (len(parts) + 1), top), number
        top += ROW
    ends = [start - BAND + 8 for _, start in bands[1:]] + [top]
    for (floor, start), end in zip(bands, ends, strict=True):
        shapes.append(f'<rect class="band" x="8" y="{start - 26}" width="{WIDTH - 16}" height="{end - start + 18}" rx="8"/>')
        shapes.append(f'<text class="floor" x="20" y="{start - 6}">{floor}/</text>')
    for above, below in sorted(shown):
        (x, y), (to, down) = at[above], at[below]
        # One that passes other rows goes round them on the outside.
        passed = row_of[below] - row_of[above] - 1
        aside = 0 if passed == 0 else 150 if passed < 4 else 310
        curve = f"M{x:.0f} {y + TALL}C{x + aside:.0f} {y + 58} {to + aside:.0f} {down - 24} {to:.0f} {down - 3}"
        shapes.append(f'<path class="import" marker-end="url(#arrow)" d="{curve}"/>')
    for part, (x, y) in sorted(at.items()):
        shapes.append(f'<rect class="part" x="{x - BOX / 2:.0f}" y="{y}" width="{BOX}" height="{TALL}" rx="6"/>')
        shapes.append(f'<text x="{x:.0f}" y="{y + 22}">{part}</text>')
    body = "\n".join(shapes)
    return f"""<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {top + 4}" role="img" aria-label="Who imports whom">
<metadata>{json.dumps(sorted(shown))}</metadata>
<style>{STYLE}</style>
<defs><marker id="arrow" viewBox="0 0 8 8" refX="6" refY="4" markerWidth="7" markerHeight="7" orient="auto">
<path d="M0 0 8 4 0 8z"/></marker></defs>
{body}
</svg>
"""


def drawn() -> set[tuple[str, str]]:
    """The imports that the picture shows."""
    data = PICTURE.read_text().partition("<metadata>")[2].partition("</metadata>")[0]
    return {(above, below) for above, below in json.loads(data)}


if __name__ == "__main__":
    PICTURE.write_text(draw())
    print(f"drawn: {PICTURE.relative_to(TOP)}")
