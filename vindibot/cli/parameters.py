"""Arguments and options that several commands have."""

from __future__ import annotations

from pathlib import Path

import click

from vindibot.cli.completion import complete_bots

PATH = click.Path(path_type=Path)
#: Words for the directions 0..4 on the command line.
WORDS = ("stay", "north", "south", "east", "west")

config_option = click.option("--config", "-c", metavar="FILE", help="a configuration file: a line  key = value  per setting")
turn_option = click.option(
    "--turn", type=int, required=True, metavar="N", help="number of the turn, as in the recording; a round has four turns"
)
recorded_bot_option = click.option(
    "--bot", metavar="BOT", shell_complete=complete_bots, help="the bot to ask  [default: the bot of the recording]"
)
traits_option = click.option("--trait", "traits", multiple=True, metavar="LABEL", help="ask this trait only; repeatable")
nodes_option = click.option(
    "--nodes",
    type=click.IntRange(min=1),
    metavar="N",
    help="give searches a budget of N nodes, for the same result on any machine  [default: 0.9 s]",
)
