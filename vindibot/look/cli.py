"""``vindibot explain``: the command for the votes of a recorded turn."""

from __future__ import annotations

from pathlib import Path

import click

PATH = click.Path(path_type=Path)
#: Words for the directions 0..4 on the command line.
WORDS = ("stay", "north", "south", "east", "west")
TURN = "the wire's number of one of the hero's turns (four to a round)"


def _explain(file: Path, turn: int, why_not: str | None, board: bool) -> None:
    from vindibot.console import terminal
    from vindibot.errors import UsageError
    from vindibot.gamefile import kind_of
    from vindibot.look.explanation import explain
    from vindibot.recording import read_recording

    if kind_of(file) != "recording":
        raise UsageError(f"{file}: nobody's votes are in here; a recording is needed, as `vindibot play` writes them")
    recording = read_recording(file)
    own = recording.turn(turn)
    explain(terminal(), recording, own, None if why_not is None else WORDS.index(why_not), board=board)


explain_command = click.Command(
    "explain",
    callback=_explain,
    params=[
        click.Argument(["file"], type=PATH),
        click.Option(["--turn"], type=int, required=True, metavar="N", help=TURN),
        click.Option(
            ["--why-not"],
            type=click.Choice(WORDS, case_sensitive=False),
            help="say who voted against this direction, and by how much it lost",
        ),
        click.Option(["--board/--no-board"], default=False, help="show the board as well  [default: off]"),
    ],
    short_help="Say why a hero did what he did on a turn.",
    help="""Say why a hero did what he did on a turn.

FILE is a recording of `vindibot play`. Each trait's votes are shown times its weight, so that they add up; "-" is a
direction that would have had no effect. Below the table: by how much the order won, how deep a search went, the
moves it expects (a letter for each ply, ours first), and what went wrong.

\b
Examples:
  vindibot explain recordings/GAME.jsonl --turn 212
  vindibot explain recordings/GAME.jsonl --turn 212 --why-not north
""",
)
