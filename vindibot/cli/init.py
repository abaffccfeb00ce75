"""``vindibot init``: create a folder with a new bot, a trait and its tests."""

from __future__ import annotations

from pathlib import Path

import click

from vindibot.cli.options import PATH


@click.command("init", short_help="Create a bot of your own, with a trait and its tests.")
@click.argument("folder", metavar="DIR", type=PATH)
@click.option("--learned", is_flag=True, help="create a bot that plays a net, which you can train further")
def init_command(folder: Path, learned: bool) -> None:
    """Create a bot of your own: write a small project into the folder DIR.

    The bot has all traits of the bot "seed", and a trait of your own in ten lines, with tests. With --learned, the bot begins
    with the net of the bot "learned", which you can train further (docs/learn.md). A README shows the first commands. Existing
    files are never overwritten.
    """
    from vindibot.base.console import terminal
    from vindibot.devtools.scaffold import init

    init(terminal(), folder, learned)
