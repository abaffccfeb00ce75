"""``vindibot arena``: a tournament on the command line."""

from __future__ import annotations

import contextlib
import math
import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from vindibot.arena.settings import ArenaSettings
from vindibot.base import interrupts
from vindibot.base.errors import UsageError, VindibotError
from vindibot.base.output.console import say
from vindibot.cli.completion import complete_bots
from vindibot.cli.measuring.parameters import PATH, map_option, size_option
from vindibot.cli.options import WORDS, RecordedCommand, load_settings, overrides, settings_options
from vindibot.cluster import connection as machines

if TYPE_CHECKING:
    from rich.console import Console

    from vindibot.arena.tournament import Tournament
    from vindibot.config.load import Config

#: The names of the options whose names do not follow from the keys of their settings.
SPELLED = {
    "bots": "BOTS",
    "maps.set": "--maps",
    "maps.names": "--map",
    "maps.sizes": "--size",
}
#: Settings (lists and tables) for which `settings_options` makes no option. `arena_command` declares options for some of them.
HIDDEN = {"bots", "entrants", "maps.names", "maps.sizes"}
#: The exit code if a bot forfeited more games than allowed.
FORFEITS = 6


def _load(config: str | None, given: dict[str, Any], resume: Path | None) -> Config[ArenaSettings]:
    """Return the settings. A resumed tournament has its own configuration, which is read unless `config` or bots are given."""
    from vindibot.arena.store import setup_path
    from vindibot.config.files import short

    if resume is not None:
        if given["results"] is not None:
            raise UsageError("--resume names the results file: leave out --results")
        given["results"] = str(resume)
        beside = setup_path(resume)
        if config is None and given["bots"] is None:
            if not beside.is_file():
                raise UsageError(f"{short(beside)}, the configuration of {short(resume)}, is missing: name the bots or --config")
            config = str(beside.absolute())
    return load_settings(ArenaSettings, config, given, SPELLED)


def run(
    config: Config[ArenaSettings],
    console: Console,
    *,
    resume: bool = False,
    mix_versions: bool = False,
    command: str = "",
) -> int:
    """Play a tournament, show the results, and return the exit code (see the help of the command).

    `command` is the command line, for the report. Raises `VindibotError` before the first game if the tournament cannot be
    played.
    """
    from behaviours.registry import nearest
    from vindibot.arena.checks.before import check_programs
    from vindibot.arena.report.live import ConsoleReporter
    from vindibot.arena.tournament import prepare, stopping
    from vindibot.arena.worker import preparing
    from vindibot.base import log
    from vindibot.engine.warmup import warm

    settings = config.settings
    machines.check_machines(settings.cluster)
    with log.configured(settings.log.level, settings.log.file, console):
        tournament = prepare(config, resume=resume, mix_versions=mix_versions, command=command)
        if settings.anchor and settings.anchor not in tournament.bots:
            raise config.refuse(
                "anchor", f"must be a bot of the tournament, not {settings.anchor!r}{nearest(settings.anchor, tournament.bots)}"
            )
        words = f"interrupted: the finished games are saved; go on with: {tournament.resume_command()}"
        try:
            with interrupts.saying(words):
                with contextlib.nullcontext() if settings.cluster.address else preparing(tournament.schedule.entrants):
                    warm(console)
                if settings.check and not tournament.lines:
                    check_programs(
                        tournament.schedule.entrants,
                        tournament.path,
                        lambda line, fails: say(console, line, "bold red" if fails else "dim"),
                    )
                watch = ConsoleReporter(console)
                with (
                    machines.machines_for(tournament, settings.cluster, watch.note) as elsewhere,
                    stopping(tournament.stop),
                ):
                    tournament.play(watch, elsewhere)
                return show_results(tournament, console)
        except KeyboardInterrupt:  # while kernels are compiled, or while tables are computed
            return _conclusion(tournament, console, interrupted=True)


