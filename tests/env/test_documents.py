"""The page of the environments: its programs run, and its tables list what there is."""

from __future__ import annotations

import re

import pytest

from behaviours.net.features import MOVE_SLOTS, STATE_SLOTS
from sim.game import GAME
from tests.support.documents import TOP, blocks
from vindibot.env.observing import COMPACT, PLANES, SLOTS
from vindibot.env.options import POLICIES, EnvOptions

PAGE = (TOP / "docs" / "environments.md").read_text()
PROGRAMS = [block.text for block in blocks(PAGE, "python")]


@pytest.mark.parametrize("program", PROGRAMS, ids=["vector", "single", "aec", "parallel"])
def test_the_programs_run(program, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    exec(program.replace("num_envs=256", "num_envs=8"), {})


def test_the_table_of_options():
    section = PAGE.partition("## Arguments")[2].partition("\n## ")[0]
    table = dict(re.findall(r"^\| `(\w+)` \| (`[^`]+`|\w+) \| ", section, re.MULTILINE))
    defaults = {name: field.default for name, field in EnvOptions.model_fields.items()}
    assert {name: repr(value).replace("'", '"') for name, value in defaults.items()} == {
        name: text.strip("`") for name, text in table.items()
    }


def test_the_shapes_and_the_names():
    assert f"| `features` | {SLOTS}, int16 |" in PAGE
    assert f"{STATE_SLOTS} of the position, then {MOVE_SLOTS} for each action" in PAGE
    assert f"| `compact` | {COMPACT}, float32 |" in PAGE
    assert f"| `planes` | {PLANES} x `window` x `window`, uint8 |" in PAGE
    assert f"| `record` | {GAME.itemsize}, uint8 |" in PAGE
    for name in POLICIES:
        assert f"`{name}`" in PAGE
