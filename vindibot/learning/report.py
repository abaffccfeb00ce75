"""The progress of a run of self-play: rows for the terminal, and the learning curve as an HTML page."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from vindibot.arena.report.sections import ReportPart, write_sections
from vindibot.base.pages import Curve, lines
from vindibot.base.text import counted
from vindibot.learning.trainer import SelfplaySettings

#: The numbers of a row that have a drawing, with their names below it.
_DRAWINGS = (
    ("reward", "mean reward per move"),
    ("entropy", "entropy of the moves"),
    ("value_error", "error of the values"),
    ("deaths", "deaths per 300 moves"),
)
#: The unit of the numbers of moves in the drawings.
_MOVES = "million moves of the net"


@dataclass
class Row:
    """A row of the learning curve: the number of decisions, the seconds of training, and the means since the last row.

    `match` says how a match ended that was played at this moment, for example against the bot seed.
    """

    decisions: int
    seconds: float
    rate: float
    means: dict[str, float] = field(default_factory=dict)
    match: dict[str, list[float]] = field(default_factory=dict)


#: The columns of the table in the terminal: the head, the width, and the cell of a row.
_COLUMNS: tuple[tuple[str, int, Callable[[Row], str]], ...] = (
    ("moves", 7, lambda row: f"{row.decisions / 1e6:.2f}M"),
    ("a second", 8, lambda row: f"{row.rate:,.0f}"),
    ("games", 6, lambda row: f"{row.means['games']:,.0f}"),
    ("reward", 7, lambda row: f"{row.means['reward']:+.4f}"),
    ("entropy", 7, lambda row: f"{row.means['entropy']:.3f}"),
    ("error", 5, lambda row: f"{row.means['value_error']:.3f}"),
    ("deaths", 6, lambda row: f"{row.means['deaths']:.2f}"),
    ("beats guests", 12, lambda row: f"{row.means['won']:.0%}"),
)


def head_line() -> str:
    """Return the heads of the table in the terminal."""
    return "  ".join(["done", *(head.rjust(width) for head, width, _ in _COLUMNS)])


def row_line(row: Row, done: float) -> str:
    """Return a row of the table in the terminal. `done` is the share of the run that is done."""
    return "  ".join([f"{done:.0%}".rjust(4), *(cell(row).rjust(width) for _, width, cell in _COLUMNS)])


def match_texts(row: Row) -> dict[str, list[str]]:
    """Return the games won in the matches that were played at this row, and their intervals, by the name of the rival."""
    return {name: [f"{won:.0%}", f"{max(low, 0):.0%} .. {min(high, 1):.0%}"] for name, (won, low, high) in row.match.items()}


def write_report(path: Path, settings: SelfplaySettings, rows: Sequence[Row], decisions: int) -> None:
    """Write the page with the learning curve of a run in the folder of `path`. The net has made `decisions` moves."""
    names = sorted({name for row in rows for name in row.match})

    def curve(name: str, colour: int, values: Mapping[float, float]) -> Curve:
        return Curve(name, colour, list(values.values()), [moves / 1e6 for moves in values])

    won = [
        curve(name, number, {row.decisions: row.match[name][0] for row in rows if name in row.match})
        for number, name in enumerate(names)
    ]
    parts = [
        ReportPart(
            "Run",
            [
                f"{decisions:,} moves of the net in {rows[-1].seconds / 60 if rows else 0:.1f} minutes of training.",
                f"{counted(settings.threads, 'thread')}, {settings.hidden} hidden units, seed {settings.seed}.",
                ", ".join(f"{name} {value}" for name, value in settings.model_dump().items()),
            ],
        ),
        ReportPart(
            "Learning curve",
            ["One point per row of the terminal, about every ten seconds of training."],
            drawings=[
                lines([curve("", number, {row.decisions: row.means[name] for row in rows})], title, _MOVES, title)
                for number, (name, title) in enumerate(_DRAWINGS)
                if rows
            ],
        ),
        ReportPart(
            "Matches",
            [] if names else ["No match has been played yet."],
            ["moves", "minutes", "against three of", "games won", "95 %"],
            [
                [f"{row.decisions:,}", f"{row.seconds / 60:.1f}", name, *texts]
                for row in rows
                for name, texts in match_texts(row).items()
            ],
            [lines(won, "games won", _MOVES, "share of games won")] if names else [],
        ),
    ]
    write_sections(path, "vindibot learn", f"Self-play in {path.resolve().parent.name}", parts)