def show_results(tournament: Tournament, console: Console) -> int:
    """Show the results of a tournament, write its report, and return the exit code."""
    from vindibot.arena.report.page import write_report
    from vindibot.arena.report.summary import summarise
    from vindibot.arena.report.table import show
    from vindibot.config.files import short

    settings, lines = tournament.settings, tournament.lines
    if lines:
        summary = summarise(lines, tournament.bots, anchor=tournament.anchor, sprt=settings.sprt, planned=settings.blocks)
        show(console, summary)
        if settings.report:
            try:
                report = write_report(tournament.path, summary, lines, tournament.bots, settings.replays)
                more = (
                    "all columns, charts and games to watch"
                    if settings.replays and settings.records
                    else "all columns and charts"
                )
                say(console, f"report: {short(report)} has {more}", "dim")
            except VindibotError as problem:  # for example a full disk; the results have been saved already
                say(console, problem.message, "bold red")
    return _conclusion(tournament, console)


def _progress(tournament: Tournament) -> str:
    """Return a line with the number of finished games, and with the command that continues the tournament."""
    return f"{len(tournament.lines)} of {len(tournament.schedule)} games are saved; go on with: {tournament.resume_command()}"


def _conclusion(tournament: Tournament, console: Console, *, interrupted: bool = False) -> int:
    """Print the files of the tournament, the failures, and the command that continues it. Return the exit code."""
    from vindibot.arena.report.versions import mixed_versions
    from vindibot.config.files import short

    settings, lines = tournament.settings, tournament.lines
    if mixed := mixed_versions(lines):
        say(console, mixed, "yellow")
    say(console, f"results: {short(tournament.path)} (seed {tournament.schedule.seed})", "dim")
    if logs := tournament.logs():
        games = "all games" if settings.logs == "all" else "games with forfeits"
        say(console, f"logs: {short(logs)}/ has the output of the bots in {games}, one file per game and seat", "dim")
    if tournament.error:
        say(console, f"stopped: {tournament.error}; {_progress(tournament)}", "bold red")
        if tournament.output:
            say(console, "\n".join(["its last lines of output:", *(f"  {line}" for line in tournament.output)]))
        return FORFEITS if tournament.cannot_start else 1
    if interrupted or (tournament.stop.soon and not tournament.complete):
        say(console, f"interrupted: {_progress(tournament)}", "yellow")
        return interrupts.INTERRUPTED
    forfeits = tournament.forfeits()
    for bot, share in sorted(forfeits.items()):
        say(console, f"{bot} forfeited {share:.1%} of its games, more than {settings.max_forfeits:.1%}", "bold red")
    if forfeits:
        return FORFEITS
    given_up = tournament.given_up()
    if given_up > settings.max_forfeits * len(lines):
        say(console, f"{given_up} of {len(lines)} games could not be played, and counted for no bot", "bold red")
        return 1
    return 0


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
    "POINTS is the smallest difference of interest  [default: --sprt-elo1]",
)
@size_option
@settings_options(ArenaSettings, spelled=SPELLED, hidden=HIDDEN)
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

    Exit codes: 0 all games were played; 1 results could not be written, or a larger share of the games than --max-forfeits could
    not be played; 2 the configuration is invalid; 6 a bot forfeited a larger share of its games than --max-forfeits, or forfeited
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
    from vindibot.base.output.console import terminal

    given = overrides(options)
    if match is not None:
        if bots or given["format"] is not None:
            raise UsageError("--match A B sets the bots and the format: leave out other bots and --format")
        bots, given["format"] = match, "ab"
    given["bots"] = list(bots) or None
    given["maps.names"], given["maps.sizes"] = list(maps) or None, list(sizes) or None
    if mix_versions and resume is None:
        raise UsageError("--mix-versions is only for --resume")
    settings = _load(config, given, resume)
    if plan is not None:
        from vindibot.arena.report.plan import show_plan

        show_plan(terminal(), settings.settings, None if math.isinf(plan) else plan)
        return
    words = shlex.join(["vindibot", "arena", *context.meta[WORDS]])
    sys.exit(run(settings, terminal(), resume=resume is not None, mix_versions=mix_versions, command=words))
