"""docs/rules.md tells the rules that are played: its captions are what the kernels compute."""

from __future__ import annotations

import pytest
from click.testing import CliRunner

from tests.support.paths import TOP
from tests.support.rule_scenes import SCENES, RuleScene
from vindibot.cli.main import main

RULES = (TOP / "docs" / "rules.md").read_text()


@pytest.mark.parametrize("scene", SCENES, ids=lambda scene: scene.name)
def test_a_picture_has_its_caption(scene: RuleScene) -> None:
    assert f"screenshots/rules-{scene.name}.png" in RULES
    if scene.moves:
        assert f"*{scene.caption()}.*" in RULES


def test_readme_and_help_name_the_page() -> None:
    assert "](docs/rules.md)" in (TOP / "README.md").read_text()
    shown = CliRunner().invoke(main, ["--help"]).output
    assert "docs/rules.md" in shown
    assert "/doc " in shown, "the page of a server"
