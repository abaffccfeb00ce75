"""``vindibot diff``: show where two bots move differently."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from vindibot.cli.completion import complete_bots
from vindibot.cli.options import PATH, RECORDING, heroes_option, number_option


@click.command("diff", short_help="Show where two bots move differently, and what this is worth.")
@click.argument("first", metavar="A", shell_complete=complete_bots)
@click.argument("second", metavar="B", shell_complete=complete_bots)
@click.argument("file", type=RECORDING)
@click.option("--game", metavar="ID", help="only this game of the file: its id, or its number from 1")
@heroes_option("only turns of this hero (1 to 4); repeatable")
@number_option("--most", help="use only the first N games of the file")
@number_option("--turns", default=500, help="ask about N turns, chosen at random")
@number_option("--nodes", default=100_000, help="search nodes per turn")
@click.option(
    "--reviewer",
    default="versions/strong-1",
    metavar="BOT",
    shell_complete=complete_bots,
    help="the bot whose playouts value the differences",
)
@number_option("--value-nodes", least=1000, default=750_000, help="play out N plies per difference")
@number_option("--rounds", least=0, default=40, help="length of a playout; 0: to the end of the game")
@number_option("--worst", least=0, default=10, help="show N differences")
@click.option("--tests", type=PATH, metavar="FILE.py", help="write tests of the moves of A that lose gold against those of B")
@click.option("--inaccuracy", type=click.FloatRange(min=0, max=12), default=5, metavar="GOLD", help="with --tests: least loss")
@click.option("--errors", type=click.FloatRange(min=0), default=3, metavar="N", help="with --tests: least loss in errors")
@click.option("--pages/--no-pages", default=True, help="write the pages of the games that are shown")
def diff_command(first: str, second: str, file: Path, **options: Any) -> None:
    """Show where the bots A and B move differently, and what this is worth.

    Both bots are asked about the same turns of recorded games. FILE is a recording ("last" is the newest one), a file of game
    records, or the results of an arena. It does not matter which bots played. The tables show the share of the turns on which A
    and B move differently: by third of the game, by situation, and by the trait that decides. Then come the differences that are
    worth most gold, by playouts as in `vindibot review`. Each has a link to its turn, and the command that shows the votes.

    \b
    Examples:
      vindibot diff seed mybot results/cup.jsonl
      vindibot diff versions/strong-3 versions/strong-4 last --turns 100
      vindibot diff mybot strong results/cup.games.jsonl --tests test_worst.py
    """
    from vindibot.base.console import terminal
    from vindibot.review.diff import run_diff

    run_diff(terminal(), first, second, file, **options)
