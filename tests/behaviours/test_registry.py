"""Traits by name: built-in ones, those of installed packages, a user's own."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from behaviours.registry import BUILT_IN, BehaviourError, find, names

OWN = """
from behaviours import Behaviour

class Coward(Behaviour):
    def vote(self, view):
        return None

class Outer:
    class Inner(Coward):
        pass
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An importable folder with a module of the user's."""
    (tmp_path / "own_traits.py").write_text(OWN)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "own_traits", raising=False)
    return tmp_path


@pytest.mark.parametrize("name", BUILT_IN)
def test_every_parameter_is_described_and_has_a_range(name: str) -> None:
    whole = find(name).model_json_schema()
    for part in (whole, *whole.get("$defs", {}).values()):
        for parameter, schema in part.get("properties", {}).items():
            assert schema.get("description"), parameter
            limited = {"minimum", "maximum"} <= schema.keys() or {"exclusiveMinimum", "maximum"} <= schema.keys()
            limited |= "maxItems" in schema or parameter == "net"
            assert limited or bool({"enum", "$ref", "anyOf"} & schema.keys()) or schema["type"] == "boolean", parameter


def test_entry_points_of_installed_packages(folder: Path) -> None:
    info = folder / "cowards-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: cowards\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(
        "[vindibot.behaviours]\ncoward = own_traits:Coward\nstay = own_traits:Coward\nlost = own_traits:Lost\n"
    )
    assert "coward" in names()
    assert find("coward").__name__ == find("own_traits:Coward").__name__ == "Coward"
    assert find("own_traits:Outer.Inner").__name__ == "Inner"
    assert find("stay").__name__ == "Stay", "built-in names win"
    with pytest.raises(BehaviourError, match=r"'lost' \(own_traits:Lost\): the module own_traits has no class 'Lost'"):
        find("lost")


@pytest.mark.parametrize(
    ("use", "message"),
    [
        ("xyzzy", "no trait 'xyzzy'; a trait of your own is written module:Class"),
        (":Coward", "not of the form module:Class"),
        ("own traits:Coward", "not of the form module:Class"),
        ("needy:Coward", "needs 'surely_not_installed', which is not installed"),
        ("raising:Coward", "cannot be imported (RuntimeError: on strike)"),
    ],
)
def test_what_cannot_be_had_says_why(folder: Path, use: str, message: str) -> None:
    (folder / "needy.py").write_text("import surely_not_installed\n")
    (folder / "raising.py").write_text("raise RuntimeError('on strike')\n")
    with pytest.raises(BehaviourError) as problem:
        find(use)
    assert message in str(problem.value)
