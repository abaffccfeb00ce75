"""The three floors: imports only point down, and the parts of the top floor do not reach into each other."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

TOP = Path(__file__).parent.parent
FLOORS = ("sim", "behaviours", "vindibot")
#: Parts of the top floor that meet in `sim`, the protocol, the configuration and the recording, not in their insides.
PARTS = ("server", "arena", "viewer", "tuning", "challenge")
#: What a floor must not know, though no import of ours shows it: networks, processes, clocks.
FORBIDDEN = {
    "sim": {"asyncio", "httpx", "multiprocessing", "random", "socket", "subprocess", "time", "fastapi", "structlog"},
    "behaviours": {"asyncio", "httpx", "multiprocessing", "random", "socket", "subprocess", "time", "fastapi"},
}


def modules(floor: str) -> list[Path]:
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


@pytest.mark.parametrize("floor", FLOORS)
def test_imports_point_down(floor: str) -> None:
    above = FLOORS[FLOORS.index(floor) + 1 :]
    for path in modules(floor):
        for name in imports(path):
            assert name.split(".")[0] not in above, f"{path.relative_to(TOP)} imports {name}"
            assert name.split(".")[0] not in FORBIDDEN.get(floor, set()), f"{path.relative_to(TOP)} imports {name}"


@pytest.mark.parametrize("part", PARTS)
def test_parts_do_not_reach_into_each_other(part: str) -> None:
    """They may use what another part offers in its package, not the modules inside it."""
    for path in sorted((TOP / "vindibot" / part).rglob("*.py")):
        for name in imports(path):
            for other in PARTS:
                inside = name.startswith(f"vindibot.{other}.") and (TOP / f"{name.replace('.', '/')}.py").exists()
                assert other == part or not inside, f"{path.relative_to(TOP)} imports {name}"


def test_the_test_could_fail() -> None:
    assert modules("sim")
    assert "sim.game" in set(imports(TOP / "vindibot" / "worker.py"))
    assert "behaviours.base" in set(imports(TOP / "vindibot" / "worker.py"))
