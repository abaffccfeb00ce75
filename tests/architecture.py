"""Which rooms import which: the floors, the rooms on them, and their picture. ``python -m tests.architecture`` draws it."""

from __future__ import annotations

import ast
import json
import re
import subprocess
from functools import cache
from pathlib import Path

from tests.support.paths import TOP

FLOORS = ("sim", "behaviours", "vindibot")
PICTURE = TOP / "docs" / "architecture.svg"
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
    "cluster",
    "arena",
    "league",
    "session",
    "server",
    "viewer",
    "terminal",
    "engine",
    "processes",
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


# The picture, by Graphviz.

#: What a room is for, in a few words.
PURPOSES = {
    "vindibot": "the program; helpers for tests",
    "cli": "one file per command",
    "review": "where gold was lost",
    "devtools": "explain, turn, bench, doctor ...",
    "challenge": "play by hand",
    "env": "environments for learning",
    "cluster": "tournaments on many machines",
    "arena": "tournaments",
    "learning": "nets by self-play",
    "net": "learned policies",
    "tuning": "parameters learned from games",
    "session": "whole games of one bot",
    "league": "leagues for a class",
    "server": "the game server",
    "viewer": "the page of a game",
    "terminal": "boards and games as text",
    "engine": "workers, votes, deadline",
    "processes": "children that run traits",
    "client": "requests to a game server",
    "games": "protocol, recordings, records",
    "statistics": "ratings, intervals, tests",
    "config": "settings, bot files, map files",
    "base": "errors, log, secrets, Ctrl-C, files",
    "behaviours": "behaviour, view, votes",
    "classic": "traits of seed: taverns, mines, combat",
    "tactics": "harvest, hunter, stalemate",
    "search": "alpha-beta",
    "rollout": "plans played out",
    "sparring": "rivals to measure against",
    "common": "combat, evaluation, map tables",
    "sim": "rules, maps, kernels and their cache",
}
STYLE = """<style>
text { font: 13px system-ui, sans-serif; fill: #1c2430 } text.small { font-size: 11px; fill: #5b6675 }
.cluster polygon, .cluster path { fill: #f3f5f8; stroke: none } .cluster text { font-weight: 600; fill: #5b6675 }
.node path, .node polygon { fill: #fff; stroke: #8a97a8 } .edge path { stroke: #8a97a8 }
.edge polygon { fill: #8a97a8; stroke: #8a97a8 }
@media (prefers-color-scheme: dark) {
text { fill: #e6ebf2 } .cluster text { fill: #9aa7b8 } .cluster polygon, .cluster path { fill: #1a2029 }
.node path, .node polygon { fill: #252d39; stroke: #66758a } .edge path { stroke: #66758a }
.edge polygon { fill: #66758a; stroke: #66758a }
}
</style>"""


def shown() -> set[tuple[str, str]]:
    """The imports that the picture shows: those inside a floor that do not follow from others.

    Any room may import a lower floor.
    """
    floor_of = {part_of(path): floor for floor in FLOORS for path in modules(floor)}
    return essential({(above, below) for above, below in edges() if floor_of[above] == floor_of[below]})


def draw() -> str:
    """The picture as SVG, with the imports that it shows as JSON inside. Needs Graphviz (`dot`)."""
    lines = ["digraph {", "graph [bgcolor=transparent, ranksep=0.32, nodesep=0.2, fontsize=13, labeljust=l, style=rounded]"]
    lines += ["node [shape=box, style=rounded, fontsize=13, width=2.3, height=0.52, margin=0.05]", "edge [arrowsize=0.6]"]
    for floor in reversed(FLOORS):
        lines.append(f'subgraph cluster_{floor} {{ label="{floor}/"')
        for room in sorted({part_of(path) for path in modules(floor)}):
            words = f'<{room}<br/><font point-size="11">{PURPOSES[room]}</font>>'
            lines.append(f"{room} [label={words}]")
        lines.append("}")
    lines += [f"{above} -> {below}" for above, below in sorted(shown())]
    lines += ["base -> tactics [style=invis]", "behaviours -> sim [style=invis]", "}"]
    svg = subprocess.run(["dot", "-Tsvg"], input="\n".join(lines), capture_output=True, text=True, check=True).stdout
    svg = svg[svg.index("<svg") :].replace(' font-size="11.00"', ' class="small"')
    svg = re.sub(r' (font-family|font-size|fill|stroke)="[^"]*"', "", re.sub(r"<(!--.*?--|title.*?/title)>\n?", "", svg))
    head, _, body = svg.partition(">\n")
    return f"{head}>\n<metadata>{json.dumps(sorted(shown()))}</metadata>\n{STYLE}\n{body}".replace("<path", '<path fill="none"')


def drawn() -> set[tuple[str, str]]:
    """The imports that the picture shows."""
    data = PICTURE.read_text().partition("<metadata>")[2].partition("</metadata>")[0]
    return {(above, below) for above, below in json.loads(data)}


if __name__ == "__main__":
    PICTURE.write_text(draw())
    print(f"drawn: {PICTURE.relative_to(TOP)}")
