"""``vindibot positions``: suites of positions for the arena."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from vindibot.cli.completion import complete_bots
from vindibot.cli.options import PATH, number_option


@click.group("positions", short_help="Make suites of positions, in which games of the arena begin.")
def positions_command() -> None:
    """Make suites of positions, in which games of the arena begin (vindibot arena --positions)."""


@positions_command.command("make", short_help="Choose balanced positions from recorded games.")
@click.argument("output", metavar="OUT", type=PATH)
@click.argument("files", metavar="GAMES...", nargs=-1, required=True, type=PATH)
@number_option("--count", default=80, help="number of positions")
@click.option(
    "--margin", type=click.FloatRange(min=0), default=60, metavar="GOLD", help="largest difference of two heroes in expected gold"
)
@number_option("--rounds", default=80, help="length of the new games, in rounds")
@number_option("--nodes", least=1000, default=10_000, help="plies played out per position")
@number_option("--most", help="use only the first N games of each file")
@number_option("--seed", least=0, default=0, help="seed of the choice")
@click.option(
    "--reviewer",
    default="versions/strong-1",
    metavar="BOT",
    shell_complete=complete_bots,
    help="the bot whose playouts value the positions",
)
def make(output: Path, files: tuple[Path, ...], **options: Any) -> None:
    """Choose balanced positions from recorded games.

    GAMES are files of game records, or results of the arena. In a position, all heroes have the same gold: the least gold of a
    hero in the game. A position is balanced if the expected gold of no two heroes differs by more than --margin, by playouts of
    --rounds rounds. All thirds of games and all sizes of maps get about equally many positions. Each third of a game gives at
    most one position. The positions are written to OUT.jsonl (for development) and to OUT-end.jsonl (for the last measurement).
    No game is in both files.

    \b
    Examples:
      vindibot positions make mysuite results/cup.jsonl
      vindibot arena --match mybot seed --positions mysuite.jsonl --rounds 80
    """
    from vindibot.base.console import terminal
    from vindibot.review.suite import make_suite

    make_suite(terminal(), output, files, **options)
