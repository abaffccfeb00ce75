"""docs/rules.md and the page /doc tell the rules that are played: their captions are what the kernels compute."""

from __future__ import annotations

import httpx
import pytest
from click.testing import CliRunner

from tests.support.paths import TOP
from tests.support.serving import serving
from vindibot.cli.main import main
from vindibot.server.site.rule_scenes import SCENES, RuleScene

RULES = (TOP / "docs" / "rules.md").read_text()


@pytest.mark.parametrize("scene", SCENES, ids=lambda scene: scene.name)
def test_a_picture_has_its_caption(scene: RuleScene) -> None:
    assert f"screenshots/rules-{scene.name}.png" in RULES
    if scene.moves:
        assert f"*{scene.caption()}.*" in RULES


async def test_the_page_of_a_server_has_the_same_scenes() -> None:
    async with serving() as server, httpx.AsyncClient(base_url=server.url) as client:
        page = (await client.get("/doc")).text
    assert all(f"{scene.caption()}.</figcaption>" in page for scene in SCENES if scene.moves)
    assert page.count('aria-label="The board at turn 0') == len(SCENES)
    assert page.count('aria-label="The board at turn 1') == len(SCENES) - 1


def test_readme_and_help_name_the_page() -> None:
    assert "](docs/rules.md)" in (TOP / "README.md").read_text()
    shown = CliRunner().invoke(main, ["--help"]).output
    assert "docs/rules.md" in shown
    assert "/doc " in shown, "the page of a server"
