"""Bots: files, what they extend, traits of one's own, and what is said of every slip."""

from __future__ import annotations

import pickle
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest

from vindibot.base.errors import UsageError
from vindibot.config import files
from vindibot.config.bots import Bot, load_bot, make_importable
from vindibot.config.traits import TraitSpec

COWARD = '''
from typing import Literal

from pydantic import Field

from behaviours import Behaviour


class Coward(Behaviour):
    """Step away from enemies next to us."""

    fear: float = Field({fear}, ge=0, le=10, description="vote against each threatened square")
    steps: int = 2
    style: Literal["meek", "sly"] = "meek"
    ways: tuple[int, ...] = ()

    def vote(self, view):
        return 0


class NoVote(Behaviour):
    pass


class Fragile(Behaviour):
    def __init__(self, **parameters):
        raise RuntimeError("out of glue")

    def vote(self, view):
        return 0


class Plain:
    pass
'''


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A current folder with a trait of one's own; afterwards nothing of it can be imported any more."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "coward.py").write_text(COWARD.replace("{fear}", "1.0"))
    yield tmp_path
    make_importable(())


def bot(text: str, name: str = "mine.toml") -> Bot:
    Path(name).write_text(text, "utf-8")
    return load_bot(name)


def refusal(text: str) -> str:
    with pytest.raises(UsageError) as caught:
        bot(text)
    assert caught.value.exit_code == 2
    return caught.value.message


def test_a_bot_is_plain_data_from_a_file(folder: Path) -> None:
    mine = bot('name = "careful"\n[traits.stay]\n[traits.coward]\nuse = "coward:Coward"\nweight = -0.5\nfear = 3\nways = [1, 2]')
    assert (mine.name, mine.path, mine.folders, mine.folder) == (
        "careful",
        str(folder / "mine.toml"),
        (str(folder),),
        str(folder),
    )
    assert mine.traits == (
        TraitSpec("stay", "stay", 1.0, "behaviours.classic.stay:Stay"),
        TraitSpec("coward", "coward:Coward", -0.5, "coward:Coward", {"fear": 3, "ways": [1, 2]}),
    )
    assert mine.origins["traits.coward.fear"] == "mine.toml, line 6"
    (stay, _), (coward, behaviour) = mine.build()
    assert (stay.label, coward.label) == ("stay", "coward")
    assert repr(behaviour) == "Coward(fear=3.0, steps=2, style='meek', ways=(1, 2))"
    assert hash(mine) == hash(pickle.loads(pickle.dumps(mine)))


@pytest.mark.parametrize("path", sorted(files.shipped_folder().glob("bots/*.toml")), ids=lambda path: path.stem)
def test_the_shipped_bots_can_be_had_by_name(path: Path) -> None:
    shipped = load_bot(path.stem)
    assert Path(shipped.path) == path.resolve()
    assert shipped.name == path.stem
    assert len(shipped.build()) == len(shipped.traits) > 0
    assert load_bot(f"bots/{path.name}") == load_bot(f"config/bots/{path.stem}") == shipped


def test_a_bot_is_looked_up_beside_then_here_then_among_the_shipped(folder: Path) -> None:
    project = folder / "project"
    project.mkdir()
    for place, name in ((project, "both"), (folder, "both"), (folder, "here"), (folder, "stay")):
        (place / f"{name}.toml").write_text("[traits.stay]\nweight = 3")
    assert load_bot("both", beside=project).folder == str(project)
    assert load_bot("both").folder == str(folder)
    assert load_bot("here", beside=project).folder == str(folder)
    assert load_bot("stay").traits[0].weight == 3
    assert load_bot("random", beside=project).path == str(files.shipped("bots/random.toml").resolve())


def test_a_folder_stands_for_the_bot_file_in_it(folder: Path) -> None:
    (folder / "project").mkdir()
    with pytest.raises(UsageError, match=r'^there is no bot or file named "project": the folder project has no bot\.toml$'):
        load_bot("project")
    (folder / "project" / "bot.toml").write_text("[traits.stay]\nweight = 3")
    expected = load_bot("project/bot.toml")
    assert expected.traits[0].weight == 3
    assert load_bot("project") == load_bot("project/") == load_bot(folder / "project") == expected
    (folder / "project.toml").write_text("[traits.stay]\nweight = 4")
    assert load_bot("project").traits[0].weight == 4, "a file comes before a folder"


def test_a_name_defaults_to_that_of_the_file() -> None:
    assert bot('extends = "stay"', "v1.2.toml").name == "v1.2"
    assert load_bot("v1.2").name == "v1.2"


# Extending


