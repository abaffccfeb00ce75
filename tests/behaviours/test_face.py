"""What `behaviours` offers to authors of traits."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path
from zipfile import ZipFile

import pytest

import behaviours
import vindibot.testing
from behaviours import EAST, NORTH, STAY, View
from sim.board import draw, parse
from sim.game import equal
from tests.support.documents import TOP
from vindibot.testing import view


def loaded_by(code: str) -> set[str]:
    """The modules that a program loads."""
    code = f"{code}\nimport sys; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], check=True, timeout=60, cwd=TOP, capture_output=True, text=True)
    return set(done.stdout.split())


def test_all_names_are_there_and_named_in_the_docstring() -> None:
    for name in behaviours.__all__:
        assert getattr(behaviours, name) is not None
    named = set(re.findall(r"`(\w+)`", behaviours.__doc__ or ""))
    assert named - {"vindibot"} <= set(behaviours.__all__)
    assert set(vindibot.testing.__all__) <= set(dir(vindibot.testing))


def test_loading_it_is_cheap() -> None:
    assert not {"numpy", "numba", "pydantic"} & loaded_by("import behaviours")
    assert "numba" not in loaded_by("from behaviours.registry import names; names()")
    assert not {"numpy", "numba"} & loaded_by("from vindibot.cli.main import main; main(['--help'], standalone_mode=False)")


def test_a_view_says_what_it_shows() -> None:
    here = view("""
        |  @1$-|
        |##  []|
        |@2    |
        turn 13 of 400
        @2 life 20 gold 3
    """)
    assert repr(here) == "<View turn 13 of 400, @2 at 2,0: life 20, gold 3, mines 0>"
    first, board = str(here).split("\n", 1)
    assert first == f"@2 is to move: {', '.join(behaviours.DIRECTIONS[move] for move in (STAY, EAST))}"
    assert f"{board}\n" == draw(here.games)
    assert equal(parse(board), here.games)
    assert isinstance(here, View)
    assert NORTH not in here.moves


@pytest.mark.parametrize("max_turns", [1, 7, 8, 40, 1200])
def test_the_moves_and_rounds_that_are_left(max_turns: int) -> None:
    games = parse("@1  @2\n  $-  \n@3  @4")
    games["max_turns"] = max_turns
    for turn in {*range(min(max_turns, 30)), max_turns - 1, max_turns}:
        games["turn"] = turn
        left = range(turn, max_turns)
        for me in range(4):
            here = View(games, me)
            assert here.moves_left == sum(ply % 4 == me for ply in left)
            assert here.rounds_left == len({ply // 4 for ply in left})


def test_the_lead_and_the_enemies_near() -> None:
    here = view("""
        |@1  ##|
        |##  @3|
        |@2    |
        @1 gold 7
        @2 gold 3
        @3 gold 11
    """)
    steps = {1: 4, 2: 3}  # around the wall, and not as the crow flies
    for reach in range(7):
        assert here.near(reach) == sorted((enemy for enemy in steps if steps[enemy] <= reach), key=steps.__getitem__)
    assert here.lead == 7 - 11
    assert View(here.games, 2).lead == 11 - 7


def test_an_import_from_a_zip_file_says_what_to_do(tmp_path: Path) -> None:
    with ZipFile(tmp_path / "all.zip", "w") as packed:
        for path in (path for folder in ("sim", "behaviours", "vindibot") for path in (TOP / folder).rglob("*.py")):
            packed.write(path, path.relative_to(TOP))
    words = [sys.executable, "-c", "import sys; sys.path.insert(0, 'all.zip'); import vindibot.cli.main"]
    done = subprocess.run(words, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert re.search(r"\nImportError: .*all\.zip: vindibot does not run from a zip file.*install it with pip", done.stderr)
