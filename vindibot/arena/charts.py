"""Small drawings in SVG, to be put inline into a page: ranges along a scale, and lines over time.

A drawing is `WIDTH` units wide, made to be read at that many pixels or a few more: on a telephone one fills the screen, on
a desk two stand side by side. Colours are classes (``c0`` .. ``c7`` and ``rest``) that the page defines for light and dark.
The templates escape what they insert.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from vindibot.base import render

#: Units of the drawing: width, height of a row, margins.
WIDTH, ROW, TOP, BOTTOM, RIGHT = 460, 26, 10, 40, 14
#: Colours that can be told apart; further bots share the class ``rest``.
COLOURS = 8
#: Characters of a label.
LABEL = 16


@dataclass(frozen=True)
class Range:
    """A row: the label, the colour's number, the middle, the ends of the thin line, those of the thick one if there is
    one, and what is said of it when pointed at."""

    label: str
    colour: int
    middle: float
    low: float | None = None
    high: float | None = None
    inner: tuple[float, float] | None = None
    note: str = ""


@dataclass(frozen=True)
class Curve:
    """A line: the label, the colour's number, and the y of every x."""

    label: str
    colour: int
    y: Sequence[float]


def colour(number: int) -> str:
    """The class of the bot with this number."""
    return f"c{number}" if number < COLOURS else "rest"


def ticks(low: float, high: float, about: int = 5) -> list[float]:
    """Round numbers within low..high, about so many: multiples of 1, 2 or 5 times a power of ten."""
    if not high > low:
        return [low]
    step = 10.0 ** math.floor(math.log10((high - low) / about))
    for factor in (1, 2, 5, 10):
        if (high - low) / (step * factor) <= about:
            step *= factor
            break
    first = math.ceil(low / step - 1e-9)
    return [number * step for number in range(first, math.floor(high / step + 1e-9) + 1)]


def number(value: float) -> str:
    """A number of a scale."""
    return f"{value:g}" if abs(value) < 1e6 else f"{value:.3g}"


def _cut(label: str) -> str:
    return label if len(label) <= LABEL else f"{label[: LABEL - 1]}…"


def _span(values: Sequence[float], room: float = 0.04) -> tuple[float, float]:
    low, high = min(values), max(values)
    if high <= low:
        low, high = low - 1, high + 1
    return low - (high - low) * room, high + (high - low) * room


def ranges(rows: Sequence[Range], title: str, unit: str, *, zero: bool = False) -> str:
    """Rows of dots with their ranges along one scale; `zero` draws a line at 0."""
    ends = [end for row in rows for end in (row.middle, row.low, row.high) if end is not None] + ([0.0] if zero else [])
    low, high = _span(ends or [0.0, 1.0])
    left, right = 12 + 7.3 * max((len(_cut(row.label)) for row in rows), default=0), WIDTH - RIGHT

    def at(value: float) -> float:
        return left + (value - low) / (high - low) * (right - left)

    marks = []
    for index, row in enumerate(rows):
        bars = [] if row.low is None or row.high is None else [(at(row.low), at(row.high), "thin")]
        bars += [] if row.inner is None else [(at(row.inner[0]), at(row.inner[1]), "thick")]
        mark = {"x": at(row.middle), "y": TOP + ROW * (index + 0.5), "bars": bars, "colour": colour(row.colour)}
        marks.append(mark | {"label": _cut(row.label), "note": row.note})
    return render(
        "arena/ranges.svg",
        width=WIDTH,
        row=ROW,
        left=left,
        right=right,
        top=TOP,
        bottom=TOP + ROW * len(rows),
        margin=BOTTOM,
        title=title,
        unit=unit,
        scale=[(at(value), number(value)) for value in ticks(low, high)],
        zero=at(0) if zero else None,
        marks=marks,
    )


def lines(series: Sequence[Curve], title: str, unit_x: str, unit_y: str, *, height: int = 230) -> str:
    """Lines over 0, 1, 2 ..., with their labels at the right ends, moved apart where they would cover each other."""
    values = [value for one in series for value in one.y]
    low, high = _span([0.0, *values])
    low = max(low, 0.0) if min([0.0, *values]) >= 0 else low
    most = max((len(one.y) for one in series), default=1)
    left = 14 + 7.0 * max(len(number(value)) for value in ticks(low, high))
    right = WIDTH - 14 - 6.6 * max((len(_cut(one.label)) for one in series), default=0)
    bottom = height - BOTTOM

    def at_x(value: float) -> float:
        return left + value / max(1, most - 1) * (right - left)

    def at_y(value: float) -> float:
        return bottom - (value - low) / (high - low) * (bottom - TOP)

    def points(one: Curve) -> str:
        return " ".join(f"{at_x(x):.1f},{at_y(y):.1f}" for x, y in enumerate(one.y))

    labelled = [one for one in series if one.y]
    places = _apart([at_y(one.y[-1]) for one in labelled], 13, bottom)
    return render(
        "arena/lines.svg",
        width=WIDTH,
        height=height,
        left=left,
        right=right,
        bottom=bottom,
        title=title,
        unit=f"{unit_y} by {unit_x}",
        scale_x=[(at_x(value), number(value)) for value in ticks(0, most - 1)],
        scale_y=[(at_y(value), number(value)) for value in ticks(low, high)],
        drawn=[(one.label, points(one), colour(one.colour)) for one in series],
        ends=[(_cut(one.label), y, colour(one.colour)) for one, y in zip(labelled, places, strict=True)],
    )


def _apart(wanted: Sequence[float], gap: float, bottom: float) -> list[float]:
    """Places near the wanted ones, in the same order, at least `gap` apart and not below `bottom`."""
    order = sorted(range(len(wanted)), key=lambda index: wanted[index])
    found = list(wanted)
    for before, index in pairwise(order):
        found[index] = max(found[index], found[before] + gap)
    limit = bottom
    for index in reversed(order):
        found[index] = min(found[index], limit)
        limit = found[index] - gap
    return found
