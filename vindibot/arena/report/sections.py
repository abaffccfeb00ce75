"""Reports in sections: one HTML file without scripts, with tables and drawings in SVG. Tuning and learning write them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from vindibot.base.pages import render
from vindibot.base.writing import Output


@dataclass(frozen=True)
class ReportPart:
    """A section of a report: paragraphs, a table with `heads` and `rows`, and drawings (SVG)."""

    title: str
    lines: Sequence[str] = ()
    heads: Sequence[str] = ()
    rows: Sequence[Sequence[str]] = ()
    drawings: Sequence[str] = ()


def write_sections(path: Path, command: str, title: str, parts: Sequence[ReportPart]) -> None:
    """Write the report of a command. Raises `UsageError` if `path` is a file that is no report of this command."""
    mark = f'<meta name="generator" content="{command}">'
    page = render("arena.report/sections.html", title=title, mark=mark, parts=parts, refresh=0)
    Output(path, mark, command, "move it away").write(page)
