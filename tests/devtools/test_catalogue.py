"""`vindibot behaviours`: every trait with its parameters, ours and the user's."""

from __future__ import annotations

import re
import sys
import tomllib
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any, Literal

import pytest
from pydantic import Field

from behaviours import Behaviour, View, Votes
from behaviours.registry import BUILT_IN, find
from tests.support.commands import printed
from vindibot.config.bots import load_bot
from vindibot.config.files import shipped
from vindibot.devtools.catalogue import configured, parameters
from vindibot.devtools.scaffold import write_project


def behaviours(*words: str, code: int = 0) -> str:
    return printed("behaviours", *words, code=code)


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A user's project in the current folder, with a trait that its bot does not use."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", sys.path[:])
    write_project(tmp_path)
    (tmp_path / "more.py").write_text(
        "from behaviours import Behaviour\n\n\nclass Brave(Behaviour):\n    def vote(self, view):\n        return None\n"
    )
    (tmp_path / "danger.py").write_text("raise SystemExit('must not run: it has no traits')\n")
    (tmp_path / "test_more.py").write_text("from behaviours import Behaviour\n\n\nclass X(Behaviour): ...\n\n\n1 / 0\n")
    return tmp_path


def test_all_built_in_traits_are_listed_with_every_parameter() -> None:
    blocks = {block.split()[0]: block for block in behaviours().strip().split("\n\n")}
    assert set(BUILT_IN) <= set(blocks)
    for name in BUILT_IN:
        for parameter in parameters(find(name)):
            assert f"    {parameter.name} = {parameter.default or '(required)'} " in blocks[name], (name, parameter)
            assert parameter.values in " ".join(blocks[name].split()), "long values go on in the next line"
    assert "whole number from 1 to 9" in blocks["look-ahead"]
    assert all(len(line) <= 110 for line in behaviours().splitlines())


@pytest.mark.parametrize("name", BUILT_IN)
def test_the_page_of_a_trait_has_a_table_for_a_bot_file(name: str, tmp_path: Path) -> None:
    said = behaviours(name)
    assert (find(name).__doc__ or "").strip().splitlines()[0].strip() in said
    table = said.partition("In a bot file:\n")[2]
    needed = {}
    if name == "learned":  # its net must be named
        needed["net"] = str(shipped("bots/learned.npz"))
        table = table.replace("# net = ...", 'net = "learned.npz"')
    (tmp_path / "bot.toml").write_text(table)
    (trait,) = load_bot(tmp_path / "bot.toml").traits
    assert find(name)(**trait.parameters) == find(name)(**needed)


def test_parameters_in_a_table(tmp_path: Path) -> None:
    path = tmp_path / "bot.toml"
    path.write_text("[traits.search.weights]\nkeep = 80\n")
    bot = load_bot(path)
    weights = [one for one in parameters(find("search")) if one.name.startswith("weights.")]
    assert [configured(bot.traits[0], one) for one in weights[:2]] == ["80", None]
    assert re.search(r"weights.keep = 80\s[^=]*\[default: 70\]", behaviours("search", "--bot", str(path)))
    said = printed("config", path)
    assert re.search(r"weights.keep = 80 +# .*bot.toml, line 2", said)
    path.write_text(said)
    assert load_bot(path).build()[0][1] == bot.build()[0][1]


def test_traits_beside_a_bot_file(project: Path) -> None:
    said = behaviours("--bot", "bot.toml")
    assert "coward:Coward (coward.py)" in said
    assert "weight 10" in said
    assert "more:Brave (more.py)" in said
    assert "(it has no docstring)" in said
    assert "danger.py" not in said
    assert "test_more.py" not in said
    assert re.search(r"fear = 0.5 +number from 0 to 10 +vote against a square, per enemy beside it \[default: 1\]", said)


def test_a_module_that_cannot_be_imported_is_reported(project: Path) -> None:
    (project / "broken.py").write_text("from behaviours import Behaviour\nclass Coward(:\n")
    assert "the module cannot be imported (SyntaxError" in behaviours("--bot", "bot.toml")


@pytest.mark.parametrize("words", [("--bot", "bot.toml", "coward"), ("coward:Coward",), ("-b", "bot.toml", "coward:Coward")])
def test_a_trait_of_the_user(project: Path, words: tuple[str, ...]) -> None:
    said = behaviours(*words)
    assert "Do not end a move beside an enemy." in said
    table = tomllib.loads(said.partition("In a bot file:\n")[2])["traits"]["coward"]
    bot = "--bot" in words or "-b" in words
    assert table == {"use": "coward:Coward", "weight": 10 if bot else 1, "fear": 0.5 if bot else 1}


def test_unknown_names() -> None:
    assert "did you mean 'tavern-finder'?" in behaviours("tavern-findr", code=2)
    assert "there is no bot" in behaviours("--bot", "nowhere.toml", code=2)


class Mood(StrEnum):
    GOOD = "good"
    BAD = "bad"


class Rich(Behaviour):
    """Parameters of many kinds."""

    needed: int
    words: str = Field("a\nb", min_length=1)
    choice: Literal["near", "far"] = "near"
    mood: Mood = Mood.GOOD
    share: Annotated[float, Field(gt=0, lt=1)] = 0.25
    maybe: int | None = None
    many: list[int] = Field([1, 2], description="some")
    thing: Any = None

    def vote(self, view: View) -> Votes:
        return None


def test_parameters_of_many_kinds_in_words() -> None:
    said = {one.name: (one.values, one.default) for one in parameters(Rich)}
    assert said == {
        "needed": ("whole number", ""),
        "words": ("text length from 1", r'"a\nb"'),
        "choice": ('"near" or "far"', '"near"'),
        "mood": ('"good" or "bad"', '"good"'),
        "share": ("number more than 0 less than 1", "0.25"),
        "maybe": ("whole number or none", "None"),
        "many": ("list of: whole number", "[1, 2]"),
        "thing": ("anything", "None"),
    }
