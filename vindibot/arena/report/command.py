"""What ``vindibot arena`` does: it plays a tournament, shows the results, and writes the report."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from behaviours.registry import nearest
from vindibot.arena.games import load_games
from vindibot.arena.report.live import Reporter
from vindibot.arena.report.page import write_report
from vindibot.arena.report.summary import mixed_versions, summarise
from vindibot.arena.report.table import show
from vindibot.arena.seats.entrants import Entrant
from vindibot.arena.settings import ArenaSettings
from vindibot.arena.store import setup_path
from vindibot.arena.tournament import Tournament, prepare
from vindibot.base import interrupts, log
from vindibot.base.console import say
from vindibot.base.errors import UsageError, VindibotError
from vindibot.base.interrupts import stopping
from vindibot.base.writing import short
from vindibot.engine.warmup import warm

if TYPE_CHECKING:
    from rich.console import Console

    from vindibot.config.load import Config

#: The exit code if a bot forfeited more games than allowed.
FORFEITS = 6


def configuration(config: str | None, options: dict[str, Any], resume: Path | None) -> str | None:
    """Return the configuration file of a tournament: `config`, or the file beside the results that are resumed.

    `options` has the values of options by key. A resumed tournament has its own configuration, unless `config` or bots are given.
    Raises `UsageError` if its file is missing.
    """
    if resume is None:
        return config
    if options["results"] is not None:
        raise UsageError("--resume names the results file: leave out --results")
    options["results"] = str(resume)
    beside = setup_path(resume)
    if config is not None or options["bots"] is not None:
        return config
    if not beside.is_file():
        raise UsageError(f"{short(beside)}, the configuration of {short(resume)}, is missing: name the bots or --config")
    return str(beside.absolute())


def play(
    config: Config[ArenaSettings],
    console: Console,
    check: Callable[[Console, Sequence[Entrant]], None],
    *,
    resume: bool = False,
    mix_versions: bool = False,
    command: str = "",
) -> int:
    """Play a tournament, show the results, and return the exit code (see the help of the command).

    `check` checks the programs among bots before the first game. `command` is the command line, for the report. Raises
    `VindibotError` before the first game if the tournament cannot be played.
    """
    settings = config.settings
    with log.configured(settings.log.level, settings.log.file, console):
        tournament = prepare(config, resume=resume, mix_versions=mix_versions, command=command)
        if settings.anchor and settings.anchor not in tournament.bots:
            hint = nearest(settings.anchor, tournament.bots)
            raise config.refuse("anchor", f"must be a bot of the tournament, not {settings.anchor!r}{hint}")
        words = f"interrupted: the finished games are saved; go on with: {tournament.resume_command()}"
        try:
            with interrupts.saying(words):
                if not settings.dask:
                    load_games(tournament.schedule.entrants)
                warm(console)
                if settings.check and not tournament.lines:
                    check(console, tournament.schedule.entrants)
                watch = Reporter(console)
                with tournament.machines(watch.note) as elsewhere, stopping(tournament.stop):
                    tournament.play(watch, elsewhere)
                return show_results(tournament, console)
        except KeyboardInterrupt:  # while kernels are compiled, or while tables are computed
            return _conclusion(tournament, console, interrupted=True)


def show_results(tournament: Tournament, console: Console) -> int:
    """Show the results of a tournament, write its report, and return the exit code."""
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
    settings, lines = tournament.settings, tournament.lines
    if mixed := mixed_versions(lines):
        say(console, mixed, "yellow")
    say(console, f"results: {short(tournament.path)} (seed {tournament.schedule.seed})", "dim")
    if logs := tournament.logs():
        games = "all games" if settings.logs == "all" else "games with forfeits"
        say(console, f"logs: {short(logs)}/ has the output of the bots in {games}, one file per game and seat", "dim")
    if tournament.error:
        say(console, f"stopped: {tournament.error}; {_progress(tournament)}", "bold red")
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
