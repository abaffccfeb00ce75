"""The picture of a game in a terminal: the board in colours, the heroes, and what our traits voted.

`layout` makes lines of styled text that fit a given terminal, `picture` an SVG of them for a page::

    python -m vindibot.terminal.board RECORDING --turn 212 > game.svg

Everything is put together from prepared pieces instead of rich's tables, because it is drawn many times a second beside a
bot that has better things to do. Names come from other people: they are shown as text, whatever they contain.
"""

from __future__ import annotations

import argparse
import io
import math
import re
import sys
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from typing import Any

from rich.cells import set_cell_size
from rich.console import Console, ConsoleOptions
from rich.measure import Measurement
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
)
from vindibot.base import VindibotError, printable, printable_lines
from vindibot.games import Ballot, BallotEntry, read_recording

#: A line of the picture; the widths of its segments add up to the width it was made for.
Line = list[Segment]

#: Heroes 1..4 (red, blue, green, orange), and the ground that their mines stand on.
HERO_COLOURS = ("#e5534b", "#5294f0", "#57ab5a", "#e0823d")
_MINE_GROUNDS = ("#4a1f1f", "#1c3358", "#1f3f22", "#4d2f14")
# Mines as seen from afar: of heroes 1..4, who are brighter themselves, and of nobody.
_MINES_AFAR, _MINE_AFAR = ("#9c3a35", "#3766a8", "#3d7a40", "#9c5a2a"), "#777252"
_GROUND, _WALL, _WALL_TEXT = "#161b22", "#30363d", "#444c56"
_TAVERN, _TAVERN_TEXT, _MINE, _MINE_TEXT = "#5c4425", "#ffd78a", "#2d2d26", "#d8d3a8"

_PLAIN, _DIM, _BOLD = Style(), Style(dim=True), Style(bold=True)
_GOOD, _WARN, _BAD = Style(color="green"), Style(color="yellow"), Style(color="red")
_CHOSEN = Style(color="black", bgcolor="green", bold=True)
_AGAINST = Style(color="red")
_HERO_STYLES = tuple(Style(color="#0d1117", bgcolor=colour, bold=True) for colour in HERO_COLOURS)
_HERO_TEXTS = tuple(Style(color=colour, bold=True) for colour in HERO_COLOURS)

# Widths of the panel beside the board: one line for a hero (it grows with the terminal), or four short ones.
_PANEL, _WIDEST, _SLIM = 50, 60, 22
_BAR = 10
_GAP = Segment("  ")


@dataclass(frozen=True)
class Shot:
    """What a picture shows: a `sim.game.Game`, our hero 0..3, the names of heroes 1..4, the last ballot,
    the milliseconds that were left when we decided, and how the game has ended, if it has, in a word and in a sentence."""

    games: Games = field(repr=False)
    me: int
    names: Sequence[str] = ("", "", "", "")
    ballot: Ballot | None = None
    ms_left: float | None = None
    ending: str = ""
    message: str = ""


class Picture:
    """Lines as something that rich can print."""

    def __init__(self, lines: Sequence[Line]) -> None:
        self.lines = lines

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> Iterator[Segment]:
        newline = Segment.line()
        for line in self.lines:
            yield from line
            yield newline

    def __rich_measure__(self, console: Console, options: ConsoleOptions) -> Measurement:
        width = max((Segment.get_line_length(line) for line in self.lines), default=0)
        return Measurement(width, width)


