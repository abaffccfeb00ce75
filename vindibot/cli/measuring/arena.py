"""``vindibot arena``: a tournament on the command line."""

from __future__ import annotations

import math
import sys
from pathlib import Path
from typing import Any

import click

from vindibot.arena.settings import ArenaSettings
from vindibot.base.errors import UsageError
from vindibot.cli.completion import complete_bots
from vindibot.cli.options import (
    PATH,
    RecordedCommand,
    command_line,
    load_settings,
    map_option,
    option_names,
    overrides,
    settings_options,
    size_option,
)

#: The names of the options whose names do not follow from the keys of their settings.
SPELLED = {"bots": "BOTS", "maps.set": "--maps", "maps.names": "--map", "maps.sizes": "--size"}
#: Settings (lists and tables) for which `settings_options` makes no option. `arena_command` declares options for some of them.
HIDDEN = {"bots", "entrants", "maps.names", "maps.sizes"}
#: Settings that only configuration files and environment variables set.
EXPERT = {"records", "replays", "logs", "anchor", "max_forfeits"} | {
    key
    for key in option_names(ArenaSettings)
    if key.startswith(("limits.", "sprt.")) and key not in ("limits.move_ms", "limits.first_ms", "limits.nodes", "sprt.stop")
}


@click.command("arena", cls=RecordedCommand, short_help="Play tournaments between bots, with ratings.")
@click.argument("bots", nargs=-1, metavar="[BOTS]...", shell_complete=complete_bots)
@click.option("--config", "-c", metavar="FILE", help="the configuration of a tournament (docs/arena.md)")
@click.option("--resume", metavar="FILE", type=PATH, help="continue the tournament of this results file")
@click.option(
    "--mix-versions", is_flag=True, help="with --resume: continue even if vindibot or a bot has changed since the last games"
)
@click.option(
    "--match", nargs=2, metavar="A B", help="play A against B, with two seats for each bot; this is the same as --format ab"
)
@map_option
@click.option(
    "--plan",
    is_flag=False,
    flag_value=math.inf,
    type=float,
    metavar="[POINTS]",
    help="play nothing: say how many blocks, games and hours a match needs until a verdict, from the variance of old results; "
    "POINTS is the smallest difference of interest  [default: sprt.elo1]",
)
@size_option
@settings_options(ArenaSettings, spelled=SPELLED, hidden=HIDDEN | EXPERT)
@click.pass_context
def arena_command(
    context: click.Context,
    /,
    bots: tuple[str, ...],
    config: str | None,
    resume: Path | None,
    mix_versions: bool,
    match: tuple[str, str] | None,
    maps: tuple[str, ...],
    sizes: tuple[int, ...],
    plan: float | None,
    **options: Any,
) -> None:
    """Play a tournament between bots, and show which bot is better and how certain this is.

    A BOT is a bot file or the name of one; random or stay (built in); the name of a table in the configuration; http:COMMAND for
    a program that connects to a server; or stdio:COMMAND for a program that reads and writes lines. LABEL=BOT gives the bot the
    name LABEL. The configuration and the seed determine all games. Every finished game is saved at once. Ctrl-C ends the
    tournament after the current games. A second Ctrl-C ends it at once. --resume continues the tournament.

    Exit codes: 0 all games were played; 1 results could not be written, or a larger share of the games than max_forfeits could
    not be played; 2 the configuration is invalid; 6 a bot forfeited a larger share of its games than max_forfeits, or forfeited
    each of its first three games at the start, which ends the tournament; 130 interrupted.

    \b
    Examples:
      vindibot arena seed malvert random stay --blocks 20
      vindibot arena --match mybot seed --blocks 200 --sprt-stop
      vindibot arena seed "http:python3 client.py {key} {server}" "mine=stdio:./mine" stay --rounds 100
      vindibot arena --match mybot seed --blocks 200 --nodes 100000 --dask tcp://127.0.0.1:8786
      vindibot arena --resume results/cup.jsonl
      vindibot arena --match mybot seed --plan 20
    """
    from vindibot.arena.report.command import configuration, play
    from vindibot.arena.report.plan import show_plan
    from vindibot.base.console import terminal
    from vindibot.devtools.check import check_programs

    values = overrides({**options, "bots": bots, "maps__names": maps, "maps__sizes": sizes})
    if match is not None:
        if bots or values["format"] is not None:
            raise UsageError("--match A B sets the bots and the format: leave out other bots and --format")
        values |= {"bots": [*match], "format": "ab"}
    if mix_versions and resume is None:
        raise UsageError("--mix-versions is only for --resume")
    settings = load_settings(ArenaSettings, configuration(config, values, resume), values, SPELLED)
    if plan is not None:
        show_plan(terminal(), settings.settings, None if math.isinf(plan) else plan)
        return
    if settings.settings.dask:
        from vindibot.arena.dask import check_configuration

        check_configuration()
    more = {"resume": resume is not None, "mix_versions": mix_versions}
    sys.exit(play(settings, terminal(), check_programs, command=command_line(context), **more))
