"""The sparring bots are those that were measured: their digests and their halves stand in a table."""

from __future__ import annotations

import re

import pytest

from tests.support.paths import TOP
from vindibot.config.bots import load_bot
from vindibot.config.files import shipped_folder

FOLDER = shipped_folder() / "bots" / "sparring"
#: Rows of the table: name, half, digest.
ROWS = re.findall(r"^\| `(\w+)` \| (development|end) \| `([0-9a-f]{16})` \|", (FOLDER / "README.md").read_text(), re.MULTILINE)


@pytest.mark.parametrize(("name", "half", "digest"), ROWS, ids=[row[0] for row in ROWS])
def test_a_sparring_bot_is_as_it_was_measured(name: str, half: str, digest: str) -> None:
    bot = load_bot(f"sparring/{name}")
    assert bot.name == name
    assert bot.digest == digest, "sparring bots do not change: add a new one"
    assert (TOP / "config" / "bots" / "sparring" / f"{name}.toml").read_text().startswith("# "), "it says what it is like"


def test_every_sparring_bot_is_in_one_half() -> None:
    names = [name for name, _, _ in ROWS]
    assert sorted(names) == sorted(path.stem for path in FOLDER.glob("*.toml"))
    halves = [half for _, half, _ in ROWS]
    assert halves.count("development") == halves.count("end") >= 4
