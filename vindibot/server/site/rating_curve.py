"""A drawing (SVG) of a bot's rating over its games."""

from __future__ import annotations

import math
from collections.abc import Sequence

from vindibot.base.pages import render

#: Width and height of the drawing, and the margins around the curve.
WIDTH, HEIGHT = 460, 190
LEFT, RIGHT, TOP, BOTTOM = 44, 10, 10, 24
#: Largest number of points of the curve. If there are more ratings, the curve leaves some of them out.
POINTS = 240
#: Smallest height of the scale, in Elo points.
SPAN = 40
#: Possible distances between two neighbouring lines of the grid, in Elo points.
STEPS = (10, 20, 50, 100, 200, 500, 1000, 2000, 5000)
#: Largest number of lines of the grid.
LINES = 5


def rating_curve(ratings: Sequence[tuple[float, int]]) -> str:
    """Return a curve of these ratings as SVG, "" if there are fewer than two ratings.

    `ratings` has one tuple per rated game, oldest first: time in seconds since 1970, Elo after the game. The points of the curve
    have equal horizontal distances.
    """
    if len(ratings) < 2:
        return ""
    elos = [elo for _, elo in ratings]
    lowest, highest = min(elos), max(elos)
    middle, half = (lowest + highest) / 2, max(highest - lowest, SPAN) / 2
    bottom, top = middle - half * 1.08, middle + half * 1.08

    def across(place: int) -> float:
        return round(LEFT + place / (len(elos) - 1) * (WIDTH - LEFT - RIGHT), 1)

    def down(elo: float) -> float:
        return round(TOP + (top - elo) / (top - bottom) * (HEIGHT - TOP - BOTTOM), 1)

    every = -(-len(elos) // POINTS)
    places = sorted({*range(0, len(elos), every), len(elos) - 1})
    step = next((step for step in STEPS if (top - bottom) / step <= LINES), STEPS[-1])
    lines = range(math.ceil(bottom / step) * step, int(top) + 1, step)
    return render(
        "server.site/rating.svg",
        width=WIDTH,
        height=HEIGHT,
        left=LEFT,
        right=WIDTH - RIGHT,
        base=HEIGHT - BOTTOM,
        points=" ".join(f"{across(place)},{down(elos[place])}" for place in places),
        end=(across(len(elos) - 1), down(elos[-1])),
        lines=[(down(elo), elo) for elo in lines],
        first=ratings[0][0],
        last=ratings[-1][0],
        number=len(elos),
        summary={"from": elos[0], "to": elos[-1], "lowest": lowest, "highest": highest},
    )
