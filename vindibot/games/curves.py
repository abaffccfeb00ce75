"""Curves of a value of the four heroes over time, for charts in notebooks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from sim.pictures.sprites import HERO_COLOURS


@dataclass(frozen=True)
class Curves:
    """A chart of a value over time, with one curve per hero.

    `turns` are the turns of the points, ascending. `rows` has the four values of each point. The other fields are the size of the
    picture, and the edges of the curves in it, in pixels.
    """

    title: str
    turns: Sequence[int]
    rows: Sequence[Sequence[float]]
    width: int = 420
    height: int = 220
    left: int = 44
    right: int = 408
    top: int = 26
    bottom: int = 196

    @property
    def first(self) -> int:
        """The turn of the first point."""
        return self.turns[0]

    @property
    def last(self) -> int:
        """The turn of the last point."""
        return self.turns[-1]

    @property
    def _most(self) -> float:
        return max(1.0, *(value for row in self.rows for value in row))

    def _y(self, value: float) -> float:
        return round(self.bottom - (self.bottom - self.top) * value / self._most, 1)

    @property
    def levels(self) -> list[tuple[float, str]]:
        """The horizontal lines of the chart: the y coordinate of each in pixels, and its label."""
        rough = self._most / 5
        power: int = 10 ** (len(str(int(rough))) - 1)
        step = next(factor * power for factor in (1, 2, 5, 10) if factor * power >= rough)
        return [(self._y(value), str(value)) for value in range(0, int(self._most) + 1, step)]

    @property
    def lines(self) -> list[tuple[str, str]]:
        """For each hero: the colour of its curve, and the points of the curve as text for SVG (``x,y x,y``)."""
        most, span = self._most, max(1, self.last - self.first)
        across = [round(self.left + (self.right - self.left) * (turn - self.first) / span, 1) for turn in self.turns]
        tall = self.bottom - self.top
        lines = []
        for hero, colours in enumerate(HERO_COLOURS):
            points = (f"{x},{self.bottom - tall * row[hero] / most:.1f}" for x, row in zip(across, self.rows, strict=True))
            lines.append((colours["main"], " ".join(points)))
        return lines
