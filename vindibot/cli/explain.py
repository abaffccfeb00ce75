"""``vindibot explain``."""

from __future__ import annotations

from pathlib import Path

import click

from vindibot.cli.parameters import PATH, TURN, WORDS


def _explain(file: Path, turn: int, why_not: str | None, board: bool) -> None:
    from vindibot.base import UsageError, terminal
    from vindibot.devtools import explain
    from vindibot.games import kind_of, read_recording

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
    short_help="Say why a hero made its move on a turn.",
    help="""Say why a hero made its move on a turn.

FILE is a recording of `vindibot play`. Each trait's votes are shown times its weight, so that they add up; "-" is a
direction that would have had no effect. Below the table: by how much the order won, how deep a search went, the
moves it expects (a letter for each ply, ours first), and what went wrong.

\b
Examples:
  vindibot explain recordings/GAME.jsonl --turn 212
  vindibot explain recordings/GAME.jsonl --turn 212 --why-not north
""",
)
