"""``vindibot review``: show where a bot lost gold in a game, how much, and why."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from vindibot.cli.completion import complete_bots
from vindibot.cli.measuring.parameters import PATH, RECORDING


@click.command("review", short_help="Show where a bot lost gold in a game, how much, and why.")
@click.argument("file", type=RECORDING)
@click.option(
    "--hero", "heroes", type=click.IntRange(1, 4), multiple=True, metavar="N", help="review this hero (1 to 4); repeatable"
)
@click.option("--game", metavar="ID", help="the game to review, if the file has several games: its id, or its number from 1")
@click.option(
    "--bot",
    metavar="BOT",
    shell_complete=complete_bots,
    help="the bot whose playouts value the moves  [default: versions/strong-1]; with --compare and --tests: the bot to ask"
    "  [default: the bot of the recording]",
)
@click.option("--nodes", type=click.IntRange(min=1000), metavar="N", help="play out N plies per turn  [default: 750000]")
@click.option(
    "--rounds", type=click.IntRange(min=0), metavar="N", help="length of a playout; 0: to the end of the game  [default: 40]"
)
@click.option("--inaccuracy", type=click.FloatRange(min=0), metavar="GOLD", help="least loss of an inaccuracy  [default: 5]")
@click.option("--mistake", type=click.FloatRange(min=0), metavar="GOLD", help="least loss of a mistake  [default: 12]")
@click.option("--blunder", type=click.FloatRange(min=0), metavar="GOLD", help="least loss of a blunder  [default: 25]")
@click.option(
    "--errors", type=click.FloatRange(min=0), metavar="N", help="least loss that counts, in standard errors  [default: 3]"
)
@click.option("--worst", type=click.IntRange(min=0), default=10, metavar="N", help="show the N worst moves")
@click.option(
    "--tests", type=PATH, metavar="FILE.py", help="write tests of the worst moves, which fail until the bot plays better"
)
@click.option("--compare", is_flag=True, help="show what BOT would play today at each bad move")
@click.option("--most", type=click.IntRange(min=1), metavar="N", help="review only the first N of many games")
@click.option("--output", type=PATH, metavar="OUT", help="the file of the review  [default: FILE with the end .review.jsonl]")
@click.option("--workers", type=click.IntRange(min=1), metavar="N", help="use N processes  [default: one per core]")
@click.option("--again", is_flag=True, help="replace an earlier review")
def review_command(
    file: Path,
    heroes: tuple[int, ...],
    inaccuracy: float | None,
    mistake: float | None,
    blunder: float | None,
    errors: float | None,
    again: bool,
    **options: Any,
) -> None:
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
      vindibot review last --tests test_worst.py
      vindibot review last --bot mybot --compare
      vindibot review results/cup.jsonl --most 8
    """
    from vindibot.base import interrupts
    from vindibot.base.output.console import terminal
    from vindibot.review.command import ReviewRequest, run_review

    limits = {"inaccuracy": inaccuracy, "mistake": mistake, "blunder": blunder, "errors": errors}
    thresholds = {name: value for name, value in limits.items() if value is not None}
    numbers = tuple(hero - 1 for hero in heroes)
    request = ReviewRequest(file, heroes=numbers, thresholds=thresholds, again=again, **options)
    more = " without --again" if again else ""
    with interrupts.saying(f"interrupted: the reviewed turns are saved; the same command{more} goes on"):
        run_review(terminal(), request)
