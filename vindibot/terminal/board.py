"""A game drawn for a terminal: the board in colours, the heroes, and the votes of our traits.

`layout` returns lines of styled text that fit a terminal. It runs many times per second while a bot needs the processor, so it
uses prepared segments instead of rich's tables. Names come from other people, so they are shown as plain text without control
characters.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import cache
from itertools import groupby, zip_longest
from typing import Any

from rich.cells import cell_len, set_cell_size
from rich.segment import Segment
from rich.style import Style

from sim.board import TILE_NAMES
from sim.game import (
    DIRECTIONS,
    HERO_SHIFT,
    MAX_LIFE,
    MINE,
    PLIES_PER_ROUND,
    STRIDE,
    TAVERN,
    TILE_BITS,
    WALL,
    Games,
    row_column,
)
from vindibot.base.text import printable, weight_text
from vindibot.games.ballot import Ballot, BallotEntry

#: A line of a layout. The widths of its segments add up to the width of the layout.
Line = list[Segment]

#: Colours of heroes 1..4 (red, blue, green, orange), and the backgrounds of their mines.
HERO_COLOURS = ("#e5534b", "#5294f0", "#57ab5a", "#e0823d")
_MINE_BACKGROUNDS = ("#4a1f1f", "#1c3358", "#1f3f22", "#4d2f14")
# Colours of mines on the small board: mines of heroes 1..4 (darker than the heroes), and mines without an owner.
_SMALL_MINES, _SMALL_MINE = ("#9c3a35", "#3766a8", "#3d7a40", "#9c5a2a"), "#777252"
_AIR, _WALL, _WALL_TEXT = "#161b22", "#30363d", "#444c56"
_TAVERN, _TAVERN_TEXT, _MINE, _MINE_TEXT = "#5c4425", "#ffd78a", "#2d2d26", "#d8d3a8"

_PLAIN, _DIM, _BOLD = Style(), Style(dim=True), Style(bold=True)
_GOOD, _WARN, _BAD = Style(color="green"), Style(color="yellow"), Style(color="red")
_CHOSEN = Style(color="black", bgcolor="green", bold=True)
_AGAINST = Style(color="red")
_HERO_STYLES = tuple(Style(color="#0d1117", bgcolor=colour, bold=True) for colour in HERO_COLOURS)
_HERO_TEXTS = tuple(Style(color=colour, bold=True) for colour in HERO_COLOURS)

# The smallest and the largest width of the panel beside the board.
_PANEL, _WIDEST = 50, 60
# Number of lines of the panel without votes, and of the smallest table of votes.
_PANEL_LINES, _LEAST_VOTES = 7, 4
# The smallest part of the board that is shown, in squares.
_LEAST_PART = 8
_BAR = 10
_GAP = Segment("  ")


@dataclass(frozen=True)
class Frame:
    """The content of a layout: a state (`sim.game.Game`), our hero (0..3), and the names of heroes 1..4.

    - `ballot`: our last ballot (the votes of all traits, their sums and the move).
    - `ms_left`: the number of milliseconds that were left after our decision.
    - `ending`, `message`: a word and a sentence about the end of the game.
    - `move`: a text about the last ply.
    - `voted`: the turn of the ballot. None: the ballot belongs to this state.
    - `status`: the line at the bottom, "" for no such line.
    """

    games: Games = field(repr=False)
    me: int
    names: Sequence[str] = ("", "", "", "")
    ballot: Ballot | None = None
    ms_left: float | None = None
    ending: str = ""
    message: str = ""
    move: str = ""
    voted: int | None = None
    status: str = ""

    @property
    def turn(self) -> int:
        """The protocol's turn of the state."""
        return int(self.games["turn"].item(0))

    @property
    def decided_now(self) -> bool:
        """Whether the ballot is for this state, not for an earlier one."""
        return self.ballot is not None and self.voted in (None, self.turn)


