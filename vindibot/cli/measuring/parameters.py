"""Arguments and options that several commands have."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click
from click.shell_completion import CompletionItem

from vindibot.base import given_path
from vindibot.cli.completion import complete_bots


class GivenPath(click.Path):
    """A path (see `given_path`). `options` are options of `click.Path`."""

    def __init__(self, **options: Any) -> None:
        super().__init__(path_type=Path, **options)

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        return super().convert(given_path(value), param, ctx)


class RecordingPath(click.Path):
    """The path of a recording or of a file of games. The word ``last`` stands for the newest recording."""

    name = "recording"

    def __init__(self) -> None:
        super().__init__(path_type=Path)

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        from vindibot.games import find_recording

        return find_recording(value) if isinstance(value, str) else value

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
        words = [CompletionItem("last", help="the newest recording")] if "last".startswith(incomplete) else []
        return [*words, CompletionItem(incomplete, type="file")]


PATH = GivenPath()
RECORDING = RecordingPath()
#: Words for the directions 0..4 on the command line.
WORDS = ("stay", "north", "south", "east", "west")

config_option = click.option("--config", "-c", metavar="FILE", help="a configuration file: a line  key = value  per setting")
turn_option = click.option(
    "--turn", type=int, required=True, metavar="N", help="the value of `turn` in the recording; a round has four turns"
)
recorded_bot_option = click.option(
    "--bot", metavar="BOT", shell_complete=complete_bots, help="the bot to ask  [default: the bot of the recording]"
)
traits_option = click.option("--trait", "traits", multiple=True, metavar="LABEL", help="ask this trait only; repeatable")
nodes_option = click.option(
    "--nodes",
    type=click.IntRange(min=1),
    metavar="N",
    help="limit searches to N nodes, which gives the same result on any machine [default: a limit of 0.9 s]",
)

#: The option for the share of the maps that only measure a fit.
holdout_option = click.option(
    "--holdout",
    type=click.FloatRange(0.05, 0.9),
    default=0.3,
    show_default=True,
    metavar="SHARE",
    help="share of the maps that are for validation only",
)
