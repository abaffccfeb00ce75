"""The three floors: imports only point down, and the parts of the top floor do not reach into each other."""

from __future__ import annotations

import pytest

from tests.architecture import FLOORS, PICTURE, TOP, circle, drawn, edges, essential, imports, modules

#: Parts of the top floor that meet in `sim`, the protocol, the configuration and the recording, not in their insides.
PARTS = ("server", "arena", "viewer", "tuning", "challenge")
#: What a floor must not know, though no import of ours shows it: networks, processes, clocks.
FORBIDDEN = {
    "sim": {"asyncio", "httpx", "multiprocessing", "random", "socket", "subprocess", "time", "fastapi", "structlog"},
    "behaviours": {"asyncio", "httpx", "multiprocessing", "random", "socket", "subprocess", "time", "fastapi"},
}


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


def test_no_parts_import_each_other_in_a_circle() -> None:
    assert circle(edges()) == []


def test_the_picture_shows_the_imports() -> None:
    assert drawn() == essential(edges()), f"run `python -m tests.architecture`, which draws {PICTURE.name} anew"


def test_the_test_could_fail() -> None:
    assert modules("sim")
    assert "sim.game" in set(imports(TOP / "vindibot" / "worker.py"))
    assert "behaviours.base" in set(imports(TOP / "vindibot" / "worker.py"))
    assert circle({("a", "b"), ("b", "c"), ("c", "b")}) == ["b", "c"]
    assert essential({("a", "b"), ("b", "c"), ("a", "c")}) == {("a", "b"), ("b", "c")}
