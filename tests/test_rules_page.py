"""docs/rules.md tells the rules that are played: its captions are what the kernels compute."""

from __future__ import annotations

import pytest

from tests.support.paths import TOP
from tests.support.rule_scenes import SCENES, Scene

RULES = (TOP / "docs" / "rules.md").read_text()


@pytest.mark.parametrize("scene", SCENES, ids=lambda scene: scene.name)
def test_a_picture_has_its_caption(scene: Scene) -> None:
    assert f"screenshots/rules-{scene.name}.png" in RULES
    if scene.moves:
        assert f"*{scene.caption()}.*" in RULES
