"""``vindibot ladder``: play games without end to rate the bots of a folder."""

from __future__ import annotations

import shlex
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from vindibot.arena.settings import RUNGS, ArenaSettings
from vindibot.base import interrupts
from vindibot.base.errors import VindibotError
from vindibot.base.output.console import say
from vindibot.cli.completion import complete_bots
from vindibot.cli.measuring.arena import HIDDEN, SPELLED
from vindibot.cli.measuring.parameters import PATH, GivenPath, map_option, size_option
from vindibot.cli.options import WORDS, RecordedCommand, load_settings, option_names, overrides, settings_options

if TYPE_CHECKING:
    from rich.console import Console

    from vindibot.arena.ladder import Ladder

#: Settings of the arena that a ladder does not have.
NOT_HERE = (
    HIDDEN
    | {"format", "blocks", "report", "max_forfeits", "results"}
    | {key for key in option_names(ArenaSettings, SPELLED) if key.startswith(("cluster.", "sprt."))}
)
#: Least number of seconds between two versions of the page, and the part of the time that may be spent on the page.
REFRESH_SECONDS, PAGE_SHARE = 30, 0.05


class _LadderPage:
    """The page with the table, which is written again while games are played."""

    def __init__(self, ladder: Ladder, console: Console) -> None:
        self._ladder, self._console = ladder, console
        self._next = 0.0

    def note(self, text: str) -> None:
        """Print a line for people."""
        say(self._console, text)

    def finished(self) -> None:
        """Write the page again, unless this was done a short time ago."""
        if time.monotonic() >= self._next:
            began = time.monotonic()
            self.write(resamples=0, refresh=REFRESH_SECONDS)
            now = time.monotonic()
            self._next = now + max(REFRESH_SECONDS, (now - began) / PAGE_SHARE)
            widest = max(self._ladder.ratings(), key=lambda one: (one.high or 0) - (one.low or 0))
            half = ((widest.high or 0) - (widest.low or 0)) / 2
            self.note(f"{len(self._ladder.lines)} games; the widest interval: {widest.bot} {widest.rating:.0f} ± {half:.0f}")

    def write(self, *, resamples: int, refresh: int = 0) -> None:
        """Write the page. A browser loads it again every `refresh` seconds, if this is not 0."""
        from vindibot.arena.report.page import write_report

        ladder = self._ladder
        summary = ladder.summary(resamples=resamples)
        title = f"ladder of {ladder.folder.resolve().name}"
        write_report(ladder.path, summary, ladder.lines, [*ladder.bots], ladder.settings.replays, title=title, refresh=refresh)


@click.command("ladder", cls=RecordedCommand, short_help="Play games without end to rate the bots of a folder.")
@click.argument("folder", type=GivenPath(file_okay=False))
@click.argument("rungs", nargs=-1, metavar="[RUNG]...", shell_complete=complete_bots)
@click.option("--config", "-c", metavar="NAME", help="a configuration of the arena: a path, or a name from tournaments/")
@click.option("--results", type=PATH, help="the file of results  [default: FOLDER/ladder.jsonl]")
@click.option("--games", type=click.IntRange(1), help="end when the file has this number of games  [default: no end]")
@click.option("--table", type=PATH, help="at the end, write the ratings to this file (TOML)")
@click.option("--mix-versions", is_flag=True, help="go on even if vindibot has changed since the last games")
@map_option
@size_option
@settings_options(ArenaSettings, spelled=SPELLED, hidden=NOT_HERE)
@click.pass_context
def ladder_command(
    context: click.Context,
    /,
    folder: Path,
    rungs: tuple[str, ...],
    config: str | None,
    results: Path | None,
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
    from vindibot.arena.ladder import prepare_ladder, table_output, write_table
    from vindibot.arena.report.table import show
    from vindibot.arena.tournament import stopping
    from vindibot.arena.worker import preparing
    from vindibot.base import log
    from vindibot.base.output.console import terminal
    from vindibot.config.files import short
    from vindibot.engine.warmup import warm

    given = overrides(options) | {"bots": list(rungs) or None, "results": None if results is None else str(results)}
    given |= {"maps.names": list(maps) or None, "maps.sizes": list(sizes) or None}
    settings = load_settings(ArenaSettings, config, given, SPELLED)
    if not rungs and settings.origin("bots").kind == "default":
        settings = load_settings(ArenaSettings, config, given | {"bots": list(RUNGS)}, SPELLED)
    if table is not None:
        table_output(table).check()
    words = shlex.join(["vindibot", "ladder", *context.meta[WORDS]])
    console = terminal()
    with log.configured(settings.settings.log.level, settings.settings.log.file, console):
        ladder = prepare_ladder(settings, folder, most=games, mix_versions=mix_versions, command=words)
        page = _LadderPage(ladder, console)
        with interrupts.saying("interrupted: the finished games are saved; the same command goes on with them"):
            with preparing(ladder.rungs):
                warm(console)
            with stopping(ladder.stop):
                ladder.play(page.note, page.finished)
        if ladder.lines:
            page.write(resamples=1000)
            show(console, ladder.summary())
        if table is not None:
            write_table(table, ladder, words)
    if ladder.error:
        raise VindibotError(ladder.error)
    page.note(f"{len(ladder.lines)} games are saved in {short(ladder.path)}; the page: {short(ladder.path.with_suffix('.html'))}")
    if ladder.stop.soon:
        sys.exit(interrupts.INTERRUPTED)
