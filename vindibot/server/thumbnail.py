"""A board as a small picture (SVG) for lists of games; the style sheet of the pages colours it."""

from __future__ import annotations

from sim.game import HERO_SHIFT, MINE, STRIDE, TAVERN, TILE_BITS, WALL, Game


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
                heroes.append(f'<circle class="of{cell >> HERO_SHIFT}" cx="{column + 0.5}" cy="{row + 0.5}" r=".62"/>')
    shapes = "".join(f'<path class="{kind}" d="{"".join(runs)}"/>' for kind, runs in paths.items())
    return f'<svg class="board" viewBox="0 0 {size} {size}" aria-hidden="true">{shapes}{"".join(heroes)}</svg>'


def _kind(cell: int) -> str:
    tile = cell & TILE_BITS
    if tile == WALL:
        return "wall"
    if tile == TAVERN:
        return "tavern"
    if MINE < tile <= MINE + 4:
        return f"of{tile - MINE}"
    return "mine" if tile >= MINE else ""