def rounds(games: Games) -> tuple[int, int]:
    """The round that is being played, from 1, and how many there are."""
    turn, last = int(games[0]["turn"]), int(games[0]["max_turns"])
    total = max(1, -(-last // PLIES_PER_ROUND))
    return min(turn // PLIES_PER_ROUND + 1, total), total


# ---- The board ----


def _tile(tile: int) -> tuple[str, Style, str]:
    """Text and style of a square without a hero, and its colour as seen from afar."""
    owner = tile - MINE - 1
    if tile == TAVERN:
        text, tables = _TAVERN_TEXT, _TAVERN
    elif tile == WALL:
        text, tables = _WALL_TEXT, _WALL
    elif 0 <= owner < 4:
        text, tables = HERO_COLOURS[owner], _MINE_GROUNDS[owner]
    elif tile >= MINE:
        text, tables = _MINE_TEXT, _MINE
    else:
        text, tables = _GROUND, _GROUND
    afar = _MINES_AFAR[owner] if 0 <= owner < 4 else _MINE_AFAR if tile >= MINE else text if tile == TAVERN else tables
    return TILE_NAMES[tile], Style(color=text, bgcolor=tables, bold=tile >= TAVERN), afar


def _square(cell: int) -> tuple[str, Style, str]:
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


def _board(games: Games) -> list[Line]:
    """The board, two characters for each square."""
    lines = []
    for row in _rows(games):
        runs = groupby((_SQUARES[cell] for cell in row), key=lambda square: square[1])
        lines.append([Segment("".join(square[0] for square in run), style) for style, run in runs])
    return lines


_HALVES: dict[tuple[str, str], Style] = {}


def _small_board(games: Games) -> list[Line]:
    """The board in half the width and height: two squares, one above the other, are the halves of one character."""
    rows = _rows(games)
    rows += [rows[-1]] * (len(rows) % 2)
    lines = []
    for upper, lower in zip(rows[::2], rows[1::2], strict=True):
        pairs = ((_SQUARES[above][2], _SQUARES[below][2]) for above, below in zip(upper, lower, strict=True))
        line = []
        for pair, run in groupby(pairs):
            if pair not in _HALVES:
                _HALVES[pair] = Style(color=pair[0], bgcolor=pair[1])
            line.append(Segment("▀" * len(list(run)), _HALVES[pair]))
        lines.append(line)
    return lines


# ---- Beside it ----


def _fit(pieces: Iterable[tuple[str, Style]], width: int) -> Line:
    """Segments that are exactly `width` wide together: what is too long is cut off."""
    line, left = [], width
    for text, style in pieces:
        segment = Segment(text, style)
        if segment.cell_length > left:
            segment = Segment(set_cell_size(text, left), style)
        line.append(segment)
        left -= segment.cell_length
    return [*line, Segment(" " * left)] if left else line


def _life(hero: Any, bar: int, signs: str) -> list[tuple[str, Style]]:
    """Life as a bar and as a number; a hero who has crashed has the word instead of the bar."""
    life = int(hero["life"])
    full = -(-life * bar // MAX_LIFE)
    style = _GOOD if life > 50 else _WARN if life > 20 else _BAD
    number = (f" {life:3d}", style)
    return (
        [("crashed".ljust(bar), _BAD), number]
        if hero["crashed"]
        else [(signs * full, style), (signs * (bar - full), _DIM), number]
    )


def _heading(shot: Shot, width: int) -> list[Line]:
    played, total = rounds(shot.games)
    where = [(f"round {played}/{total}", _BOLD), (f"  turn {int(shot.games[0]['turn'])}", _DIM)]
    how: list[tuple[str, Style]] = [(printable(shot.ending), _BOLD)] if shot.ending else []
    if shot.ballot is not None:
        how.append((DIRECTIONS[shot.ballot.direction], _BOLD))
        if shot.ballot.fallback:
            how.append((" (fallback)", _WARN))
    if shot.ms_left is not None and math.isfinite(shot.ms_left):
        style = _GOOD if shot.ms_left > 100 else _WARN if shot.ms_left > 0 else _BAD
        how.append((f"{'  ' if how else ''}{shot.ms_left:.0f} ms left", style))
    if width >= _PANEL:
        return [_fit([*where, ("  ", _PLAIN), *how], width), _fit([(printable(shot.message), _DIM)], width)]
    return [_fit(where[:1], width), _fit(how, width)]


def _heroes(shot: Shot, width: int, signs: str) -> list[Line]:
    """A table, one line for each hero."""
    room = width - 33
    lines = [_fit([(f"    {'hero':{room}} {'life':{_BAR + 4}} {'gold':>6} {'mines':>6}", _DIM)], width)]
    for index, hero in enumerate(shot.games[0]["hero"]):
        name = set_cell_size(printable(shot.names[index]), room)
        pieces = [
            (f" {index + 1} ", _HERO_STYLES[index]),
            (" ", _PLAIN),
            (name, _HERO_TEXTS[index] if index == shot.me else _PLAIN),
        ]
        pieces += [(" ", _PLAIN), *_life(hero, _BAR, signs), (f" {int(hero['gold']):6d} {int(hero['mines']):6d}", _PLAIN)]
        lines.append(_fit(pieces, width))
    return lines


def _slim_heroes(shot: Shot, signs: str) -> list[Line]:
    """Three short lines for each hero."""
    lines = []
    for index, hero in enumerate(shot.games[0]["hero"]):
        style = _HERO_TEXTS[index] if index == shot.me else _BOLD
        lines.append(_fit([], _SLIM))
        lines.append(_fit([(f" {index + 1} ", _HERO_STYLES[index]), (f" {printable(shot.names[index])}", style)], _SLIM))
        lines.append(_fit(_life(hero, _SLIM - 4, signs), _SLIM))
        lines.append(_fit([(f"gold {int(hero['gold'])}  mines {int(hero['mines'])}", _PLAIN)], _SLIM))
    return lines


def _amount(value: float, width: int) -> str:
    """A number in `width` characters, the first of them a blank: .75, -.30, 1.25, -1.3, 250, 12720, -13k."""
    texts = [f"{value:.2f}".replace("-0.", "-.").removeprefix("0"), f"{value:.1f}", f"{value:.0f}"]
    texts += [f"{value / 1e3:.0f}k", f"{value / 1e6:.0f}M", "-big" if value < 0 else "big"]
    return next(text for text in texts if len(text) < width).rjust(width)


def _numbers(ballot: Ballot, values: Sequence[float], chosen: Style, column: int) -> list[tuple[str, Style]]:
    pieces = []
    for direction, value in enumerate(values):
        style = chosen if direction == ballot.direction else _AGAINST if value < 0 else _PLAIN
        if direction not in ballot.candidates:
            pieces.append(("-".rjust(column), _DIM))
        elif not value:
            pieces.append(("0".rjust(column), _DIM if direction != ballot.direction else chosen + _DIM))
        else:
            pieces.append((_amount(value, column), style))
    return pieces


def _trait(ballot: Ballot, entry: BallotEntry, label: int, column: int) -> list[tuple[str, Style]]:
    """A line of the table of votes: label, weight, weighted votes, and milliseconds or what went wrong."""
    answered = entry.votes is not None
    pieces = [(set_cell_size(printable(entry.label), label), _PLAIN if answered else _DIM), (_amount(entry.weight, 5), _DIM)]
    pieces += _numbers(ballot, entry.weighted, _BOLD, column) if answered else [(" " * column * len(DIRECTIONS), _PLAIN)]
    if entry.status == "ok":
        return [*pieces, (f"{entry.ms:7.1f}", _DIM)]
    return [*pieces, (f"{entry.status:>7}", _WARN if entry.status == "late" else _BAD)]


def _votes(ballot: Ballot | None, width: int, height: int) -> list[Line]:
    """The table of votes in at most `height` lines, [] if there is no room for any: who said what, times the weight."""
    entries = ballot.entries if ballot is not None else []
    if ballot is None or not entries or height < 4 or width < _PANEL:
        return []
    column = 6 if width >= _PANEL + len(DIRECTIONS) else 5
    label = width - 12 - column * len(DIRECTIONS)
    shown = entries if len(entries) <= height - 3 else entries[: height - 4]
    words = "".join(f"{word:>{column}}" for word in ("stay", "N", "S", "E", "W"))
    rows = [[], [(f"{'trait':{label}}times{words}{'ms':>7}", _DIM)]]
    rows += [_trait(ballot, entry, label, column) for entry in shown]
    if len(shown) < len(entries):
        rows.append([(f"and {len(entries) - len(shown)} more", _DIM)])
    rows.append([("sum".ljust(label + 5), _BOLD), *_numbers(ballot, ballot.sums, _CHOSEN, column)])
    return [_fit(row, width) for row in rows]


# ---- Together ----


def layout(shot: Shot, width: int, height: int, *, colour: bool = True, ascii_only: bool = False) -> list[Line] | None:
    """The picture for a terminal of `width` columns and `height` lines; None if it is too small for any.

    The board has two characters a square with the panel beside it, or a slim panel and the votes below, or, in a small
    terminal with colours, half the size.
    """
    size = int(shot.games[0]["size"])
    sign = "=" if ascii_only else "━"
    if size <= height and 2 * size + 2 + _PANEL <= width:
        return _wide(_board(shot.games), 2 * size, shot, width, height, sign)
    if size <= height and 2 * size + 2 + _SLIM <= width:
        slim = [*_heading(shot, _SLIM), *_slim_heroes(shot, sign)]
        if len(slim) <= height:
            lines = _beside(_board(shot.games), 2 * size, slim, _SLIM)
            return lines + _votes(shot.ballot, min(width, _WIDEST), height - len(lines))
    if colour and not ascii_only and (size + 1) // 2 <= height and size + 2 + _PANEL <= width:
        return _wide(_small_board(shot.games), size, shot, width, height, sign)
    return None


def _wide(board: list[Line], board_width: int, shot: Shot, width: int, height: int, sign: str) -> list[Line] | None:
    room = min(_WIDEST, width - board_width - 2)
    panel = [*_heading(shot, room), *_heroes(shot, room, sign)]
    panel += _votes(shot.ballot, room, height - len(panel))
    return _beside(board, board_width, panel, room) if len(panel) <= height else None


def _beside(board: list[Line], wide: int, panel: list[Line], panel_width: int) -> list[Line]:
    """Two columns; the shorter one is filled up with blanks."""
    lines = max(len(board), len(panel))
    left = board + [[Segment(" " * wide)]] * (lines - len(board))
    right = panel + [_fit([], panel_width)] * (lines - len(panel))
    return [[*one, _GAP, *other] for one, other in zip(left, right, strict=True)]


def picture(
    games: Games,
    names: Sequence[str],
    *,
    me: int = 0,
    ballot: Ballot | None = None,
    ms_left: float | None = None,
    title: str = "vindibot",
    width: int = 120,
) -> str:
    """An SVG of the game as a terminal of `width` columns shows it. It refers to no other host.

    `names` are those of heroes 1..4, `me` is our hero 0..3. Raises ValueError if the width is too small for the board.
    """
    lines = layout(Shot(games, me, names, ballot, ms_left), width, 200)
    if lines is None:
        raise ValueError(f"a board of {int(games[0]['size'])} rows does not fit into {width} columns")
    shown = Picture(lines)
    fitting = max(Segment.get_line_length(line) for line in lines)
    console = Console(record=True, width=fitting, file=io.StringIO(), force_terminal=True, color_system="truecolor")
    console.print(shown)
    svg = console.export_svg(title=printable(title), unique_id="vindibot")
    # rich's template asks a host of others for a font; the viewer's own monospaced one will do.
    return re.sub(r"\s*@font-face\s*\{.*?\}", "", svg, flags=re.DOTALL)


def main(arguments: Sequence[str] | None = None) -> int:
    """``python -m vindibot.terminal.board RECORDING --turn N [--width COLUMNS]``: the SVG of a recorded turn on standard
    output."""
    parser = argparse.ArgumentParser(prog="python -m vindibot.terminal.board", description="An SVG of a recorded turn.")
    parser.add_argument("recording")
    parser.add_argument("--turn", type=int, required=True, help="the wire's number of a turn of the recording's hero")
    parser.add_argument("--width", type=int, default=120, help="columns of the terminal that is shown")
    options = parser.parse_args(arguments)
    try:
        recording = read_recording(options.recording)
        own = recording.turn(options.turn)
    except VindibotError as error:
        print(printable_lines(error.message), file=sys.stderr)
        return error.exit_code
    ballot = own.ballot
    title = f"vindibot: {recording.header.bot}"
    args = {"me": recording.me, "ballot": ballot, "ms_left": ballot.margin_ms, "title": title, "width": options.width}
    print(picture(own.games, recording.names, **args))
    return 0


if __name__ == "__main__":
    sys.exit(main())
