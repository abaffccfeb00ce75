"""Pages (HTML), drawings and charts (SVG) from templates that escape all values.

A template is a file in the folder ``templates`` of a package of `vindibot`. The template's name begins with the package:
``server.site/home.html``. A template may use templates of the same room and of the rooms that this room may import.
``base/page.html`` is the frame of all pages.

A chart is `WIDTH` units wide, and a unit is about one pixel. So one chart fills the screen of a telephone, and a desktop screen
shows two charts side by side. A colour is a CSS class (``c0`` .. ``c7`` or ``rest``). The page defines these classes for its
light and dark themes.
"""

from __future__ import annotations

import math
import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cache, lru_cache
from itertools import pairwise
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from vindibot.base.text import printable

# Jinja2 is imported when the first page is made: most commands make no page.
if TYPE_CHECKING:
    from jinja2 import Environment, PackageLoader
    from markupsafe import Markup

#: Sizes in units: width of a chart, height of a chart with lines, height of a row, margins.
WIDTH, HEIGHT, ROW, TOP, BOTTOM, RIGHT = 460, 230, 26, 10, 40, 14
#: Approximate number of numbers on a scale, and the free space at each end, as a share of the range of the values.
TICKS, ROOM = 5, 0.04
#: Smallest difference between the ends of a scale.
LEAST = 1e-9
#: Number of colours that readers can tell apart. All further bots share the class ``rest``.
COLOURS = 8
#: Largest number of characters of a label. The rest is cut off.
LABEL_LENGTH = 16


def render(template: str, **values: Any) -> Markup:
    """Return the page that a template makes from these values: ``render("server.site/missing.html")``.

    Escapes each value, except markup that another template has made. Raises `jinja2.UndefinedError` if a value is missing.
    """
    from markupsafe import Markup

    return Markup(_environment().get_template(template).render(values))  # noqa: S704  # the template has escaped what it inserts


def compile_templates(*packages: str) -> None:
    """Compile all templates of these packages of `vindibot` in advance, so that the first page is made as fast as later pages."""
    environment = _environment()
    for package in packages:
        for name in environment.loader.mapping[package].list_templates():  # type: ignore[union-attr]
            environment.get_template(f"{package}/{name}")


@lru_cache(maxsize=64)
def qr_code(text: str) -> Markup:
    """Return the QR code of a text as an SVG element, black on white. The page sets its size."""
    import segno
    from markupsafe import Markup

    drawn = segno.make(text, error="m", micro=False).svg_inline(border=2, light="#fff", omitsize=True)
    return Markup(drawn)  # noqa: S704  # it is drawn here


def qr_picture(text: str) -> str:
    """Return the QR code of a text as the address of a picture (a data URL), black on white."""
    import segno

    return str(segno.make(text, error="m", micro=False).svg_data_uri(border=2, light="#fff", omitsize=True))


class _Loaders(dict[str, "PackageLoader"]):
    """The loaders of templates, by package of `vindibot`. Each loader is created at its first use."""

    def __missing__(self, package: str) -> PackageLoader:
        from jinja2 import PackageLoader

        self[package] = PackageLoader(f"vindibot.{package}")
        return self[package]


@cache
def _environment() -> Environment:
    from jinja2 import Environment, PrefixLoader, StrictUndefined

    environment = Environment(
        loader=PrefixLoader(_Loaders()),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        auto_reload=False,  # a check for changed files would take time for each page
    )
    environment.filters |= {"printable": printable, "quoted": quoted, "shell": shlex.quote, "moment": moment}
    environment.policies["json.dumps_kwargs"] = {"separators": (",", ":"), "allow_nan": False}
    return environment


def quoted(part: str) -> str:
    """Return a text as one segment of a URL's path. Slashes and all other special characters are escaped."""
    return quote(part, safe="")


def moment(seconds: float | None) -> str:
    """Return a time (seconds since 1970) as an element, to the minute in UTC; "never" for None.

    On pages with the script ``times.js``, the text changes to the time zone of the reader.
    """
    from markupsafe import Markup

    if seconds is None:
        return "never"
    time = datetime.fromtimestamp(seconds, UTC)
    return Markup('<time datetime="{0:%Y-%m-%dT%H:%M:%SZ}">{0:%Y-%m-%d %H:%M} UTC</time>').format(time)


# ---- Charts ----


@dataclass(frozen=True)
class Range:
    """A row of a chart with a dot at `middle`, a thin line and a thick line.

    `thin` and `thick` are the ends (low, high) of the two lines, None for no line. `colour` is the number of the colour, from 0.
    `note` is a text that appears when the mouse points at the row.
    """

    label: str
    colour: int
    middle: float
    thin: tuple[float, float] | None = None
    thick: tuple[float, float] | None = None
    note: str = ""


@dataclass(frozen=True)
class Curve:
    """A line of a chart: its label, the number of its colour (from 0), and its y values.

    `x` has an x value of at least 0 for each of them, in order. Without `x`, they are for x = 0, 1, 2 ...
    """

    label: str
    colour: int
    y: Sequence[float]
    x: Sequence[float] = ()

    @property
    def points(self) -> list[tuple[float, float]]:
        """The points (x, y) of the line."""
        return list(zip(self.x or range(len(self.y)), self.y, strict=True))


def colour(number: int) -> str:
    """Return the CSS class of the colour with this number (from 0)."""
    return f"c{number}" if number < COLOURS else "rest"


