"""``vindibot explain``: explain a move of a recorded game."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from vindibot.cli.options import RECORDING, turn_options


@click.command("explain", short_help="Explain a move of a recorded game.")
@click.argument("file", type=RECORDING)
@turn_options
@click.option(
    "--why-not",
    type=click.Choice(("stay", "north", "south", "east", "west"), case_sensitive=False),
    help="also show the traits that voted against this direction, and by how much the direction lost",
)
@click.option("--board/--no-board", default=False, help="show the board as well")
def explain_command(file: Path, **options: Any) -> None:
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
    from vindibot.base.console import terminal
    from vindibot.devtools.explanation import explain

    explain(terminal(), file, **options)
