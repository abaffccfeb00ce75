"""The sprites are drawings that every program can draw: paths of four commands, and colours that are known."""

from __future__ import annotations

import re

import pytest

from sim.pictures.sprites import HERO_COLOURS, LANDS, SPRITES

COLOUR = re.compile(r"#[0-9a-f]{6}([0-9a-f]{2})?")


@pytest.mark.parametrize("name", SPRITES)
def test_a_sprite_has_known_shapes_and_colours(name: str) -> None:
    known = {*LANDS["light"], *HERO_COLOURS[0]}
    for shape in SPRITES[name]:
        assert len({"path", "ellipse", "rect"} & shape.keys()) == 1
        assert {"fill", "line"} & shape.keys()
        assert ("line" in shape) == ("width" in shape)
        assert re.fullmatch(r"([MLC](-?[\d.]+ ?)+|Z)+", shape.get("path", "M0 0"))
        for key in {"fill", "line"} & shape.keys():
            assert shape[key] in known or COLOUR.fullmatch(shape[key]), shape[key]
