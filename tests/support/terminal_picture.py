"""Print a terminal as SVG: ``python -m tests.support.terminal_picture RECORDING TURN`` draws docs/game.svg of the README."""

from __future__ import annotations

import io
import re
import sys

from rich.console import Console
from rich.segment import Segment, SegmentLines

from sim.game import PLIES_PER_ROUND
from vindibot.base.text import printable
from vindibot.games.files.recording import read_recording
from vindibot.session.pacing import GamePace
from vindibot.terminal.board import Frame, layout


def svg_of(frame: Frame, title: str, width: int = 120) -> str:
    """Return a frame as a terminal of `width` columns shows it, in SVG. It refers to no other host."""
    lines = layout(frame, width, 200)
    assert lines is not None
    columns = max(Segment.get_line_length(line) for line in lines)
    console = Console(record=True, width=columns, file=io.StringIO(), force_terminal=True, color_system="truecolor")
    console.print(SegmentLines(lines, new_lines=True))
    svg = console.export_svg(title=printable(title), unique_id="vindibot")
    # rich's template loads a font from another host, and names the host of its maker.
    return re.sub(r"\s*@font-face\s*\{.*?\}|\s*<!--.*?-->", "", svg, flags=re.DOTALL)


def svg_of_turn(path: str, turn: int) -> str:
    """Return a recorded turn in SVG. `turn` is the wire's number of a turn of the recording's hero."""
    recording = read_recording(path)
    own = recording.turn(turn)
    pace = GamePace(-(-int(own.games["max_turns"].item(0)) // PLIES_PER_ROUND))
    pace.begin()
    ballot = own.ballot
    frame = Frame(own.games, recording.me, recording.names, ballot, ballot.margin_ms, status=pace.status)
    return svg_of(frame, f"vindibot: {recording.header.bot}")


if __name__ == "__main__":
    print(svg_of_turn(sys.argv[1], int(sys.argv[2])))
