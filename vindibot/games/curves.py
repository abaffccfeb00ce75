"""Curves of a value of the four heroes over time, for charts in notebooks."""

from __future__ import annotations

from collections.abc import Sequence

from sim.pictures.sprites import HERO_COLOURS
from vindibot.base.output.charts import Curve, lines


def hero_picture(title: str, turns: Sequence[int], rows: Sequence[Sequence[float]]) -> str:
    """Return a chart (SVG) with a curve per hero. `turns` are the turns of the points, `rows` the four values of each point."""
    series = [Curve(f"@{hero + 1}", hero, [row[hero] for row in rows], turns) for hero in range(len(HERO_COLOURS))]
    return lines(series, title, "turn", title, colours=[colours["main"] for colours in HERO_COLOURS])
