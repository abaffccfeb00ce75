"""``vindibot ladder``: play games without end to rate the bots of a folder."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import click

from vindibot.arena.settings import LadderSettings
from vindibot.cli.completion import complete_bots
from vindibot.cli.measuring.arena import SPELLED
from vindibot.cli.options import (
    PATH,
    GivenPath,
    RecordedCommand,
    command_line,
    load_settings,
    map_option,
    option_names,
    overrides,
    settings_options,
    size_option,
)

#: The settings that have an option. All others are keys of a configuration.
OPTIONS = {
    *("results", "positions", "rounds", "seed", "workers", "records", "replays", "anchor", "logs", "maps.set"),
    *("limits.move_ms", "limits.first_ms", "limits.nodes", "limits.memory_mb"),
}


@click.command("ladder", cls=RecordedCommand, short_help="Play games without end to rate the bots of a folder.")
@click.argument("folder", type=GivenPath(file_okay=False))
@click.argument("rungs", nargs=-1, metavar="[RUNG]...", shell_complete=complete_bots)
@click.option("--config", "-c", metavar="NAME", help="a configuration of the arena: a path, or a name from tournaments/")
@click.option("--games", type=click.IntRange(1), help="end when the file has this number of games  [default: no end]")
@click.option("--table", type=PATH, help="at the end, write the ratings to this file (TOML)")
@click.option("--mix-versions", is_flag=True, help="go on even if vindibot has changed since the last games")
@map_option
@size_option
@settings_options(LadderSettings, spelled=SPELLED, hidden=option_names(LadderSettings).keys() - OPTIONS)
@click.pass_context
def ladder_command(
    context: click.Context,
    /,
    folder: Path,
    rungs: tuple[str, ...],
    config: str | None,
    games: int | None,
    table: Path | None,
    mix_versions: bool,
    maps: tuple[str, ...],
    sizes: tuple[int, ...],
    **options: Any,
) -> None:
    """Play games without end to rate the bots of a folder.

    The bots are the bot files in FOLDER (mybot.toml, mybot/bot.toml) and the RUNGS: by default bots that ship, from random to
    strong. A block is one map in four seatings. The next block is played by the bot whose interval will shrink the most, and by
    three rivals. While the command runs, you may add, change and remove bot files. A changed bot is another bot: it
    gets a number (mybot-2). The page FOLDER/ladder.html has the table, and a browser loads it again every 30 seconds.

    Options are the settings that users change most. Limits for programs and other settings are keys of a configuration
    (`vindibot config --for ladder`).

    All games are in one file. Ctrl-C ends the command after the running games; a second Ctrl-C ends it at once. The same command
    goes on with the file.

    Exit codes: 0 the file has the number of games of --games; 1 results could not be written; 2 the command or the configuration
    is invalid; 130 interrupted.

    \b
    Examples:
      vindibot ladder mybots
      vindibot ladder mybots seed strong "stdio:./mine" --rounds 100 --nodes 10000
      vindibot ladder mybots --games 400 --table strength.toml
    """
    from vindibot.arena.ladder import Ladder

    lists = {"bots": list(rungs) or None, "maps.names": list(maps) or None, "maps.sizes": list(sizes) or None}
    settings = load_settings(LadderSettings, config, overrides(options) | lists, SPELLED)
    sys.exit(Ladder(settings, folder, games, mix_versions=mix_versions, command=command_line(context)).run(table))
