"""The sprites are drawings that every program can draw: paths of four commands, and colours that are known."""

from __future__ import annotations

import re

import pytest

from sim.pictures.layout import noise
from sim.pictures.sprites import CRASHED, HERO_COLOURS, LANDS, SPRITES

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


def test_both_lands_and_all_heroes_have_the_same_colours() -> None:
    assert LANDS["light"].keys() == LANDS["dark"].keys()
    assert len({tuple(sorted(colours)) for colours in (*HERO_COLOURS, CRASHED)}) == 1
    for land in LANDS.values():
        for value in land.values():
            assert all(COLOUR.fullmatch(colour) for colour in ([value] if isinstance(value, str) else value))


def test_noise_depends_on_the_square_alone() -> None:
    found = [noise(x, y, salt) for x in range(28) for y in range(28) for salt in (0, 14)]
    assert found[:2] == [noise(0, 0), noise(0, 0, 14)]
    assert 0 <= min(found) < 0.01
    assert 0.99 < max(found) < 1
    assert sum(found) / len(found) == pytest.approx(0.5, abs=0.05)
