"""The drawings of the things on a board, as data: shapes in a square, and colours.

The viewer (canvas), `sim.pictures.svg` (SVG) and pictures (pixels) draw these shapes, so that a game looks the same everywhere.
A square has the side 100, with the origin at the top left. A **sprite** is a list of shapes, which are drawn in the order of the
list. A shape has one of these keys:

- ``path``: a path of SVG. It has only the commands M, L, C and Z, with absolute numbers.
- ``ellipse``: [centre x, centre y, radius x, radius y, degrees that the ellipse is turned]
- ``rect``: [left, top, width, height, radius of the corners]

and some of these keys:

- ``fill``, ``line``: colours of the inside and of the line. A colour is ``#rrggbb``, ``#rrggbbaa``, or the name of a colour of
  the land or of the hero.
- ``width``: the width of the line. ``least``: the least width of the line in pixels.
- ``alpha``: the opacity, 1 if missing.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

#: One shape.
Shape: TypeAlias = Mapping[str, Any]
#: Shapes that are drawn one over the other.
Sprite: TypeAlias = Sequence[Shape]
#: Colours by name.
Colours: TypeAlias = Mapping[str, str]

#: The colours of heroes 1..4, with their names: `main` is the hero, `deep` its edges, `soft` a light colour for text.
HERO_COLOURS: Sequence[Colours] = (
    {"name": "red", "main": "#e5484d", "deep": "#8f1d24", "soft": "#f7b4b2"},
    {"name": "blue", "main": "#3e8bf5", "deep": "#153f86", "soft": "#b3d2fb"},
    {"name": "green", "main": "#3fb950", "deep": "#125c24", "soft": "#b1e6b8"},
    {"name": "orange", "main": "#f29a1f", "deep": "#8a4b05", "soft": "#fbd9a3"},
)
#: The colours of a hero that crashed.
CRASHED: Colours = {"name": "grey", "main": "#8c8c8c", "deep": "#444444", "soft": "#c8c8c8"}

#: The colours of the land, light and dark. A square of ground has one of the three `ground` colours, a tree one of `crown`.
LANDS: Mapping[str, Mapping[str, Any]] = {
    "light": {
        "ground": ["#eae1c6", "#e6dcbf", "#ede5cd"],
        "tuft": "#cbc79a",
        "grid": "#5a461e12",
        "trunk": "#6b4a2b",
        "crown": ["#3f7d4a", "#4b8c52", "#5b9d5c"],
        "lit": "#ffffdc47",
        "floor": "#b9c79a",
        "shadow": "#3c2d0a47",
        "rock": "#8d8a86",
        "rockDeep": "#55524f",
        "ink": "#2b2418",
        "wall": "#f3e3bd",
        "timber": "#7a4f2a",
        "roof": "#a8482f",
    },
    "dark": {
        "ground": ["#2a2f2b", "#272c29", "#2d332e"],
        "tuft": "#3b443a",
        "grid": "#ffffff09",
        "trunk": "#3d2d20",
        "crown": ["#1f4530", "#265239", "#2f6043"],
        "lit": "#beffc81a",
        "floor": "#1d2a22",
        "shadow": "#00000073",
        "rock": "#63646a",
        "rockDeep": "#34353a",
        "ink": "#f2efe6",
        "wall": "#cdb88d",
        "timber": "#5a3b20",
        "roof": "#8b3a28",
    },
}


def _disc(x: float, y: float, radius: float, fill: str) -> Shape:
    return {"ellipse": [x, y, radius, radius, 0], "fill": fill}


def _shadow(x: float, y: float, wide: float, high: float) -> Shape:
    return {"ellipse": [x, y, wide, high, 0], "fill": "shadow"}


_TRUNK: Shape = {"rect": [45, 68, 10, 22, 0], "fill": "trunk"}


def _fir() -> Sprite:
    """Return a fir of three triangles, whose left halves are lit."""
    shapes = [_shadow(53, 88, 34, 11), _TRUNK]
    for top, bottom, half in ((42, 82, 36), (22, 62, 30), (2, 40, 22)):
        shapes += [
            {"path": f"M50 {top}L{50 + half} {bottom}L{50 - half} {bottom}Z", "fill": "crown"},
            {"path": f"M50 {top}L50 {bottom}L{50 - half} {bottom}Z", "fill": "lit"},
        ]
    return shapes


def _leafy() -> Sprite:
    crown = [_disc(x, y, radius, "crown") for x, y, radius in ((31, 54, 23), (69, 54, 23), (50, 35, 29), (50, 56, 24))]
    return [_shadow(53, 88, 34, 11), _TRUNK, *crown, _disc(42, 28, 15, "lit"), _disc(27, 49, 10, "lit")]


def _tavern() -> Sprite:
    """Return a house with a mug on its wall."""
    return [
        _shadow(50, 90, 44, 10),
        {"rect": [16, 46, 68, 44, 0], "fill": "wall", "line": "timber", "width": 5, "least": 1},
        {"path": "M50 6L96 50L4 50Z", "fill": "roof", "line": "timber", "width": 4},
        {"path": "M50 6L50 50L4 50Z", "fill": "#ffc89629"},
        {"rect": [56, 62, 18, 28, 0], "fill": "timber"},
        {"rect": [24, 61, 20, 20, 0], "fill": "#f5b82e"},
        {"path": "M46.1 64.6C52 65.6 53.4 72 50 75.6C49 76.7 47.6 77.3 46.1 77.4", "line": "#f5b82e", "width": 4.5},
        {"rect": [22, 57, 24, 8, 0], "fill": "#fffbe8"},
        _disc(50, 33, 7.5, "#ffd978"),
    ]


def _mine(rock: str, deep: str) -> Sprite:
    """Return a rock with an entrance, in which gold lies."""
    return [
        _shadow(50, 90, 46, 9),
        {"path": "M5 90L13 58L30 36L46 22L66 30L84 52L95 90Z", "fill": rock, "line": deep, "width": 5},
        {"path": "M13 58L30 36L46 22L50 40L32 56Z", "fill": "#ffffff4d"},
        {"path": "M30 90L30 70C30 59 39 50 50 50C61 50 70 59 70 70L70 90Z", "fill": "#1a1512", "line": "#b98545", "width": 6},
        *(_disc(x, y, radius, "#ffd23e") for x, y, radius in ((42, 84, 6.5), (55, 85, 7), (49, 76, 5.5))),
    ]


_BODY = "M50 38C86 42 88 76 86 92L14 92C12 76 14 42 50 38Z"
_HEAD = [50, 33, 21.5, 21.5, 0]
_PLUME = "M47 16C50 -6 86 0 86 27C74 12 62 12 53 17Z"
_SHIELD = "M31 55L69 55C69 78 62 86 50 93C38 86 31 78 31 55Z"
_EDGE: Shape = {"line": "deep", "width": 4, "least": 1}
_PALE = "#fffdf5"


def _hero() -> Sprite:
    """Return a hero with a cape, a helmet with a plume, and a shield. The number on the shield is a sprite of its own."""
    rim = {"line": _PALE, "width": 11.5, "least": 2}
    return [
        {"ellipse": [50, 91, 34, 8.5, 0], "fill": "#00000061"},
        {"path": _BODY, **rim},
        {"ellipse": _HEAD, **rim},
        {"path": _PLUME, **rim},
        {"path": _BODY, "fill": "main", **_EDGE},
        {"path": _PLUME, "fill": _PALE, **_EDGE},
        {"ellipse": _HEAD, "fill": "main", **_EDGE},
        {"rect": [33, 29, 34, 9.5, 2], "fill": "#181b20"},
        {"rect": [46.5, 29, 7, 22, 0], "fill": "#181b20"},
        {"ellipse": [42, 22, 7, 3.5, -29], "fill": "#ffffffa6"},
        {"path": _SHIELD, "fill": _PALE, **_EDGE},
    ]


def _digit(path: str) -> Sprite:
    return [{"path": path, "line": "deep", "width": 6.5, "least": 1.2}]


def _spawn(dashes: int = 9, radius: float = 38) -> Sprite:
    """Return a circle of dashes."""
    parts, half = [], 0.62 * math.pi / dashes
    pull = radius * 4 / 3 * math.tan(half / 2)  # distance of the control points of an arc
    for number in range(dashes):
        points = []
        for angle, sign in ((2 * math.pi * number / dashes - half, 1), (2 * math.pi * number / dashes + half, -1)):
            x, y = 50 + radius * math.cos(angle), 50 + radius * math.sin(angle)
            points += [(x, y), (x - sign * pull * math.sin(angle), y + sign * pull * math.cos(angle))][::sign]
        parts.append("M{} {}C{} {} {} {} {} {}".format(*(round(value, 2) for point in points for value in point)))
    return [{"path": "".join(parts), "line": "main", "width": 6, "least": 1, "alpha": 0.5}]


#: The sprites by name. `banner` is drawn under the mine of a hero, and `flag` is drawn over it. `grid` and `tuft` are drawn on
#: the ground, and `ours` under our hero. "1" to "4" are drawn on the shields of the heroes.
SPRITES: Mapping[str, Sprite] = {
    "grid": [
        {"rect": [0, 0, 100, 3, 0], "fill": "grid"},
        {"rect": [0, 0, 3, 100, 0], "fill": "grid"},
    ],
    "tuft": [{"path": "M-9 -9L0 0L7.2 -10.8", "line": "tuft", "width": 3.5, "least": 1}],
    "fir": _fir(),
    "leafy": _leafy(),
    "tavern": _tavern(),
    "mine": _mine("rock", "rockDeep"),
    "banner": [{"rect": [3, 3, 94, 94, 16], "fill": "main", "alpha": 0.42}],
    "owned": _mine("main", "deep"),
    "flag": [
        {"path": "M64 34L64 2", "line": "ink", "width": 4, "least": 1},
        {"path": "M64 2L97 11L64 22Z", "fill": "main", "line": "deep", "width": 3.5},
    ],
    "spawn": _spawn(),
    "ours": [{"ellipse": [50, 90, 48, 17, 0], "line": "#ffd23e", "width": 8, "least": 2}],
    "hero": _hero(),
    "1": _digit("M44.5 65.5L51 61.5L51 81.5"),
    "2": _digit("M43.5 66C44.5 60 57 60 56.5 67C56.2 71 48 75.5 43.5 81L57.5 81"),
    "3": _digit("M43.5 63C49 60 56.5 61.5 56 66.5C55.6 70 51 70.8 48.5 70.8C52 70.8 57 72 57 76C57 82 48 83.5 43 80"),
    "4": _digit("M53.5 82L53.5 62L43 76.5L58.5 76.5"),
}