def test_traits_are_laid_over_those_of_the_extended_file(folder: Path) -> None:
    base = folder / "base"
    base.mkdir()
    (base / "hero.py").write_text(COWARD.replace("{fear}", "2.0"))
    (base / "base.toml").write_text(
        '[traits.a]\nuse = "hero:Coward"\nweight = 2\nfear = 4\nsteps = 5\n[traits.b]\nuse = "stay"\n[traits.c]\nuse = "random"'
    )
    mine = bot('extends = "base/base.toml"\n[traits.a]\nfear = 6\n[traits.b]\nenabled = false\n[traits.d]\nuse = "coward:Coward"')
    assert [trait.label for trait in mine.traits] == ["a", "c", "d"]
    first = mine.traits[0]
    assert (first.use, first.weight, dict(first.parameters)) == ("hero:Coward", 2.0, {"fear": 6, "steps": 5})
    assert mine.folders == (str(folder), str(base))
    assert mine.origins["traits.a.fear"] == "mine.toml, line 3"
    assert mine.origins["traits.a.steps"] == "base/base.toml, line 5"
    assert repr(mine.build()[0][1]).startswith("Coward(fear=6.0, steps=5")


def test_another_use_keeps_the_weight_and_drops_the_parameters() -> None:
    bot('[traits.a]\nuse = "coward:Coward"\nweight = 7\nfear = 4', "base.toml")
    trait = bot('extends = "base"\n[traits.a]\nuse = "stay"').traits[0]
    assert (trait.use, trait.weight, dict(trait.parameters)) == ("stay", 7.0, {})


def test_a_dropped_trait_can_be_taken_up_again() -> None:
    bot('[traits.a]\nuse = "coward:Coward"\nfear = 4\n[traits.stay]', "one.toml")
    assert len(bot('extends = "one"\n[traits.a]\nenabled = false', "two.toml").traits) == 1
    assert bot('extends = "two"\n[traits.a]\nenabled = true').traits[0].parameters == {"fear": 4}


# What is said of slips

SLIPS = [
    ("", ["mine.toml: this bot has no enabled trait"]),
    ("[trait.stay]", ["line 1: trait is an unknown key (did you mean 'traits'?)"]),
    ("[traits]\nstay = 2", ["line 2: traits.stay must be a table with the key weight, not 2"]),
    ('name = "a\\u001b[31m"\n[traits.stay]', ["name must have printable characters only", "\\x1b[31m"]),
    ('[traits.a]\nweight = 1\nuse = "sty"', ["mine.toml, line 3: there is no trait 'sty' (did you mean 'stay'?)"]),
    ('[traits.a]\nuse = "cowrd:Coward"', ["line 2: the trait 'cowrd:Coward': no module 'cowrd'"]),
    ('[traits.a]\nuse = "coward:Cowrd"', ["line 2", "has no class 'Cowrd' (did you mean 'Coward'?)"]),
    ('[traits.a]\nuse = "coward:Plain"', ["is not a subclass"]),
    ('[traits.a]\nuse = "coward:NoVote"', ["has no method vote"]),
    ('[traits.a]\nuse = "coward:Fragile"', ["line 2: traits.a cannot be built: RuntimeError: out of glue"]),
    ('[traits.a]\nuse = "broken:Coward"', ["line 2", "cannot be imported (SyntaxError: "]),
    ('[traits.a]\nuse = "ending:Coward"', ["line 2: the trait 'ending:Coward': its module ending ", "ending.py, line 2"]),
    ('[traits.a]\nuse = "coward"', ["line 2: there is no trait 'coward'", "module:Class"]),
    ("[traits.a]\nuse = 3", ["line 2: traits.a.use must be text, not 3"]),
    ('[traits.stay]\nweight = "much"', ['line 2: traits.stay.weight must be a number, not "much"']),
    ("[traits.stay]\nweight = nan", ["traits.stay.weight must be a finite number, not nan"]),
    ("[traits.stay]\nweight = -1e7", ["not -10000000.0"]),
    ("[traits.stay]\nenabled = 1", ["line 2: traits.stay.enabled must be true or false, not 1"]),
    ("[traits.stay]\nwieght = 1", ["line 2: traits.stay.wieght is an unknown key (did you mean 'weight'?)"]),
]
BAD_PARAMETERS = [
    ("feer = 1", "traits.a.feer is an unknown key (did you mean 'fear'?)"),
    ("fear = 11", "traits.a.fear must be at most 10, not 11"),
    ("fear = nan", "traits.a.fear must be finite, not nan"),
    ('fear = "1"', 'traits.a.fear must be a number, not "1"'),
    ("steps = 1.0", "traits.a.steps must be a whole number, not 1.0"),
    ('style = "slay"', "traits.a.style must be 'meek' or 'sly', not \"slay\" (did you mean 'sly'?)"),
    ("ways = 3", "traits.a.ways must be a list, not 3"),
    ('ways = [1, "x"]', 'traits.a.ways.1 must be a whole number, not "x"'),
    ("steps = 1979-05-27", 'traits.a.steps must be a whole number, not "1979-05-27"'),
    ("fear = -1\nsteps = true", "mine.toml, line 4: traits.a.steps must be a whole number, not true"),
]


