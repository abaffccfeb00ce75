"""The layout of a picture of a game: which sprites, boxes and words are where.

`sim.pictures.svg` and pixel pictures draw a layout.
All lengths are pixels, with the origin at the top left of the picture. The board is at the top. Below it, a table shows the turn,
and the life, the gold and the mines of each hero. A board looks the same as in the viewer: the kind and the place of each tree
depend only on its square.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from sim.board import board_of
from sim.game import MAX_LIFE, MINE, PLIES_PER_ROUND, SEATS, TAVERN, TILE_BITS, WALL, Games, row_column
from sim.pictures.sprites import CRASHED, HERO_COLOURS, LANDS, SPRITES, Colours

#: The width of a board if no side of a square is given, and the limits of this side, in pixels.
_BOARD, _LEAST_SIDE, _MOST_SIDE = 480, 12, 32
#: The least width of a picture: the table needs this space.
LEAST_WIDTH = 300
#: The height of a row of the table, and the size of its letters, in pixels.
ROW, LETTERS = 22, 13
#: The height of the table.
TABLE_HEIGHT = ROW * (SEATS + 1) + 6
#: The width of a letter, at most on average, and the space for the title of the first column.
_LETTER, _LIFE_TITLE = LETTERS * 0.6, 38
#: The right edges of the columns of the table, measured from the right edge of the picture.
_LIFE, _GOLD, _MINES = 118, 58, 10
#: Smallest side, in pixels, of a square on which tufts of grass are drawn.
_ROOM_FOR_TUFTS = 14
#: The colours of the table.
_TABLE = {
    "light": {"paper": "#fffdf7", "ink": "#23221f", "dim": "#5d5b54"},
    "dark": {"paper": "#1b1f1c", "ink": "#eceee8", "dim": "#a3a89f"},
}


@dataclass(frozen=True)
class Fill:
    """Rectangles of one colour: (left, top, width, height) in pixels."""

    colour: str
    rectangles: Sequence[tuple[float, float, float, float]]


@dataclass(frozen=True)
class Placed:
    """A sprite with its place in the picture, in pixels.

    `left` and `top` are the upper left corner of the sprite's square, `side` is the side of this square. `tone` selects the
    colours of the sprite (see `Layout.colours`).
    """

    sprite: str
    tone: str
    left: float
    top: float
    side: float


@dataclass(frozen=True)
class Words:
    """One line of text. `x` is its left edge, or its right edge if `end` is true. `y` is the middle of its height."""

    x: float
    y: float
    text: str
    colour: str
    end: bool = False
    bold: bool = False


#: A part of a picture.
Part = Fill | Placed | Words


def side_of(size: int) -> int:
    """Return the side of a square, in pixels, that suits a board with `size` rows."""
    return max(_LEAST_SIDE, min(_MOST_SIDE, _BOARD // size))


class Layout:
    """The layout of a picture of the game ``games[index]``.

    `side` is the side of a square in pixels, None for a side that suits the size of the board. `names` are the names of heroes
    1..4. `me` is our hero (0..3), None if no hero is ours. `theme` is "light" or "dark".
    """

    def __init__(
        self,
        games: Games,
        index: int = 0,
        *,
        side: int | None = None,
        names: Sequence[str] = (),
        me: int | None = None,
        theme: str = "light",
    ) -> None:
        self.game: Any = games[index]
        self.size = int(self.game["size"])
        side = side_of(self.size) if side is None else side
        self.side, self.me, self.theme = side, me, theme
        self.names = [*names, *(f"hero {hero}" for hero in range(len(names) + 1, SEATS + 1))]
        self.width = max(LEAST_WIDTH, self.size * side)
        self.height = self.size * side + TABLE_HEIGHT
        self._tiles: list[list[int]] = (board_of(games, index) & TILE_BITS).tolist()
        self._land = LANDS[theme]
        self._table = _TABLE[theme]

    @property
    def paper(self) -> str:
        """The colour of the background."""
        return self._table["paper"]

    def colours(self, tone: str) -> Colours:
        """Return the colours of a tone: "hero1" to "hero4", "crashed", "crown0" to "crown2" of a tree, or "" for the land."""
        if tone == "crashed":
            return {**self._land, **CRASHED}
        if tone.startswith("hero"):
            return {**self._land, **HERO_COLOURS[int(tone[4:]) - 1]}
        if tone.startswith("crown"):
            return {**self._land, "crown": self._land["crown"][int(tone[5:])]}
        return self._land

    def parts(self) -> Iterator[Part]:
        """Yield all parts in the order in which they are drawn."""
        yield from self.land()
        yield from self.things()
        yield from self.table()

    # ---- The board ----

    def _squares(self) -> Iterator[tuple[int, int, int]]:
        """Yield (column, row, tile) of all squares, row by row."""
        for row, tiles in enumerate(self._tiles):
            for column, tile in enumerate(tiles):
                yield column, row, tile

    def land(self) -> Iterator[Part]:
        """Yield what never changes during a game: ground, spawn squares, trees and taverns."""
        side = self.side
        fields: list[list[tuple[float, float, float, float]]] = [[], [], []]
        woods: list[tuple[float, float, float, float]] = []
        for column, row, tile in self._squares():
            kind = woods if tile == WALL else fields[int(noise(column, row) * 3)]
            kind.append((column * side, row * side, side, side))
        for colour, rectangles in zip(self._land["ground"], fields, strict=True):
            yield Fill(colour, rectangles)
        yield self._grid([place for field in fields for place in field])
        if side >= _ROOM_FOR_TUFTS:
            yield from self._tufts()
        yield Fill(self._land["floor"], woods)
        for hero, record in enumerate(self.game["hero"], 1):
            place = self._place(record["spawn"])
            if place is not None:
                yield Placed("spawn", f"hero{hero}", place[0] * side, place[1] * side, side)
        for column, row, tile in self._squares():
            if tile == WALL:
                yield self._tree(column, row)
            elif tile == TAVERN:
                yield Placed("tavern", "", column * side, row * side, side)

    def _grid(self, places: Sequence[tuple[float, float, float, float]]) -> Fill:
        lines = [[value * self.side / 100 for value in shape["rect"][:4]] for shape in SPRITES["grid"]]
        cut = [(left + x, top + y, wide, high) for left, top, _, _ in places for x, y, wide, high in lines]
        return Fill(self._land["grid"], cut)

    def _tufts(self) -> Iterator[Placed]:
        for column, row, tile in self._squares():
            for number in range(2):
                if tile != WALL and noise(column, row, 3 + number) >= 0.55:
                    x = column + 0.15 + 0.7 * noise(column, row, 5 + number)
                    y = row + 0.25 + 0.65 * noise(column, row, 7 + number)
                    yield Placed("tuft", "", x * self.side, y * self.side, self.side)

    def _tree(self, column: int, row: int) -> Placed:
        grown = 0.92 + noise(column, row, 13) * 0.2
        x = column + 0.5 + (noise(column, row, 11) - 0.5) * 0.12 - 0.5 * grown
        y = row + 0.5 + (noise(column, row, 12) - 0.5) * 0.08 - 0.5 * grown
        kind = "fir" if noise(column, row, 15) < 0.45 else "leafy"
        tone = f"crown{int(noise(column, row, 14) * 3)}"
        return Placed(kind, tone, x * self.side, y * self.side, grown * self.side)

    def things(self) -> Iterator[Part]:
        """Yield what changes during a game: mines and heroes."""
        side = self.side
        for column, row, tile in self._squares():
            if tile < MINE:
                continue
            owned = MINE < tile <= MINE + SEATS
            for sprite in ("banner", "owned", "flag") if owned else ("mine",):
                yield Placed(sprite, f"hero{tile - MINE}" if owned else "", column * side, row * side, side)
        on_board = [(hero, place) for hero, place in enumerate(self.places) if place is not None]
        on_board.sort(key=lambda known: known[1][1])  # a hero covers the heroes north of it
        for hero, place in on_board:
            yield from self._hero(hero, *place)
        for hero, place in on_board:
            yield from self._life(hero, *place)

    @cached_property
    def places(self) -> list[tuple[int, int] | None]:
        """The (column, row) of heroes 1..4; None for a hero that is not on the board."""
        return [self._place(record["pos"]) for record in self.game["hero"]]

    @cached_property
    def grown(self) -> float:
        """The side of a hero's drawing, divided by the side of a square.

        It is 1.12 for squares of 32 pixels, and up to 1.5 for smaller squares.
        """
        return max(1.12, min(1.5, 1.12 + (32 - self.side) * 0.025))

    def _place(self, square: int) -> tuple[int, int] | None:
        row, column = row_column(int(square))
        return (column, row) if 0 <= row < self.size and 0 <= column < self.size else None

    def _hero(self, hero: int, column: int, row: int) -> Iterator[Placed]:
        side, large = self.side, self.side * self.grown
        left, top = (column + 0.5) * side - large / 2, (row + 1.02) * side - 1.07 * large
        if hero == self.me:
            yield Placed("ours", "", column * side, row * side, side)
        tone = "crashed" if self.game["hero"][hero]["crashed"] else f"hero{hero + 1}"
        yield Placed("hero", tone, left, top, large)
        yield Placed(str(hero + 1), tone, left, top, large)

    def _life(self, hero: int, column: int, row: int) -> Iterator[Fill]:
        """Yield the bar that shows the life of `hero` (0..3). The bar is above the hero, or below it in the topmost row."""
        side = self.side
        wide, high = max(round(side * 0.94), 12), max(round(side * 0.13), 3)
        left, top = (column + 0.5) * side - wide / 2, (row + 1.02 - 1.06 * self.grown) * side - high
        if top < 1:
            top = min((row + 1.04) * side, self.size * side - high - 1)
        yield from self._bar(hero, left, top, wide, high)

    def _bar(self, hero: int, left: float, top: float, wide: float, high: float) -> Iterator[Fill]:
        full = min(1.0, max(0.0, float(self.game["hero"][hero]["life"]) / MAX_LIFE))
        left, top = round(left), round(top)
        yield Fill("#0a0c0e", [(left - 1, top - 1, wide + 2, high + 2)])
        colour = "#4bd864" if full > 0.5 else "#ffc93c" if full > 0.2 else "#ff5a4f"
        yield Fill(colour, [(left, top, round(wide * full), high)])

    # ---- The table ----

    def table(self) -> Iterator[Part]:
        """Yield the table below the board."""
        ink, dim = self._table["ink"], self._table["dim"]
        top, width = self.size * self.side + 3, self.width
        turn, turns = int(self.game["turn"]), int(self.game["max_turns"])
        rounds = -(-turns // PLIES_PER_ROUND)
        middle = top + ROW / 2
        heading, longest = f"turn {turn} of {turns}", f"turn {turns} of {turns} · round {rounds}"
        if 8 + len(longest) * _LETTER <= width - _LIFE - _LIFE_TITLE:  # the same form during the whole game
            heading += f" · round {min(turn // PLIES_PER_ROUND + 1, rounds)}"
        yield Words(8, middle, heading, ink, bold=True)
        for edge, title in ((_LIFE, "life"), (_GOLD, "gold"), (_MINES, "mines")):
            yield Words(width - edge, middle, title, dim, end=True)
        letters = int((width - _LIFE - _LIFE_TITLE - 32) / _LETTER)
        for hero, record in enumerate(self.game["hero"]):
            middle += ROW
            colours = HERO_COLOURS[hero]
            yield Fill(colours["main"], [(8, middle - 8, 16, 16)])
            yield Words(12, middle, str(hero + 1), "#14110b", bold=True)
            name = self.names[hero]
            present = self.places[hero] is not None
            shown = name if len(name) <= letters else f"{name[: letters - 1]}…"
            yield Words(32, middle, f"{shown} ★" if hero == self.me else shown, ink if present else dim)
            if present:
                for edge, field in ((_LIFE, "life"), (_GOLD, "gold"), (_MINES, "mines")):
                    yield Words(width - edge, middle, str(record[field]), ink, end=True, bold=field == "gold")


def noise(x: int, y: int, salt: int = 0) -> float:
    """Return a number from 0 to 1 that looks random. It depends only on the arguments: a column, a row, and `salt`."""
    mixed = (x * 374761393 + y * 668265263 + salt * 1442695041) & 0xFFFFFFFF
    mixed = ((mixed ^ mixed >> 13) * 1274126177) & 0xFFFFFFFF
    return (mixed ^ mixed >> 16) / 0x100000000
