"""``vindibot tree``."""

from __future__ import annotations

from pathlib import Path

import click

from vindibot.cli.completion import complete_bots
from vindibot.cli.parameters import PATH, TURN


def _tree(recording: Path, turn: int, depth: int, bot: str | None, top: int, dot: Path | None, svg: Path | None) -> None:
    from vindibot.base import terminal
    from vindibot.devtools import find_bot, show_tree
    from vindibot.games import read_recording

    read = read_recording(recording)
    own = read.turn(turn)
    show_tree(terminal(), read, own, find_bot(bot, read), depth=depth, top=top, dot=dot, svg=svg)


tree_command = click.Command(
    "tree",
    callback=_tree,
    params=[
        click.Argument(["recording"], type=PATH),
        click.Option(["--turn"], type=int, required=True, metavar="N", help=TURN),
        click.Option(["--depth"], type=click.IntRange(1, 60), default=8, metavar="D", help="search D plies deep  [default: 8]"),
        click.Option(["--top"], type=click.IntRange(1, 12), default=3, metavar="K", help="show the first K plies  [default: 3]"),
        click.Option(
            ["--bot"],
            metavar="BOT",
            help="the bot whose search it is  [default: the one that made the recording]",
            shell_complete=complete_bots,
        ),
        click.Option(["--dot"], type=PATH, metavar="FILE", help="write a drawing for Graphviz"),
        click.Option(["--svg"], type=PATH, metavar="FILE", help="draw it, where Graphviz (dot) is installed"),
    ],
    short_help="Show the top of a search's tree.",
    help="""Show the top of a search's tree.

The search of the bot that made the RECORDING, or of BOT, is run on one of its turns, D plies deep. Each position of the
first K plies has a number, the hero to move, its score in gold for us and how many positions were looked at below it.
Branches that need not be searched are said to be cut off; what is expected of both sides has a star and a colour.

\b
Examples:
  vindibot tree recordings/GAME.jsonl --turn 212
  vindibot tree recordings/GAME.jsonl --turn 212 --depth 12 --top 5 --dot tree.dot
""",
)