@pytest.mark.parametrize(("text", "expected"), SLIPS, ids=[text[:30] for text, _ in SLIPS])
def test_slips_in_a_bot(text: str, expected: list[str]) -> None:
    Path("broken.py").write_text("class Coward(:")
    Path("ending.py").write_text("import sys\nsys.exit()")
    message = refusal(text)
    assert message.startswith("mine.toml")
    for words in expected:
        assert words in message


@pytest.mark.parametrize(("text", "expected"), BAD_PARAMETERS, ids=[text[:30] for text, _ in BAD_PARAMETERS])
def test_bad_parameters(text: str, expected: str) -> None:
    message = refusal(f'[traits.a]\nuse = "coward:Coward"\n{text}')
    assert message.startswith("mine.toml, line 3: traits.a.")
    assert expected in message


def test_a_bad_parameter_names_the_file_it_stands_in() -> None:
    Path("base.toml").write_text('\n[traits.a]\nuse = "coward:Coward"\nfear = -1')
    assert refusal('extends = "base"\n[traits.a]\nsteps = 3') == "base.toml, line 4: traits.a.fear must be at least 0, not -1"


def test_an_unknown_bot() -> None:
    with pytest.raises(UsageError, match=r"""^there is no bot or file named "sed" \(did you mean 'seed'\?\); looked in """):
        load_bot("sed")
    with pytest.raises(UsageError, match=r"""no bot or file named "sparring/huntr" \(did you mean 'sparring/hunter'\?\)"""):
        load_bot("sparring/huntr")
    with pytest.raises(UsageError, match=r"""^there is no bot or file named "sparring/nobody"; looked in """):
        load_bot("sparring/nobody")
    with pytest.raises(UsageError, match=r"^there is no bot file /nowhere/seed\.toml$"):
        load_bot("/nowhere/seed.toml")
    with pytest.raises(UsageError, match=r"""named "hunter" \(did you mean 'sparring/hunter'\?\)"""):
        load_bot("hunter")


def test_a_bot_is_found_by_the_name_that_its_file_states() -> None:
    Path("bot.toml").write_text('name = "mine-at-home"\nextends = "seed"')
    assert load_bot("mine-at-home").path == str(Path("bot.toml").resolve())
    Path("bot.toml").write_text('name = "mine-at-home"\nextends = "mine-at-home"')
    with pytest.raises(UsageError, match=r"""^bot\.toml, line 2: there is no bot or file named "mine-at-home";"""):
        load_bot("bot")


# Importing


def test_two_versions_of_a_bot_may_have_traits_in_files_of_one_name(folder: Path) -> None:
    loaded = []
    for version in ("v1", "v2"):
        (folder / version).mkdir()
        (folder / version / "coward.py").write_text("from helper import FEAR\n" + COWARD.replace("{fear}", "FEAR"))
        (folder / version / "helper.py").write_text(f"FEAR = {version[1]}.5")
        (folder / version / "bot.toml").write_text('[traits.a]\nuse = "coward:Coward"')
        loaded.append(load_bot(f"{version}/bot.toml"))
    for _ in range(2):
        fears = [one.build()[0][1].model_dump()["fear"] for one in loaded]
        assert fears == [1.5, 2.5]


def test_loading_bots_leaves_the_path_and_our_own_modules_alone(folder: Path) -> None:
    from behaviours import base
    from behaviours.classic import stay

    before = list(sys.path)
    for _ in range(3):
        bot('[traits.a]\nuse = "coward:Coward"')
        load_bot("stay")
    make_importable(())
    assert sys.path == before
    assert "coward" not in sys.modules
    assert (sys.modules["behaviours.base"], sys.modules["behaviours.classic.stay"]) == (base, stay)


def test_a_trait_hidden_by_another_module_is_told(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (folder / "json.py").write_text(COWARD.replace("{fear}", "1.0"))
    message = refusal('[traits.a]\nuse = "json:Coward"')
    assert "line 2: the trait 'json:Coward': json.py is hidden by " in message
    assert message.endswith("give it another name")
    (folder / "shadow.py").write_text(COWARD.replace("{fear}", "1.0"))
    shadow = ModuleType("shadow")
    monkeypatch.setitem(sys.modules, "shadow", shadow)
    assert "shadow.py is hidden by" in refusal('[traits.a]\nuse = "shadow:Coward"')
