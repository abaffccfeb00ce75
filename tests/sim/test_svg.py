"""Pictures as SVG: where the things of a board are, the words, and texts that are no markup."""

from __future__ import annotations

import re
from typing import Any
from xml.etree import ElementTree

import pytest

from sim.board import parse
from sim.generator import generate
from sim.pictures.svg import Svg, draw_svg
from vindibot.testing import view

SPACE = "{http://www.w3.org/2000/svg}"
BOARD = """
    @1  $-
    ##  []
      @2$1
    turn 6 of 1200
    @1 life 15 gold 3
    @2 life 100 gold 20 crashed
"""


def placed(picture: str, sprite: str) -> list[tuple[float, float]]:
    """Return where a sprite is drawn, in squares of 32 pixels."""
    found = []
    for use in ElementTree.fromstring(picture).iter(f"{SPACE}use"):
        if use.get("href") == f"#vindibot-light-{sprite}":
            left, top = re.findall(r"-?[\d.]+", use.get("transform", ""))[:2]
            found.append((float(left) / 32, float(top) / 32))
    return found


def texts(picture: str) -> list[str]:
    return [text.text or "" for text in ElementTree.fromstring(picture).iter(f"{SPACE}text")]


def test_things_are_drawn_where_they_are() -> None:
    picture = draw_svg(parse(BOARD))
    assert placed(picture, "mine") == [(2, 0)]
    assert placed(picture, "owned-hero1") == placed(picture, "flag-hero1") == [(2, 2)]
    assert placed(picture, "tavern") == [(2, 1)]
    (tree,) = [place for kind in ("fir", "leafy") for tone in range(3) for place in placed(picture, f"{kind}-crown{tone}")]
    assert tree == (pytest.approx(0, abs=0.2), pytest.approx(1, abs=0.2))
    assert placed(picture, "hero-hero1") == [(pytest.approx(0, abs=0.1), pytest.approx(0, abs=0.2))]
    assert placed(picture, "hero-crashed") == [(pytest.approx(1, abs=0.1), pytest.approx(2, abs=0.2))]
    assert placed(picture, "hero-hero3") == []


def test_each_sprite_that_is_used_is_defined() -> None:
    root = ElementTree.fromstring(draw_svg(generate(3, size=20).new_game(), me=1, theme="dark"))
    defined = {group.get("id") for group in root.iter(f"{SPACE}g")}
    assert {use.get("href") for use in root.iter(f"{SPACE}use")} == {f"#{name}" for name in defined}
    assert "vindibot-dark-ours" in defined


def test_the_table_has_the_turn_and_the_heroes() -> None:
    found = texts(draw_svg(parse(BOARD), names=["ann", "bob"], me=0))
    assert found[0] == "turn 6 of 1200"
    assert found[found.index("ann ★") :][:4] == ["ann ★", "15", "3", "1"]
    assert found[found.index("bob") :][:4] == ["bob", "100", "20", "0"]
    assert found[-1] == "hero 4", "it is not on the board, so it has no numbers"


def test_names_are_text() -> None:
    name = "</svg><script>\"'&\x00"
    picture = draw_svg(parse(BOARD), names=[name, "long " * 40])
    assert picture.count("<script") == 0
    found = texts(picture)
    assert any(text.startswith("</svg><scr") for text in found)
    assert max(map(len, found)) < 40
    assert "</svg><script>" in (ElementTree.fromstring(picture).get("aria-label") or "")


@pytest.mark.parametrize(("size", "wide"), [(2, 300), (12, 384), (28, 17 * 28)])
def test_the_size_suits_the_board(size: int, wide: int) -> None:
    board = "\n".join([f"|{'  ' * size}|"] * size)
    assert ElementTree.fromstring(draw_svg(parse(board))).get("width") == str(wide)


def test_a_large_board_makes_a_small_file() -> None:
    assert len(draw_svg(generate(3, size=28).new_game())) < 150_000


def test_notebooks_show_views_and_pictures() -> None:
    shown: Any = view(BOARD, me=0)
    assert shown._repr_svg_() == draw_svg(shown.games, me=0)
    assert Svg("<svg/>")._repr_svg_() == "<svg/>"
