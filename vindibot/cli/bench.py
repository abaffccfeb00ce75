"""``vindibot bench``."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from vindibot.cli.completion import complete_bots
from vindibot.cli.parameters import NODES, PATH, TRAITS


def _bench(bot: str, recordings: tuple[Path, ...], traits: tuple[str, ...], nodes: int | None, turns: int) -> None:
    from vindibot.base import terminal
    from vindibot.config import load_bot
    from vindibot.devtools import time_traits

    sys.exit(time_traits(terminal(), load_bot(bot), recordings, nodes=nodes, most=turns, only=traits))


bench_command = click.Command(
    "bench",
    callback=_bench,
    params=[
        click.Argument(["bot"], shell_complete=complete_bots),
        click.Argument(["recordings"], nargs=-1, type=PATH, metavar="[RECORDINGS]..."),
        TRAITS,
        NODES,
        click.Option(
            ["--turns"], type=click.IntRange(min=1), default=300, metavar="N", help="time N turns at most  [default: 300]"
        ),
    ],
    short_help="Say how long each trait of a bot takes.",
    help="""Say how long each trait of a bot takes.

Milliseconds per turn: the median, the 99th percentile, and the worst turn with its number and file, so that `vindibot
turn` can run it again. The turns are those of the RECORDINGS, or of three games that are played on the spot. Each trait
is asked alone, in this process; a search has 0.9 s unless --nodes gives it a budget. A trait that is still at work after
10 s (with --nodes a minute) is ended, named, and not asked again. Ctrl-C prints what is known by then.

\b
Examples:
  vindibot bench seed
  vindibot bench mine.toml recordings/*.jsonl --nodes 20000
""",
)
