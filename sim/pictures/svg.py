"""Pictures of a game as SVG, for documents and notebooks."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from sim.game import Games
from sim.pictures.layout import LETTERS, Fill, Layout, Part, Placed, Words
from sim.pictures.sprites import SPRITES, Colours, Shape


class Svg(str):
    """A picture as the text of an SVG file. A notebook shows the picture."""

    __slots__ = ()

    def _repr_svg_(self) -> str:
        return str(self)


def draw_svg(
    games: Games,
    index: int = 0,
    *,
    side: int | None = None,
    names: Sequence[str] = (),
    me: int | None = None,
    theme: str = "light",
) -> Svg:
    """Return a picture of the game ``games[index]``: the board, the turn, and the life, gold and mines of each hero.

    `side` is the side of a square in pixels, None for a side that suits the size of the board. `names` are the names of heroes
    1..4. Our hero `me` (0..3) gets a ring. `theme` is "light" or "dark".
    """
    layout = Layout(games, index, side=side, names=names, me=me, theme=theme)
    parts = list(layout.parts())
    used = sorted({(part.sprite, part.tone) for part in parts if isinstance(part, Placed)})
    defined = (f'<g id="{_id(theme, *key)}">{_sprite(*key, layout)}</g>' for key in used)
    drawn = (_part(part, theme) for part in parts)
    wide, high = layout.width, layout.height
    return Svg(
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{wide}" height="{high}" viewBox="0 0 {wide} {high}" role="img" '
        f'aria-label="{escape(_printable(_described(layout)))}" font-family="system-ui, sans-serif" font-size="{LETTERS}">'
        f'<rect width="{wide}" height="{high}" fill="{layout.paper}"/><defs>{"".join(defined)}</defs>{"".join(drawn)}</svg>\n'
    )


def _described(layout: Layout) -> str:
    heroes = (
        f"{name}: life {hero['life']}, gold {hero['gold']}, mines {hero['mines']}"
        for name, hero, place in zip(layout.names, layout.game["hero"], layout.places, strict=True)
        if place is not None
    )
    return f"The board at turn {layout.game['turn']}. {'; '.join(heroes)}."


def _id(theme: str, sprite: str, tone: str) -> str:
    """Return the id of a sprite in SVG. Several pictures on one page use the same id for the same drawing."""
    return "-".join(filter(None, ("vindibot", theme, sprite, tone)))


def _sprite(name: str, tone: str, layout: Layout) -> str:
    colours = layout.colours(tone)
    return "".join(_shape(shape, colours, layout.side) for shape in SPRITES[name])


def _shape(shape: Shape, colours: Colours, side: int) -> str:
    if "path" in shape:
        form = f'path d="{shape["path"]}"'
    elif "ellipse" in shape:
        x, y, wide, high, degrees = shape["ellipse"]
        turned = f' transform="rotate({degrees} {x} {y})"' if degrees else ""
        form = f'ellipse cx="{x}" cy="{y}" rx="{wide}" ry="{high}"{turned}'
    else:
        left, top, wide, high, radius = shape["rect"]
        form = f'rect x="{left}" y="{top}" width="{wide}" height="{high}"' + (f' rx="{radius}"' if radius else "")
    words = [form, _paint("fill", shape.get("fill"), colours)]
    if "line" in shape:
        width = max(shape["width"], 100 * shape.get("least", 0) / side)
        words += [_paint("stroke", shape["line"], colours), f'stroke-width="{width:g}" stroke-linejoin="round"']
    if "alpha" in shape:
        words.append(f'opacity="{shape["alpha"]:g}"')
    return f"<{' '.join(words)}/>"


def _paint(attribute: str, colour: str | None, colours: Colours) -> str:
    """Return the SVG attributes for a colour of the inside (`attribute` is "fill") or of the line ("stroke").

    The opacity is an attribute of its own, because older SVG programs do not know colours with an opacity.
    """
    if colour is None:
        return f'{attribute}="none"'
    value = colours.get(colour, colour)
    opacity = f' {attribute}-opacity="{int(value[7:], 16) / 255:.3g}"' if len(value) == len("#rrggbbaa") else ""
    return f'{attribute}="{value[:7]}"{opacity}'


def _part(part: Part, theme: str) -> str:
    if isinstance(part, Placed):
        place = f"translate({_short(part.left)} {_short(part.top)}) scale({_short(part.side / 100, 4)})"
        return f'<use href="#{_id(theme, part.sprite, part.tone)}" transform="{place}"/>'
    if isinstance(part, Fill):
        path = "".join(
            f"M{_short(x)} {_short(y)}h{_short(wide)}v{_short(high)}h{_short(-wide)}z" for x, y, wide, high in part.rectangles
        )
        return f'<path {_paint("fill", part.colour, {})} shape-rendering="crispEdges" d="{path}"/>' if path else ""
    return _words(part)


def _words(words: Words) -> str:
    more = (' text-anchor="end"' if words.end else "") + (' font-weight="700"' if words.bold else "")
    place = f'x="{_short(words.x)}" y="{_short(words.y)}" dominant-baseline="central"'
    return f'<text {place} fill="{words.colour}"{more}>{escape(_printable(words.text))}</text>'


def _printable(text: str) -> str:
    """Return a text with "�" for each character that cannot be printed, because XML forbids some of these characters."""
    return "".join(letter if letter.isprintable() else "�" for letter in text)


def _short(number: float, digits: int = 2) -> str:
    """Return a number as text, rounded to `digits` decimal places, without trailing zeros."""
    return f"{round(number, digits):g}"
