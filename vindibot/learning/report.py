"""The progress of a run of self-play: rows for the terminal, and the learning curve as an HTML page."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from vindibot.arena.report.sections import ReportPart, write_sections
from vindibot.base.pages import Curve, lines
from vindibot.base.text import counted
from vindibot.learning.trainer import SelfplaySettings

#: The heads of the columns in the terminal, with their widths.
HEADS = (
    ("done", 4),
    ("moves", 7),
    ("a second", 8),
    ("games", 6),
    ("reward", 7),
    ("entropy", 7),
    ("error", 5),
    ("deaths", 6),
    ("beats guests", 12),
)
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


def cells(row: Row, done: float) -> list[str]:
    """Return the cells of a row in the terminal, in the order of `HEADS`. `done` is the share of the run that is done."""
    means = row.means
    return [
        f"{done:.0%}",
        f"{row.decisions / 1e6:.2f}M",
        f"{row.rate:,.0f}",
        f"{means['games']:,.0f}",
        f"{means['reward']:+.4f}",
        f"{means['entropy']:.3f}",
        f"{means['value_error']:.3f}",
        f"{means['deaths']:.2f}",
        f"{means['won']:.0%}",
    ]


def matches_text(row: Row) -> list[str]:
    """Return a line for each match that was played at this row."""
    return [
        f"alone against three of {name}: {won:.0%} of games won ({max(low, 0):.0%} .. {min(high, 1):.0%})"
        for name, (won, low, high) in row.match.items()
    ]


def write_report(path: Path, settings: SelfplaySettings, rows: Sequence[Row], decisions: int) -> None:
    """Write the page with the learning curve of a run in the folder of `path`. The net has made `decisions` moves."""
    names = sorted({name for row in rows for name in row.match})
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
                lines([Curve("", number, [row.means[name] for row in rows], _millions(rows))], title, _MOVES, title)
                for number, (name, title) in enumerate(_DRAWINGS)
                if rows
            ],
        ),
        ReportPart(
            "Matches",
            [] if names else ["No match has been played yet."],
            ["moves", "minutes", "against three of", "games won", "95 %"],
            [
                [f"{row.decisions:,}", f"{row.seconds / 60:.1f}", name, f"{won:.0%}", f"{max(low, 0):.0%} .. {min(high, 1):.0%}"]
                for row in rows
                for name, (won, low, high) in row.match.items()
            ],
            [lines([_won(rows, name, number) for number, name in enumerate(names)], "games won", _MOVES, "share of games won")]
            if names
            else [],
        ),
    ]
    write_sections(path, "vindibot learn", f"Self-play in {path.resolve().parent.name}", parts)


def _millions(rows: Sequence[Row]) -> list[float]:
    """Return the moves of the net up to each row, in millions."""
    return [row.decisions / 1e6 for row in rows]


def _won(rows: Sequence[Row], name: str, colour: int) -> Curve:
    """Return the curve of the games won in the matches against three copies of `name`."""
    played = [row for row in rows if name in row.match]
    return Curve(name, colour, [row.match[name][0] for row in played], _millions(played))
