"""The terminal that shows the output of commands."""

from __future__ import annotations

import os
import re
from collections.abc import Collection, Iterator
from typing import Any

from rich.console import Console, ConsoleOptions, RenderableType
from rich.segment import Segment
from rich.table import Table
from rich.text import Text

from vindibot.base.text import printable_lines

_SIZE = re.compile(r"[1-9][0-9]{0,4}", re.ASCII)


class Terminal(Console):
    """A console of rich that escapes control characters in texts, so that they have no effect on the terminal.

    The console does not escape line breaks and tabs. So code that prints a name or another foreign text on one line must apply
    `printable` to the text first. A value of ``COLUMNS`` or ``LINES`` that is no size is ignored.
    """

    def __init__(self, **options: Any) -> None:
        sizes = ("COLUMNS", "LINES")
        environ = {name: value for name, value in os.environ.items() if name not in sizes or _SIZE.fullmatch(value)}
        super().__init__(_environ=environ, **options)

    def render(self, renderable: RenderableType, options: ConsoleOptions | None = None) -> Iterator[Segment]:
        """Yield the segments of a renderable (see rich). Their texts are printable, except for line breaks and tabs."""
        for segment in super().render(renderable, options):
            if segment.control or segment.text.isprintable() or segment.text == "\n":
                yield segment
            else:
                yield Segment(printable_lines(segment.text), segment.style)


def terminal(**options: Any) -> Terminal:
    """Return a console on standard output. `options` are options of rich's `Console`. Output to a file or a pipe has no
    styles."""
    return Terminal(highlight=False, emoji=False, **options)


def say(console: Console, text: str, style: str = "") -> None:
    """Print a text unchanged: do not interpret markup, do not highlight, and do not break lines at the terminal's width."""
    console.print(text, style=style, markup=False, highlight=False, soft_wrap=True)


def plain_table(*heads: str, left: Collection[str] = (), title: str = "") -> Table:
    """Return an empty table in the common style of our commands: no lines, one column per heading in `heads`, numbers aligned
    right.

    Columns whose headings are in `left` have texts, aligned left. If the terminal is too narrow, long cells get more lines.
    """
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), title=Text(title) if title else None, title_justify="left")
    for head in heads:
        table.add_column(head, justify="left" if head in left else "right", overflow="fold")
    return table
