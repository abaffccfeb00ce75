"""Small drawings in SVG, to be put inline into a page: ranges along a scale, and lines over time.

A drawing is `WIDTH` units wide, made to be read at that many pixels or a few more: on a telephone one fills the screen, on
a desk two stand side by side. Colours are classes (``c0`` .. ``c7`` and ``rest``) that the page defines for light and dark.
Every text that comes from elsewhere is escaped here.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from html import escape
from itertools import pairwise

from vindibot.base import printable

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
class Line:
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


def _safe(said: str) -> str:
    """A text for any place in a drawing, also for those who read it as XML."""
    return escape(printable(said), quote=True)


def _cut(label: str) -> str:
    return label if len(label) <= LABEL else f"{label[: LABEL - 1]}…"


def _text(x: float, y: float, said: str, anchor: str = "start", kind: str = "") -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" class="{kind}">{_safe(said)}</text>'


def _frame(height: float, title: str, parts: Sequence[str]) -> str:
    body = "".join(parts)
    return f'<svg viewBox="0 0 {WIDTH} {height:.0f}" role="img" aria-label="{_safe(title)}">{body}</svg>'


def _span(values: Sequence[float], room: float = 0.04) -> tuple[float, float]:
    low, high = min(values), max(values)
    if high <= low:
        low, high = low - 1, high + 1
    return low - (high - low) * room, high + (high - low) * room


def _line(x1: float, y1: float, x2: float, y2: float, kind: str) -> str:
    return f'<line x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" class="{kind}"/>'


def ranges(rows: Sequence[Range], title: str, unit: str, *, zero: bool = False) -> str:
    """Rows of dots with their ranges along one scale; `zero` draws a line at 0."""
    ends = [end for row in rows for end in (row.middle, row.low, row.high) if end is not None] + ([0.0] if zero else [])
    low, high = _span(ends or [0.0, 1.0])
    left = 12 + 7.3 * max((len(_cut(row.label)) for row in rows), default=0)
    bottom = TOP + ROW * len(rows)

    def at(value: float) -> float:
        return left + (value - low) / (high - low) * (WIDTH - RIGHT - left)

    parts = _ruler(at, low, high, bottom, unit, left)
    if zero:
        parts.append(_line(at(0), TOP, at(0), bottom, "zero"))
    for index, row in enumerate(rows):
        y, kind = TOP + ROW * (index + 0.5), colour(row.colour)
        marks = []
        if row.low is not None and row.high is not None:
            marks.append(_line(at(row.low), y, at(row.high), y, f"thin {kind}"))
        if row.inner is not None:
            marks.append(_line(at(row.inner[0]), y, at(row.inner[1]), y, f"thick {kind}"))
        marks.append(f'<circle cx="{at(row.middle):.1f}" cy="{y:.1f}" r="4.5" class="dot {kind}"/>')
        said = f"<title>{_safe(row.note)}</title>" if row.note else ""
        hit = f'<rect x="0" y="{y - ROW / 2:.1f}" width="{WIDTH}" height="{ROW}" class="hit"/>'
        parts.append(f"<g>{said}{hit}{_text(left - 8, y + 4, _cut(row.label), 'end')}{''.join(marks)}</g>")
    return _frame(bottom + BOTTOM, title, parts)


def _ruler(at: Callable[[float], float], low: float, high: float, bottom: float, unit: str, left: float) -> list[str]:
    """The scale along the bottom, with thin lines upwards."""
    parts = []
    for value in ticks(low, high):
        parts.append(_line(at(value), TOP, at(value), bottom, "grid"))
        parts.append(_text(at(value), bottom + 15, number(value), "middle", "small"))
    parts.append(_text((left + WIDTH - RIGHT) / 2, bottom + 32, unit, "middle", "small"))
    return parts


def lines(series: Sequence[Line], title: str, unit_x: str, unit_y: str, *, height: int = 230) -> str:
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

    parts = []
    for value in ticks(low, high):
        parts.append(_line(left, at_y(value), right, at_y(value), "grid"))
        parts.append(_text(left - 6, at_y(value) + 4, number(value), "end", "small"))
    parts += [_text(at_x(value), bottom + 15, number(value), "middle", "small") for value in ticks(0, most - 1)]
    parts.append(_text((left + right) / 2, bottom + 32, f"{unit_y} by {unit_x}", "middle", "small"))
    for one in series:
        points = " ".join(f"{at_x(x):.1f},{at_y(y):.1f}" for x, y in enumerate(one.y))
        parts.append(f'<g><title>{_safe(one.label)}</title><polyline points="{points}" class="line {colour(one.colour)}"/></g>')
    drawn = [one for one in series if one.y]
    for one, y in zip(drawn, _apart([at_y(one.y[-1]) for one in drawn], 13, bottom), strict=True):
        parts.append(_text(right + 6, y + 4, _cut(one.label), "start", f"end {colour(one.colour)}"))
    return _frame(height, title, parts)


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
