"""``vindibot arena``: a tournament on the command line."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from vindibot.arena import WORDS, ArenaSettings
from vindibot.base import UsageError, VindibotError, interrupts
from vindibot.cli.completion import complete_bots, complete_maps
from vindibot.cli.options import option_names, overrides, settings_options

if TYPE_CHECKING:
    from rich.console import Console

    from vindibot.arena import Tournament
    from vindibot.config import Config

#: Options that are not spelled like their key.
SPELLED = {
    "bots": "BOTS",
    "limits.move_ms": "--move-ms",
    "limits.first_ms": "--first-ms",
    "limits.nodes": "--nodes",
    "limits.start_s": "--start-s",
    "limits.grace_ms": "--grace-ms",
    "limits.memory_mb": "--memory-mb",
    "limits.wall_s": "--wall-s",
    "maps.set": "--maps",
    "maps.names": "--map",
    "maps.sizes": "--size",
    "format": "--format",
}
#: Settings that are lists or tables: some have options of their own.
HIDDEN = {"bots", "entrants", "maps.names", "maps.sizes"}
#: The exit code if some bot forfeited more than allowed.
FORFEITS = 6


def _arena(
    bots: tuple[str, ...],
    config: str | None,
    resume: Path | None,
    mix_versions: bool,
    match: tuple[str, str] | None,
    map_names: tuple[str, ...],
    sizes: tuple[int, ...],
    **options: Any,
) -> None:
    from vindibot.base import terminal

    given = overrides(options)
    if match is not None:
        if bots or given["format"] is not None:
            raise UsageError("--match A B names both bots and the format: leave out the others")
        bots, given["format"] = match, "ab"
    given["bots"] = list(bots) or None
    given["maps.names"], given["maps.sizes"] = list(map_names) or None, list(sizes) or None
    if mix_versions and resume is None:
        raise UsageError("--mix-versions is for --resume")
    sys.exit(run(_load(config, given, resume), terminal(), resume=resume is not None, mix_versions=mix_versions))


def _load(config: str | None, given: dict[str, Any], resume: Path | None) -> Config[ArenaSettings]:
    """The settings. What is resumed brings its own along, unless a configuration or bots are named."""
    from vindibot.arena import setup_path
    from vindibot.config import load_config, short

    if resume is not None:
        if given["results"] is not None:
            raise UsageError("--resume names the file of results: leave out --results")
        given["results"] = str(resume)
        beside = setup_path(resume)
        if config is None and given["bots"] is None:
            if not beside.is_file():
                raise UsageError(
                    f"{short(beside)}, the configuration of {short(resume)}, is not there: name the bots or --config"
                )
            config = str(beside.absolute())
    return load_config(ArenaSettings, config, given, environ={}, option_names=option_names(ArenaSettings, SPELLED))


def run(config: Config[ArenaSettings], console: Console, *, resume: bool = False, mix_versions: bool = False) -> int:
    """Play a tournament and show what came of it; returns the exit code (see the command's help). Raises `VindibotError` for
    what makes it impossible, before the first game."""
    from behaviours.registry import nearest
    from vindibot.arena import ConsoleReporter, interruptible, prepare
    from vindibot.base import log
    from vindibot.engine import warm

    settings = config.settings
    with log.configured(settings.log.level, settings.log.file, console):
        tournament = prepare(config, resume=resume, mix_versions=mix_versions)
        if settings.anchor and settings.anchor not in tournament.bots:
            raise config.refuse(
                "anchor", f"must be a bot that plays, not {settings.anchor!r}{nearest(settings.anchor, tournament.bots)}"
            )
        try:
            with interrupts.saying(f"interrupted: {_kept(tournament)}"):
                warm(console)
            watch = ConsoleReporter(console)
            words = f"interrupted: the games that ended are kept; go on with: {tournament.resume_command()}"
            with interrupts.saying(words), interruptible(tournament, watch):
                tournament.play(watch)
            return conclude(tournament, console)
        except KeyboardInterrupt:  # while kernels are compiled, or the tables made
            return _last_words(tournament, console, interrupted=True)


def conclude(tournament: Tournament, console: Console) -> int:
    """Show what came of a tournament; the exit code."""
    from vindibot.arena import show, summarise, write_report
    from vindibot.config import short

    settings, lines = tournament.settings, tournament.lines

    def say(text: str, style: str = "") -> None:
        console.print(text, style=style, markup=False, highlight=False, soft_wrap=True)

    if lines:
        anchor = settings.anchor or ("seed" if "seed" in tournament.bots else None)
        summary = summarise(lines, tournament.bots, anchor=anchor, sprt=settings.sprt, planned=settings.blocks)
        show(console, summary)
        if settings.report:
            try:
                say(f"report: {short(write_report(tournament.path, summary, lines, tournament.bots))}", "dim")
            except VindibotError as problem:  # the disk is full, say: the results are kept all the same
                say(problem.message, "bold red")
    return _last_words(tournament, console)


def _kept(tournament: Tournament) -> str:
    """How many games there are, and the command that goes on."""
    return f"{len(tournament.lines)} of {len(tournament.schedule)} games are kept; go on with: {tournament.resume_command()}"


def _last_words(tournament: Tournament, console: Console, *, interrupted: bool = False) -> int:
    """Say where everything is, what went wrong, and how to go on; the exit code."""
    from vindibot.arena import mixed_versions
    from vindibot.config import short

    settings, lines = tournament.settings, tournament.lines

    def say(text: str, style: str = "") -> None:
        console.print(text, style=style, markup=False, highlight=False, soft_wrap=True)

    if mixed := mixed_versions(lines):
        say(mixed, "yellow")
    say(f"results: {short(tournament.path)} (seed {tournament.schedule.seed})", "dim")
    if logs := tournament.logs():
        games = "games" if settings.logs == "all" else "games with forfeits"
        say(f"logs: {short(logs)}/ has what bots wrote in {games}, a file per game and seat", "dim")
    kept = _kept(tournament)
    if tournament.error:
        say(f"stopped: {tournament.error}; {kept}", "bold red")
        return 1
    if interrupted or (tournament.stop.soon and not tournament.complete):
        say(f"interrupted: {kept}", "yellow")
        return interrupts.INTERRUPTED
    beyond = tournament.forfeits()
    for bot, share in sorted(beyond.items()):
        say(f"{bot} forfeited {share:.1%} of its games, more than {settings.max_forfeits:.1%}", "bold red")
    return FORFEITS if beyond else 0


arena_command = click.Command(
    "arena",
    callback=_arena,
    params=[
        click.Argument(["bots"], nargs=-1, metavar="[BOTS]...", shell_complete=complete_bots),
        click.Option(["--config", "-c", "config"], metavar="FILE", help="the configuration of a tournament (docs/arena.md)"),
        click.Option(
            ["--resume", "resume"],
            metavar="FILE",
            type=click.Path(path_type=Path),
            help="go on with the tournament of this file of results",
        ),
        click.Option(
            ["--mix-versions", "mix_versions"],
            is_flag=True,
            help="with --resume: go on although vindibot or a bot is not the same any more as in the games before",
        ),
        click.Option(["--match", "match"], nargs=2, metavar="A B", help="two bots, two seats each: the same as --format ab"),
        click.Option(
            ["--map", "map_names"],
            multiple=True,
            metavar="MAP",
            help="play on this map, a name (m1) or a file; repeatable",
            shell_complete=complete_maps,
        ),
        click.Option(["--size", "sizes"], multiple=True, type=int, metavar="N", help="only maps of this size; repeatable"),
        *settings_options(ArenaSettings, spelled=SPELLED, words=WORDS, hidden=HIDDEN),
    ],
    short_help="Play bots against each other and say which is better.",
    help="""Play bots against each other and say which is better, and how sure that is.

BOTS are names or files of bots, random or stay (built in), names of tables of the configuration, http:COMMAND for a
program that speaks to a server, or stdio:COMMAND for one that speaks in lines; LABEL= before one names it. All games
follow from the configuration and the seed. Every finished game is kept at once: Ctrl-C ends the tournament after the
games that are running, twice at once, and --resume goes on with it.

Exit codes: 0 all games played, 2 the configuration cannot be, 6 a bot forfeited more of its games than --max-forfeits,
130 interrupted.

\b
Examples:
  vindibot arena seed malvert random stay --blocks 20
  vindibot arena --match mine.toml seed --blocks 200 --sprt-stop
  vindibot arena seed "http:python3 client.py {key} {server}" "mine=stdio:./mine" stay --rounds 100
  vindibot arena --resume results/cup.jsonl
""",
)
