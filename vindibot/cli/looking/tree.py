"""``vindibot tree``: show the top of a search tree."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from vindibot.cli.options import PATH, RECORDING, recorded_bot_option, turn_options


@click.command("tree", short_help="Show the top of a search tree.")
@click.argument("recording", type=RECORDING)
@turn_options
@click.option("--depth", type=click.IntRange(1, 60), default=8, metavar="D", help="search D plies deep")
@click.option("--top", type=click.IntRange(1, 8), default=3, metavar="K", help="show the first K plies")
@recorded_bot_option
@click.option("--dot", type=PATH, metavar="FILE", help="write a drawing for Graphviz to FILE; dot -Tsvg FILE makes a picture")
def tree_command(recording: Path, **options: Any) -> None:
    """Show the top of a search tree.

    The command runs a search on one recorded turn, D plies deep. It is the search of the bot that made the RECORDING, or of BOT.
    RECORDING is a file, or "last" for the newest recording in recordings/. For each position in the first K plies, the command
    shows its number, the hero to move, a score, and the number of positions searched after it. The score is in gold for our hero.
    A star and a colour mark the expected moves of all heroes. All these positions are searched, also those that the bot's search
    skips, so each further ply takes up to five times as long.

    \b
    Examples:
      vindibot tree last --turn 212 --bot searcher
      vindibot tree last --turn 212 --bot searcher --depth 12 --top 5 --dot tree.dot
    """
    from vindibot.base.console import terminal
    from vindibot.devtools.tree import show_tree

    show_tree(terminal(), recording, **options)
