"""The three floors and their rooms: imports only point down."""

from __future__ import annotations

import ast
import re
from collections import Counter
from graphlib import TopologicalSorter

import pytest

from tests.architecture import (
    FLOORS,
    ROOMS,
    TOP,
    edges,
    file_edges,
    imports,
    longest_chain,
    modules,
)

HOUSE = TOP / "vindibot"
#: What a floor must not know, though no import of ours shows it: networks, processes, clocks.
FORBIDDEN = {
    "sim": {"asyncio", "httpx", "multiprocessing", "random", "socket", "subprocess", "time", "fastapi", "structlog"},
    "behaviours": {"asyncio", "httpx", "multiprocessing", "random", "socket", "subprocess", "time", "fastapi"},
}
#: Words of code that starts processes or reads pickles. Only the engine has it.
STARTS = re.compile(r"pickle\.loads|\bmarshal\b|multiprocessing|ProcessPoolExecutor|os\.fork\(")
#: The kernel cache has pickles that only this project writes.
EXCEPTED = {"sim/cache/machine_code.py"}
#: The longest chain of rooms of `vindibot` that import each other.
LONGEST = 7
#: Modules that may lie in a folder, its `__init__.py` not counted, and folders that still have more.
MOST_MODULES = 12
LARGER = {"vindibot/engine", "vindibot/server/site"}
#: The administrator's requests, what people see and what is stored: folders that the core of the server does not know.
FOLDERS_OF_THE_SERVER = ("vindibot.server.admin", "vindibot.server.site", "vindibot.server.store")
#: Files that may lie in `vindibot` itself, its type marker not counted.
MOST_FILES = 6


@pytest.mark.parametrize("floor", FLOORS)
def test_imports_point_down(floor: str) -> None:
    above = FLOORS[FLOORS.index(floor) + 1 :]
    for path in modules(floor):
        for name in imports(path):
            assert name.split(".")[0] not in above, f"{path.relative_to(TOP)} imports {name}"
            assert name.split(".")[0] not in FORBIDDEN.get(floor, set()), f"{path.relative_to(TOP)} imports {name}"


def test_every_folder_is_a_room() -> None:
    folders = {path.name for path in HOUSE.iterdir() if path.is_dir() and any(path.rglob("*.py"))}
    assert folders == set(ROOMS)
    assert len([path for path in HOUSE.iterdir() if path.suffix == ".py"]) <= MOST_FILES


@pytest.mark.parametrize("room", ROOMS)
def test_a_room_says_its_purpose(room: str) -> None:
    purpose = ast.get_docstring(ast.parse((HOUSE / room / "__init__.py").read_text())) or ""
    assert purpose.count(". ") == 0, "one sentence"
    assert purpose.endswith(".")


@pytest.mark.parametrize("room", ROOMS)
def test_rooms_import_only_rooms_below(room: str) -> None:
    below = {to for above, to in edges() if above == room and to in ROOMS}
    assert below <= set(ROOMS[ROOMS.index(room) + 1 :])


def test_neither_files_nor_rooms_import_each_other_in_a_circle() -> None:
    assert ("vindibot.games.history", "vindibot.games.ballot") in {
        (name, one) for name, found in file_edges().items() for one in found
    }
    TopologicalSorter(file_edges()).prepare()  # raises `CycleError`, which names the files
    rooms: dict[str, set[str]] = {}
    for above, below in edges():
        rooms.setdefault(above, set()).add(below)
    TopologicalSorter(rooms).prepare()


def test_no_chain_of_rooms_is_long() -> None:
    chain = longest_chain({(above, below) for above, below in edges() if {above, below} <= set(ROOMS)})
    assert len(chain) <= LONGEST, chain


def test_a_folder_has_few_modules() -> None:
    paths = [path.relative_to(TOP) for floor in FLOORS for path in modules(floor) if path.name != "__init__.py"]
    counts = Counter(str(path.parent) for path in paths)
    assert {folder for folder, count in counts.items() if count > MOST_MODULES} <= LARGER


def test_the_core_of_the_server_imports_nothing_that_people_see() -> None:
    """Only `embedded`, which puts the whole server together, knows the folders."""
    for path in sorted((HOUSE / "server").glob("*.py")):
        above = {name for name in imports(path) if name.startswith(FOLDERS_OF_THE_SERVER)}
        assert path.name == "embedded.py" or not above, f"{path.relative_to(TOP)} imports {above}"


def test_click_is_imported_by_commands_alone() -> None:
    for path in modules("vindibot"):
        if HOUSE / "cli" not in path.parents:
            assert "click" not in set(imports(path)), path.relative_to(TOP)


def test_a_command_has_a_file_of_its_name() -> None:
    from vindibot.cli.main import COMMANDS

    assert COMMANDS
    for name, package in COMMANDS.items():
        assert TOP.joinpath(*package.split("."), f"{name}.py").exists(), name


def test_processes_start_in_one_room() -> None:
    found = {str(path.relative_to(TOP)) for floor in FLOORS for path in modules(floor) if STARTS.search(path.read_text())}
    assert {name for name in found if (TOP / name).parent != HOUSE / "engine"} == EXCEPTED
