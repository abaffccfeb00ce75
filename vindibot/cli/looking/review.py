"""``vindibot review``: show where a bot lost gold in a game, how much, and why."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from vindibot.cli.completion import complete_bots
from vindibot.cli.options import PATH, RECORDING, heroes_option, number_option


@click.command("review", short_help="Show where a bot lost gold in a game, how much, and why.")
@click.argument("file", type=RECORDING)
@heroes_option("review this hero (1 to 4); repeatable")
@click.option("--game", metavar="ID", help="the game to review, if the file has several games: its id, or its number from 1")
@click.option(
    "--bot",
    metavar="BOT",
    shell_complete=complete_bots,
    help="the bot whose playouts value the moves  [default: versions/strong-1]; with --tests: the bot to ask"
    "  [default: the bot of the recording]",
)
@number_option("--nodes", least=1000, help="play out N plies per turn  [default: 750000]")
@number_option("--rounds", least=0, help="length of a playout; 0: to the end of the game  [default: 40]")
@click.option("--inaccuracy", type=click.FloatRange(min=0), metavar="GOLD", help="least loss of an inaccuracy  [default: 5]")
@click.option("--mistake", type=click.FloatRange(min=0), metavar="GOLD", help="least loss of a mistake  [default: 12]")
@click.option("--blunder", type=click.FloatRange(min=0), metavar="GOLD", help="least loss of a blunder  [default: 25]")
@click.option(
    "--errors", type=click.FloatRange(min=0), metavar="N", help="least loss that counts, in standard errors  [default: 3]"
)
@number_option("--worst", least=0, default=10, help="show the N worst moves")
@click.option(
    "--tests", type=PATH, metavar="FILE.py", help="write tests of the worst moves, which fail until the bot plays better"
)
@number_option("--most", help="review only the first N of many games")
@click.option("--output", type=PATH, metavar="OUT", help="the file of the review  [default: FILE with the end .review.jsonl]")
@number_option("--workers", help="use N processes  [default: one per core]")
@click.option("--again", is_flag=True, help="replace an earlier review")
def review_command(file: Path, **options: Any) -> None:
    """Show where a bot lost gold in a game, how much, and why.

    FILE is a recording of `vindibot play` ("last" is the newest recording in recordings/), a game record, or the results of an
    arena. For each turn the command simulates games after every move, and so estimates the gold at the end of the game. A move is
    bad if it loses at least 5 gold against the best move, and if this loss is at least 3 times its standard error. The report
    shows the mean loss per move in gold, and the worst moves. Without --hero, the command reviews our hero of a recording, or all
    heroes of a game record. With several games it prints a table of the bots.

    The review is stored beside FILE. FILE does not change. Ctrl-C keeps the turns that are ready; the next call continues.

    \b
    Examples:
      vindibot review last
      vindibot review last --bot mybot --tests test_worst.py
      vindibot review results/cup.jsonl --most 8
    """
    from vindibot.base.console import terminal
    from vindibot.review.command import run_review

    run_review(terminal(), file, **options)
