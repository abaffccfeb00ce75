"""The pages of the environments: their programs run, and their tables list what there is."""

from __future__ import annotations

import re

import pytest

from behaviours.net.features import MOVE_SLOTS, STATE_SLOTS
from sim.game import GAME
from tests.support.documents import TOP, blocks
from vindibot.env.observing import COMPACT, PLANES, SLOTS
from vindibot.env.options import POLICIES, EnvOptions

PAGES = sorted((TOP / "docs").glob("environments*.md"))
GYMNASIUM = (TOP / "docs" / "environments-gymnasium.md").read_text()


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_the_programs_run(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    programs = [block.text for block in blocks(page.read_text(), "python")]
    assert programs
    for program in programs:
        exec(program.replace("num_envs=256", "num_envs=8"), {})


def test_the_table_of_options():
    table = dict(re.findall(r"^\| `(\w+)` \| (`[^`]+`|\w+) \| ", GYMNASIUM.partition("## Arguments")[2], re.MULTILINE))
    defaults = {name: field.default for name, field in EnvOptions.model_fields.items()}
    assert {name: repr(value).replace("'", '"') for name, value in defaults.items()} == {
        name: text.strip("`") for name, text in table.items()
    }


def test_the_shapes_and_the_names():
    assert f"| `features` | {SLOTS}, int16 |" in GYMNASIUM
    assert f"{STATE_SLOTS} of the position, then {MOVE_SLOTS} for each action" in GYMNASIUM
    assert f"| `compact` | {COMPACT}, float32 |" in GYMNASIUM
    assert f"| `planes` | {PLANES} x `window` x `window`, uint8 |" in GYMNASIUM
    assert f"| `record` | {GAME.itemsize}, uint8 |" in GYMNASIUM
    for name in POLICIES:
        assert f"`{name}`" in GYMNASIUM