def rounds(games: Games) -> tuple[int, int]:
    """Return the number of the current round (from 1), and the number of rounds of the whole game."""
    turn, last = int(games[0]["turn"]), int(games[0]["max_turns"])
    total = max(1, -(-last // PLIES_PER_ROUND))
    return min(turn // PLIES_PER_ROUND + 1, total), total


# ---- The board ----


def _tile(tile: int) -> tuple[str, Style, str]:
    """Return the text and the style of a square without a hero, and its colour on the small board."""
    owner = tile - MINE - 1
    if tile == TAVERN:
        text, background, small = _TAVERN_TEXT, _TAVERN, _TAVERN_TEXT
    elif tile == WALL:
        text, background, small = _WALL_TEXT, _WALL, _WALL
    elif 0 <= owner < 4:
        text, background, small = HERO_COLOURS[owner], _MINE_BACKGROUNDS[owner], _SMALL_MINES[owner]
    elif tile >= MINE:
        text, background, small = _MINE_TEXT, _MINE, _SMALL_MINE
    else:
        text, background, small = _AIR, _AIR, _AIR
    return TILE_NAMES[tile], Style(color=text, bgcolor=background, bold=tile >= TAVERN), small


def _square(cell: int) -> tuple[str, Style, str]:
    """Return the text and the style of a square, and its colour on the small board. `cell` is a value of ``Game.cell``."""
    hero, tile = cell >> HERO_SHIFT, cell & TILE_BITS
    if 1 <= hero <= 4:
        return f"@{hero}", _HERO_STYLES[hero - 1], HERO_COLOURS[hero - 1]
    return _tile(min(tile, len(TILE_NAMES) - 1))


_SQUARES = [_square(cell) for cell in range(256)]


def _rows(games: Games) -> list[list[int]]:
    size = int(games[0]["size"])
    cells = games[0]["cell"].reshape(-1, STRIDE)
    rows: list[list[int]] = cells[1 : size + 1, 1 : size + 1].tolist()
    return rows


def _board(rows: list[list[int]]) -> list[Line]:
    """Return rows of the board with two characters per square."""
    lines = []
    for row in rows:
        runs = groupby((_SQUARES[cell] for cell in row), key=lambda square: square[1])
        lines.append([Segment("".join(square[0] for square in run), style) for style, run in runs])
    return lines


def _around(games: Games, hero: int, height: int, width: int) -> list[list[int]]:
    """Return the part of the board around a hero (0..3), at most `height` x `width` squares."""
    size = int(games[0]["size"])
    row, column = row_column(int(games[0]["hero"][hero]["pos"]))
    top = max(0, min(size - height, row - height // 2))
    left = max(0, min(size - width, column - width // 2))
    return [cells[left : left + width] for cells in _rows(games)[top : top + height]]


def part_of_board(games: Games, hero: int, side: int) -> list[Line]:
    """Return the part of the board around a hero (0..3), at most `side` x `side` squares, with two characters per square."""
    side = min(side, int(games[0]["size"]))
    return _board(_around(games, hero, side, side))


def _small_board(games: Games) -> list[Line]:
    """Return the board in half the width and height: one character shows two squares, one above the other."""
    rows = _rows(games)
    rows += [rows[-1]] * (len(rows) % 2)
    lines = []
    for upper, lower in zip(rows[::2], rows[1::2], strict=True):
        pairs = ((_SQUARES[above][2], _SQUARES[below][2]) for above, below in zip(upper, lower, strict=True))
        lines.append([Segment("▀" * len(list(run)), _half_style(*pair)) for pair, run in groupby(pairs)])
    return lines


@cache
def _half_style(upper: str, lower: str) -> Style:
    return Style(color=upper, bgcolor=lower)


# ---- Beside the board ----


def _fit(pieces: Iterable[tuple[str, Style]], width: int) -> Line:
    """Return segments with a total width of exactly `width`. Text that is too long is cut off."""
    line, left = [], width
    for text, style in pieces:
        segment = Segment(text, style)
        if segment.cell_length > left:
            segment = Segment(set_cell_size(text, left), style)
        line.append(segment)
        left -= segment.cell_length
    return [*line, Segment(" " * left)] if left else line


def _life(hero: Any, width: int, sign: str) -> list[tuple[str, Style]]:
    """Return the life of a hero as a number, and as a bar of `width` characters `sign`.

    For a crashed hero, the word "crashed" replaces the bar.
    """
    life = int(hero["life"])
    full = -(-life * width // MAX_LIFE)
    style = _GOOD if life > 50 else _WARN if life > 20 else _BAD
    bar = [("crashed".ljust(width), _BAD)] if hero["crashed"] else [(sign * full, style), (sign * (width - full), _DIM)]
    return [*bar, (f" {life:3d}", style)]


def _decision(frame: Frame) -> list[tuple[str, Style]]:
    """Return the move of the ballot, and the time that was left."""
    pieces: list[tuple[str, Style]] = []
    if frame.ballot is not None:
        pieces.append((DIRECTIONS[frame.ballot.direction], _BOLD))
        if frame.ballot.fallback:
            pieces.append((" (fallback)", _WARN))
    if frame.ms_left is not None and math.isfinite(frame.ms_left):
        style = _GOOD if frame.ms_left > 100 else _WARN if frame.ms_left > 0 else _BAD
        pieces.append((f"{'  ' if pieces else ''}{frame.ms_left:.0f} ms left", style))
    return pieces


def _heading(frame: Frame, width: int) -> list[Line]:
    """Return two lines. The first has the round, the turn, and the end of the game or our decision. The second has the message.

    If there is no decision of ours for this state, or no message, the last ply takes its place.
    """
    played, total = rounds(frame.games)
    time = [(f"round {played}/{total}", _BOLD), (f"  turn {frame.turn}", _DIM)]
    head: list[tuple[str, Style]] = [(printable(frame.ending), _BOLD)] if frame.ending else []
    if frame.decided_now or (frame.ballot is None and frame.ms_left is not None):
        head += [(" " * bool(head), _PLAIN), *_decision(frame)]
    message = frame.message or (frame.move if head else "")
    head = head or [(printable(frame.move), _BOLD)]
    return [_fit([*time, ("  ", _PLAIN), *head], width), _fit([(printable(message), _DIM)], width)]


def _heroes(frame: Frame, width: int, sign: str) -> list[Line]:
    """Return a table with one line per hero, under a line of headings. `sign` is the character of the life bars."""
    name_width = width - 33
    lines = [_fit([(f"    {'hero':{name_width}} {'life':{_BAR + 4}} {'gold':>6} {'mines':>6}", _DIM)], width)]
    for index, hero in enumerate(frame.games[0]["hero"]):
        name = set_cell_size(printable(frame.names[index]), name_width)
        pieces = [(f" {index + 1} ", _HERO_STYLES[index]), (" ", _PLAIN)]
        pieces += [(name, _HERO_TEXTS[index] if index == frame.me else _PLAIN), (" ", _PLAIN), *_life(hero, _BAR, sign)]
        lines.append(_fit([*pieces, (f" {int(hero['gold']):6d} {int(hero['mines']):6d}", _PLAIN)], width))
    return lines


def _amount(value: float, width: int) -> str:
    """Return a number in `width` characters. The first character is a blank.

    Examples: .75, -.30, 1.25, -1.3, 250, 12720, -13k.
    """
    texts = [f"{value:z.2f}".replace("-0.", "-.").removeprefix("0"), f"{value:z.1f}", f"{value:z.0f}"]
    texts += [f"{value / 1e3:.0f}k", f"{value / 1e6:.0f}M", "-big" if value < 0 else "big"]
    return next(text for text in texts if len(text) < width).rjust(width)


def _numbers(ballot: Ballot, values: Sequence[float], chosen: Style, column: int) -> list[tuple[str, Style]]:
    """Return a number per direction, each `column` characters wide: how much less its value is than the best one, so 0 or less.

    A direction that is no candidate has "-". The number of the chosen move has the style `chosen`.
    """
    pieces = []
    best = max((values[direction] for direction in ballot.candidates), default=0.0)
    for direction, value in enumerate(values):
        if direction not in ballot.candidates:
            pieces.append(("-".rjust(column), _DIM))
            continue
        style = chosen if direction == ballot.direction else _PLAIN if value == best else _AGAINST
        pieces.append(("0".rjust(column) if value == best else _amount(value - best, column), style))
    return pieces


def _trait(ballot: Ballot, entry: BallotEntry, label: int, column: int) -> list[tuple[str, Style]]:
    """Return a line of the table of votes: label, weight, differences of weighted votes, and milliseconds or status."""
    answered = entry.votes is not None
    weight = weight_text(entry.weight)
    weight = weight.rjust(5) if len(weight) < 5 else _amount(entry.weight, 5)
    pieces = [(set_cell_size(printable(entry.label), label), _PLAIN if answered else _DIM), (weight, _DIM)]
    pieces += _numbers(ballot, entry.weighted, _BOLD, column) if answered else [(" " * column * len(DIRECTIONS), _PLAIN)]
    if entry.status == "ok":
        return [*pieces, (f"{entry.ms:7.1f}", _DIM)]
    return [*pieces, (f"{entry.status:>7}", _WARN if entry.status == "late" else _BAD)]


def _votes(frame: Frame, width: int, height: int) -> list[Line]:
    """Return the table of weighted votes (see `_numbers`) in at most `height` lines, [] if the table does not fit.

    If the votes are those of an earlier turn, the first line says so. Otherwise the first line is empty.
    """
    ballot = frame.ballot
    entries = ballot.entries if ballot is not None else []
    if ballot is None or not entries or height < _LEAST_VOTES:
        return []
    column = 6 if width >= _PANEL + len(DIRECTIONS) else 5
    label = width - 12 - column * len(DIRECTIONS)
    shown = entries if len(entries) <= height - 3 else entries[: height - 4]
    words = "".join(f"{word:>{column}}" for word in ("stay", "N", "S", "E", "W"))
    caption = [] if frame.decided_now else [(f"votes of turn {frame.voted}: ", _DIM), *_decision(frame)]
    rows = [caption, [(f"{'trait':{label}}times{words}     ms", _DIM)]]
    rows += [_trait(ballot, entry, label, column) for entry in shown]
    if len(shown) < len(entries):
        rows.append([(f"and {len(entries) - len(shown)} more", _DIM)])
    rows.append([("sum".ljust(label + 5), _BOLD), *_numbers(ballot, ballot.sums, _CHOSEN, column)])
    return [_fit(row, width) for row in rows]


def _legend(width: int, small: bool) -> Line:
    """Return a line that names the squares of the board, or of the small board."""

    def sample(tile: int) -> tuple[str, Style]:
        text, style, colour = _tile(tile)
        return ("  ", Style(bgcolor=colour)) if small else (text, style)

    mines = [*(sample(MINE + hero) for hero in range(1, 5)), (" mines of heroes", _DIM)]
    row = [sample(TAVERN), (" tavern  ", _DIM), sample(MINE), (" free mine  ", _DIM), *mines]
    return _fit(row, width)


# ---- The layout ----


def layout(frame: Frame, width: int, height: int, *, colour: bool = True, ascii_only: bool = False) -> list[Line] | None:
    """Return the lines for a terminal of `width` columns and `height` lines, None if the terminal is too small.

    The panel beside the board shows the heroes and the votes. If a line is left, it also names the squares of the board. The
    board is the first of these that fits:

    - with two characters per square;
    - in a terminal with colours: in half the size;
    - in a terminal without colours: the part around our hero.
    """
    size = int(frame.games[0]["size"])
    colour = colour and not ascii_only
    height -= bool(frame.status)
    part, small = (width - 2 - _PANEL) // 2, False
    if size <= min(part, height):
        board = _board(_rows(frame.games))
    elif colour and size <= min(2 * part, 2 * height):
        board, small = _small_board(frame.games), True
    elif not colour and min(part, height) >= _LEAST_PART:
        board = _board(_around(frame.games, frame.me, min(size, height), min(size, part)))
    else:
        return None
    if height < _PANEL_LINES:
        return None
    board_width = Segment.get_line_length(board[0])
    panel_width = min(_WIDEST, width - board_width - 2)
    panel = [*_heading(frame, panel_width), *_heroes(frame, panel_width, "=" if ascii_only else "━")]
    votes = _votes(frame, panel_width, height - len(panel))
    if len(panel) + len(votes) < height:
        panel.append(_legend(panel_width, small))
    panel += votes
    blank, empty = _fit([], board_width), _fit([], panel_width)
    lines = [[*(left or blank), _GAP, *(right or empty)] for left, right in zip_longest(board, panel)]
    status = printable(frame.status)
    return [*lines, _fit([(status, _DIM)], min(width, cell_len(status)))] if status else lines
