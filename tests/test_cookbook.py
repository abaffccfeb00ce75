"""The traits of docs/cookbook.md do what their boards show, and keep the rules for traits."""

from __future__ import annotations

import importlib
from pathlib import Path

import pytest

from behaviours import Behaviour
from tests.support.documents import blocks
from tests.support.paths import TOP
from vindibot.testing import check_trait

BLOCKS = [block.text for block in blocks((TOP / "docs" / "cookbook.md").read_text(), "python")]
NAMES = ["Thirsty", "Uncontested", "Careful", "Explorer", "Greedy", "Centre"]


def test_traits_do_what_their_boards_show() -> None:
    names: dict[str, object] = {"__name__": "cookbook"}
    for text in BLOCKS:
        exec(text, names)
    assert [name for name, kind in names.items() if isinstance(kind, type) and Behaviour in kind.__bases__] == NAMES


@pytest.mark.parametrize("name", [NAMES[0], *(pytest.param(name, marks=pytest.mark.slow_long) for name in NAMES[1:])])
def test_it_keeps_the_rules_for_traits(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    module = f"cookbook_{name.lower()}"
    (tmp_path / f"{module}.py").write_text(next(text for text in BLOCKS if f"class {name}(" in text))
    monkeypatch.syspath_prepend(tmp_path)
    check_trait(getattr(importlib.import_module(module), name)())
