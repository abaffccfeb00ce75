"""A board as a small picture (SVG) for lists of games; the style sheet of the pages colours it."""

from __future__ import annotations

from sim.game import HERO_SHIFT, MINE, STRIDE, TAVERN, TILE_BITS, WALL, Game
from vindibot.base import render


def _run(row: int, column: int, length: int) -> str:
    return f"M{column} {row}h{length}v1h-{length}z"


def thumbnail(games: Game) -> str:
    """The board of a game as markup: a rectangle for each run of equal squares, a disc for a hero."""
    size = games["size"].item(0)
    rows = games["cell"][0].reshape(STRIDE, STRIDE)[1 : size + 1, 1 : size + 1].tolist()
    paths: dict[str, list[str]] = {}
    heroes = []
    for row, cells in enumerate(rows):
        start, last = 0, ""
        for column, cell in enumerate([*cells, 0]):
            kind = _kind(cell) if column < size else ""
            if kind != last:
                if last:
                    paths.setdefault(last, []).append(_run(row, start, column - start))
                start, last = column, kind
            if column < size and 1 <= cell >> HERO_SHIFT <= 4:
                heroes.append((cell >> HERO_SHIFT, column, row))
    drawn = {kind: "".join(runs) for kind, runs in paths.items()}
    return render("server/thumbnail.svg", size=size, paths=drawn, heroes=heroes)


def _kind(cell: int) -> str:
    tile = cell & TILE_BITS
    if tile == WALL:
        return "wall"
    if tile == TAVERN:
        return "tavern"
    if MINE < tile <= MINE + 4:
        return f"of{tile - MINE}"
    return "mine" if tile >= MINE else ""
