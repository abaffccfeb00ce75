"""``vindibot bench``: measure the time of each trait of a bot."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from vindibot.cli.completion import complete_bots
from vindibot.cli.options import RECORDING, nodes_option, number_option, traits_option


@click.command("bench", short_help="Measure the time of each trait of a bot.")
@click.argument("bot", shell_complete=complete_bots)
@click.argument("recordings", nargs=-1, type=RECORDING, metavar="[RECORDINGS]...")
@traits_option
@nodes_option
@number_option("--turns", default=300, help="measure at most N turns")
def bench_command(bot: str, recordings: tuple[Path, ...], traits: tuple[str, ...], nodes: int | None, turns: int) -> None:
    """Measure the time of each trait of a bot.

    The table shows milliseconds per turn: the median, the 99th percentile and the worst turn. The table also names the number and
    the file of the worst turn, for `vindibot turn`. The turns come from the RECORDINGS ("last" is the newest recording in
    recordings/), or from three new games. Each trait runs alone, in another process. A search has 0.9 s per turn, or --nodes
    nodes. If a trait runs longer than 10 s (60 s with --nodes), or ends its process, the command does not ask it again. After
    Ctrl-C the command prints the results so far.

    \b
    Examples:
      vindibot bench seed
      vindibot bench mybot last
      vindibot bench mybot recordings/*.jsonl --nodes 20000
    """
    from vindibot.base.console import terminal
    from vindibot.config.bots import load_bot
    from vindibot.devtools.bench import time_traits

    sys.exit(time_traits(terminal(), load_bot(bot), recordings, nodes=nodes, most=turns, only=traits))
