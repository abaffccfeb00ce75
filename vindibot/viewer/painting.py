"""Pixel pictures of the states of a game, painted from the layouts of `sim.pictures.layout`."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Sequence
from functools import cache, cached_property, partial

from PIL import Image, ImageColor, ImageDraw, ImageFont

from sim.game import SEATS, Games
from sim.pictures.layout import LEAST_WIDTH, LETTERS, TABLE_HEIGHT, Fill, Layout, Part, Placed, Words
from sim.pictures.sprites import SPRITES, Colours, Shape

#: Sprites are painted larger by this factor and then reduced, so that their edges are smooth.
_LARGER = 4
#: Space around a sprite, as a share of its side: lines and flags may cross the edges of a square.
_MARGIN = 0.15
#: Number of points for an ellipse, and of steps for a curve.
_POINTS, _STEPS = 48, 8
#: Number of colours that are taken from the pictures of a game. The palette also has the colours of texts and bars.
_TAKEN = 220
#: Substitutes for characters that the font lacks.
_INSTEAD = {"★": "*", "…": ".."}

Point = tuple[float, float]


class Painter:
    """A painter for the pictures of one game. `games` is any state of the game, `names` are the names of heroes 1..4, `me` is our
    hero (0..3). `board` is the side of the board in pixels, None for a side that suits this board. With equal `board`, the
    pictures of all games have the same size."""

    def __init__(self, games: Games, *, names: Sequence[str] = (), me: int | None = None, board: int | None = None) -> None:
        self._board = board
        self._look = partial(Layout, names=names, me=me, side=board and board // int(games["size"][0]))
        self._first = self._look(games)
        self._sprites: dict[tuple[str, str, int], Image.Image] = {}

    @cached_property
    def _land(self) -> Image.Image:
        layout = self._first
        picture = Image.new("RGB", (layout.width, layout.height), layout.paper)
        board = Image.new("RGB", (layout.size * layout.side,) * 2, layout.paper)
        self._draw(board, layout.land(), layout)
        picture.paste(board)  # the board is cut at its edges, so trees do not cover the table
        return picture

    def paint(self, games: Games) -> Image.Image:
        """Return the picture of a state of the game in true colours."""
        layout, picture = self._look(games), self._land.copy()
        self._draw(picture, layout.things(), layout)
        self._draw(picture, layout.table(), layout)
        if self._board is None:
            return picture
        canvas = Image.new("RGB", (max(LEAST_WIDTH, self._board), self._board + TABLE_HEIGHT), layout.paper)
        canvas.paste(picture, ((canvas.width - picture.width) // 2, 0))
        return canvas

    @cached_property
    def palette(self) -> Image.Image:
        """A picture whose palette serves all pictures of this game. The palette has at most 255 colours, because a GIF needs one
        colour for unchanged pixels."""
        layout = self._first
        side = layout.side
        samples = Image.new("RGB", (layout.width, layout.height + 4 * side), layout.paper)
        samples.paste(self._land)
        for hero in range(1, SEATS + 1):
            left = (hero - 1) * 2 * side
            for row, names in enumerate((("banner", "owned", "flag"), ("hero", str(hero)))):
                for name in names:
                    self._place(samples, Placed(name, f"hero{hero}", left, layout.height + 2 * row * side, side), layout)
        few = samples.quantize(_TAKEN, method=Image.Quantize.MEDIANCUT)
        colours = list(few.getpalette() or [])[: 3 * _TAKEN]
        plain = {part.colour for part in (*layout.table(), *layout.things()) if not isinstance(part, Placed)}
        for colour in sorted({layout.paper, "#4bd864", "#ffc93c", "#ff5a4f", "#8c8c8c", "#444444", *plain}):
            colours += ImageColor.getrgb(colour)[:3]
        palette = Image.new("P", (1, 1))
        palette.putpalette(colours)
        return palette

    def reduced(self, games: Games) -> Image.Image:
        """Return the picture of a state of the game in the colours of `palette`."""
        return self.paint(games).quantize(palette=self.palette, dither=Image.Dither.NONE)

    # ---- Parts ----

    def _draw(self, picture: Image.Image, parts: Iterable[Part], layout: Layout) -> None:
        pen = ImageDraw.Draw(picture, "RGBA")
        for part in parts:
            if isinstance(part, Placed):
                self._place(picture, part, layout)
            elif isinstance(part, Fill):
                for left, top, wide, high in part.rectangles:
                    corner = round(left + wide) - 1, round(top + high) - 1
                    if corner[0] >= round(left) and corner[1] >= round(top):
                        pen.rectangle((round(left), round(top), *corner), ImageColor.getrgb(part.colour))
            else:
                _write(pen, part)

    def _place(self, picture: Image.Image, placed: Placed, layout: Layout) -> None:
        key = placed.sprite, placed.tone, max(1, round(placed.side))
        if key not in self._sprites:
            self._sprites[key] = _sprite(placed.sprite, layout.colours(placed.tone), key[2])
        image, margin = self._sprites[key], _margin(key[2])
        picture.paste(image, (round(placed.left) - margin, round(placed.top) - margin), image)


def _margin(side: int) -> int:
    return math.ceil(side * _MARGIN)


def _sprite(name: str, colours: Colours, side: int) -> Image.Image:
    """Return the picture of a sprite of `side` pixels per side, with a margin around it."""
    margin = _margin(side)
    image = Image.new("RGBA", ((side + 2 * margin) * _LARGER,) * 2)
    for shape in SPRITES[name]:
        layer = Image.new("RGBA", image.size)
        _shape(ImageDraw.Draw(layer), shape, colours, side * _LARGER / 100, margin * _LARGER)
        if "alpha" in shape:
            layer.putalpha(layer.getchannel("A").point([round(value * shape["alpha"]) for value in range(256)]))
        image.alpha_composite(layer)
    return image.reduce(_LARGER)


def _shape(pen: ImageDraw.ImageDraw, shape: Shape, colours: Colours, scale: float, margin: int) -> None:
    fill, line = (_colour(shape.get(key), colours) for key in ("fill", "line"))
    width = round(max(shape.get("width", 0) * scale, shape.get("least", 0) * _LARGER))
    for points, closed in _outlines(shape):
        at = [(margin + x * scale, margin + y * scale) for x, y in points]
        if fill is not None:
            pen.polygon(at, fill)
        if line is not None:
            # The first two points are repeated, so that the corner at the first point is round too.
            pen.line([*at, *at[:2]] if closed else at, line, width, joint="curve")


def _colour(name: str | None, colours: Colours) -> tuple[int, ...] | None:
    return None if name is None else ImageColor.getrgb(colours.get(name, name))


def _outlines(shape: Shape) -> list[tuple[list[Point], bool]]:
    """Return the outlines of a shape: the points of each outline, and whether the outline is closed."""
    if "path" in shape:
        return [_flat(part) for part in re.findall("M[^M]*", shape["path"])]
    if "ellipse" in shape:
        x, y, wide, high, degrees = shape["ellipse"]
        cos, sin = math.cos(math.radians(degrees)), math.sin(math.radians(degrees))
        circle = [(math.cos(2 * math.pi * step / _POINTS), math.sin(2 * math.pi * step / _POINTS)) for step in range(_POINTS)]
        return [([(x + wide * a * cos - high * b * sin, y + wide * a * sin + high * b * cos) for a, b in circle], True)]
    left, top, wide, high, radius = shape["rect"]
    right, bottom = left + wide, top + high
    corners = [(right, bottom), (left, bottom), (left, top), (right, top)]
    if not radius:
        return [(corners, True)]
    points = []
    for quarter, (x, y) in enumerate(corners):
        middle = x - math.copysign(radius, x - left - wide / 2), y - math.copysign(radius, y - top - high / 2)
        for step in range(_STEPS + 1):
            angle = math.pi / 2 * (quarter + step / _STEPS)
            points.append((middle[0] + radius * math.cos(angle), middle[1] + radius * math.sin(angle)))
    return [(points, True)]


def _flat(path: str) -> tuple[list[Point], bool]:
    """Return the points of an SVG path with the commands M, L, C and Z, and whether the path is closed."""
    points: list[Point] = []
    for command, text in re.findall(r"([MLC])([^MLCZ]*)", path):
        numbers = [float(number) for number in text.split()]
        pairs = list(zip(numbers[::2], numbers[1::2], strict=True))
        if command == "C":
            points += _curve(points[-1], *pairs)
        else:
            points += pairs
    return points, path.endswith("Z")


def _curve(start: Point, first: Point, second: Point, end: Point) -> list[Point]:
    """Return points on a cubic Bézier curve, without its start. `first` and `second` are its control points."""
    points = []
    for step in range(1, _STEPS + 1):
        there = step / _STEPS
        back = 1 - there
        shares = back**3, 3 * back * back * there, 3 * back * there * there, there**3
        corners = start, first, second, end
        x, y = (sum(share * point[axis] for share, point in zip(shares, corners, strict=True)) for axis in (0, 1))
        points.append((x, y))
    return points


# ---- Words ----


@cache
def _font() -> ImageFont.FreeTypeFont | ImageFont.ImageFont:
    return ImageFont.load_default(LETTERS)


@cache
def _drawn(letter: str) -> tuple[tuple[int, ...] | None, bytes]:
    mask = _font().getmask(letter)
    return mask.getbbox(), bytes(mask)


def _known(letter: str) -> str:
    """Return the letter, or a substitute for a letter that the font lacks."""
    return _INSTEAD.get(letter, "?") if letter != " " and _drawn(letter) == _drawn("\U0010fffd") else letter


def _write(pen: ImageDraw.ImageDraw, words: Words) -> None:
    text = "".join(map(_known, words.text))
    weight = 0.35 if words.bold else 0
    pen.text((words.x, words.y), text, words.colour, _font(), anchor="rm" if words.end else "lm", stroke_width=weight)
