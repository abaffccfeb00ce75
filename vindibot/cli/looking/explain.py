"""``vindibot explain``: explain a move of a recorded game."""

from __future__ import annotations

from pathlib import Path

import click

from vindibot.cli.measuring.parameters import RECORDING, WORDS, chosen_turn, turn_options


@click.command("explain", short_help="Explain a move of a recorded game.")
@click.argument("file", type=RECORDING)
@turn_options
@click.option(
    "--why-not",
    type=click.Choice(WORDS, case_sensitive=False),
    help="also show the traits that voted against this direction, and by how much the direction lost",
)
@click.option("--board/--no-board", default=False, help="show the board as well")
def explain_command(
    file: Path, turn: int | None, round_number: int | None, worst: int | None, why_not: str | None, board: bool
) -> None:
    """Explain a move of a recorded game.

    FILE is a recording of `vindibot play`, or "last" for the newest recording in recordings/. The table shows the votes of each
    trait, multiplied by the trait's weight, and the sums of these votes. A "-" marks a direction without an effect. Below the
    table, the command shows the lead of the chosen move and the faults of this turn. For each search it shows the depth and the
    expected moves (a letter per ply, our move first).

    \b
    Examples:
      vindibot explain last --turn 212
      vindibot explain last --turn 212 --why-not north
      vindibot explain last --round 54
      vindibot explain last --worst                    after  vindibot review last
    """
    from vindibot.base.errors import UsageError
    from vindibot.base.output.console import terminal
    from vindibot.devtools.explanation import explain
    from vindibot.games.files.game_files import kind_of
    from vindibot.games.files.recording import read_recording

    if kind_of(file) != "recording":
        raise UsageError(f"{file}: this file has no votes; a recording of `vindibot play` is needed")
    recording = read_recording(file)
    own = chosen_turn(recording, turn, round_number, worst)
    explain(terminal(), recording, own, None if why_not is None else WORDS.index(why_not), board=board)
