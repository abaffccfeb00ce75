"""A board as a small picture (SVG) for lists of games. The style sheet of the pages sets its colours."""

from __future__ import annotations

from itertools import groupby

from sim.game import HERO_SHIFT, STRIDE, TILE_BITS, Game
from vindibot.base import render

#: CSS class of a tile's rectangle, by tile: air, wall, tavern, free mine, mines of heroes 1..4, mines of unknown owners.
KINDS = ("", "wall", "tavern", "mine", "of1", "of2", "of3", "of4", *["mine"] * 8)


def thumbnail(games: Game) -> str:
    """Return the board of a game as SVG: one rectangle per run of equal squares in a row, one disc per hero."""
    size = games["size"].item(0)
    rows = games["cell"][0].reshape(STRIDE, STRIDE)[1 : size + 1, 1 : size + 1].tolist()
    paths: dict[str, str] = {}
    heroes = []
    for row, cells in enumerate(rows):
        start = 0
        for kind, run in groupby(cells, lambda cell: KINDS[cell & TILE_BITS]):
            length = len(list(run))
            if kind:
                paths[kind] = f"{paths.get(kind, '')}M{start} {row}h{length}v1h-{length}z"
            start += length
        heroes += [(cell >> HERO_SHIFT, column, row) for column, cell in enumerate(cells) if 1 <= cell >> HERO_SHIFT <= 4]
    return render("server.site/thumbnail.svg", size=size, paths=paths, heroes=heroes)