def shortened(label: str, length: int = LABEL_LENGTH) -> str:
    """Return a label, cut to at most `length` characters."""
    return label if len(label) <= length else f"{label[: length - 1]}…"


def ticks(low: float, high: float) -> list[float]:
    """Return about `TICKS` numbers to show on a scale from `low` to `high`. Their step is 1, 2 or 5 times a power of ten."""
    if not high > low:
        return [low]
    step = 10.0 ** math.floor(math.log10((high - low) / TICKS))
    step *= next(factor for factor in (1, 2, 5, 10) if factor == 10 or (high - low) / (step * factor) <= TICKS)
    first = math.ceil(low / step - 1e-9)
    return [number * step for number in range(first, math.floor(high / step + 1e-9) + 1)]


def tick_label(value: float) -> str:
    """Return a number on a scale as text."""
    return f"{value:g}" if abs(value) < 1e6 else f"{value:.3g}"


def _span(values: Sequence[float]) -> tuple[float, float]:
    """Return the ends (low, high) of a scale for these values, with free space at each end."""
    low, high = min(values), max(values)
    if high - low < LEAST:
        low, high = low - 1, high + 1
    return low - (high - low) * ROOM, high + (high - low) * ROOM


def ranges(rows: Sequence[Range], title: str, unit: str, *, zero: bool = False) -> str:
    """Return a chart in SVG with one row per range. All rows have the same scale.

    The chart shows `unit` below the scale. Screen readers read `title`. With `zero`, the chart has a line at 0.
    """
    ends = [end for row in rows for end in (row.middle, *(row.thin or ()))] + ([0.0] if zero else [])
    low, high = _span(ends or [0.0, 1.0])
    left, right = 12 + 7.3 * max((len(shortened(row.label)) for row in rows), default=0), WIDTH - RIGHT

    def at(value: float) -> float:
        return left + (value - low) / (high - low) * (right - left)

    marks = [
        {
            "x": at(row.middle),
            "y": TOP + ROW * (index + 0.5),
            "bars": [(at(bar[0]), at(bar[1]), kind) for kind, bar in (("thin", row.thin), ("thick", row.thick)) if bar],
            "colour": colour(row.colour),
            "label": shortened(row.label),
            "note": row.note,
        }
        for index, row in enumerate(rows)
    ]
    return render(
        "base/ranges.svg",
        width=WIDTH,
        row=ROW,
        left=left,
        right=right,
        top=TOP,
        bottom=TOP + ROW * len(rows),
        margin=BOTTOM,
        title=title,
        unit=unit,
        scale=[(at(value), tick_label(value)) for value in ticks(low, high)],
        zero=at(0) if zero else None,
        marks=marks,
    )


def lines(
    series: Sequence[Curve], title: str, unit_x: str, unit_y: str, *, zero: bool = True, colours: Sequence[str] = ()
) -> str:
    """Return a chart in SVG with one line per curve, over x from 0 on. With `zero`, the scale of y has 0.

    The labels are at the right ends of the lines, and do not overlap. Screen readers read `title`. A chart that is on none
    of our pages has its own `colours`.
    """
    values = [*([0.0] if zero else []), *(value for curve in series for value in curve.y)]
    low, high = _span(values)
    low = max(low, 0.0) if min(values) >= 0 else low
    most = max((x for curve in series for x, _ in curve.points), default=0.0)
    left = 14 + 7.0 * max(len(tick_label(value)) for value in ticks(low, high))
    right = WIDTH - 14 - 6.6 * max((len(shortened(curve.label)) for curve in series), default=0)
    bottom = HEIGHT - BOTTOM

    def at_x(value: float) -> float:
        return left + value / (most or 1) * (right - left)

    def at_y(value: float) -> float:
        return bottom - (value - low) / (high - low) * (bottom - TOP)

    def points(curve: Curve) -> str:
        return " ".join(f"{at_x(x):.1f},{at_y(y):.1f}" for x, y in curve.points)

    labelled = [curve for curve in series if curve.y]
    heights = _apart([at_y(curve.y[-1]) for curve in labelled], 13, bottom)
    return render(
        "base/lines.svg",
        width=WIDTH,
        height=HEIGHT,
        left=left,
        right=right,
        bottom=bottom,
        title=title,
        colours=colours,
        unit=f"{unit_y} by {unit_x}",
        scale_x=[(at_x(value), tick_label(value)) for value in ticks(0, most)],
        scale_y=[(at_y(value), tick_label(value)) for value in ticks(low, high)],
        drawn=[(curve.label, points(curve), colour(curve.colour)) for curve in series],
        ends=[(shortened(curve.label), y, colour(curve.colour)) for curve, y in zip(labelled, heights, strict=True)],
    )


def _apart(y_values: Sequence[float], gap: float, bottom: float) -> list[float]:
    """Return y positions for labels, each near its own value, in the same order.

    The positions are at least `gap` apart. No position is larger than `bottom`, the y of the bottom of the chart's scale.
    """
    order = sorted(range(len(y_values)), key=lambda index: y_values[index])
    heights = list(y_values)
    for before, index in pairwise(order):
        heights[index] = max(heights[index], heights[before] + gap)
    limit = bottom
    for index in reversed(order):
        heights[index] = min(heights[index], limit)
        limit = heights[index] - gap
    return heights
