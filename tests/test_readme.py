"""What the README shows is what there is: its trait, its test, its bot. (What holds for all documents is in test_docs.py.)"""

from __future__ import annotations

import runpy
import sys
from pathlib import Path

import pytest

from tests.support.documents import TOP, blocks
from vindibot.config.bots import load_bot
from vindibot.config.files import shipped

README = (TOP / "README.md").read_text()


def test_the_trait_the_test_and_the_bot(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    coward, test, _ = (block.text for block in blocks(README, "python"))
    (bot,) = (block.text for block in blocks(README, "toml"))
    assert coward in shipped("project/coward.py").read_text(), "it is what `vindibot init` writes, and so tried in every way"
    (tmp_path / "coward.py").write_text(coward)
    (tmp_path / "test_coward.py").write_text(test)
    (tmp_path / "mybot.toml").write_text(bot)
    monkeypatch.setattr(sys, "path", [str(tmp_path), *sys.path])
    monkeypatch.delitem(sys.modules, "coward", raising=False)
    tests = runpy.run_path(str(tmp_path / "test_coward.py"))
    tests["test_a_coward_steps_away"]()
    spec, behaviour = load_bot(tmp_path / "mybot.toml").build()[-1]
    assert (spec.label, spec.weight, type(behaviour).__name__) == ("coward", 100, "Coward")
    sys.modules.pop("coward")  # others have one too
