"""``vindibot league``: make a league from a roster, start and pause it on a server, and show the standings."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from vindibot.cli.options import PATH, config_option, load_settings, overrides, settings_options
from vindibot.league.settings import LeagueSettings
from vindibot.server.settings import COMMAND_DEFAULTS

SPELLED = {"time_limit_ms": "--limit-ms", "absence_timeout_s": "--absence-timeout", "breaks": "--break"}


@click.group(name="league", short_help="Make a league of bots for `vindibot serve`, start it, and show its standings.")
def league_command() -> None:
    """Make a league of bots, start it, and show its standings.

    \b
      vindibot league new spring class.csv             writes spring.league.json and the keys of the bots
      vindibot serve --lan --league spring.league.json lets the bots join; the page /leagues/spring shows the standings
      vindibot league start spring.league.json         starts the games, in another terminal
      vindibot league slips spring.league.json         writes a page to print: a slip with its key for each pupil
    """


@league_command.command("new", short_help="Make a league from a roster.")
@click.argument("name")
@click.argument("roster", type=PATH)
@click.option("--folder", type=PATH, default=Path(), help="write the league and the keys into this folder")
@config_option
@settings_options(LeagueSettings, spelled=SPELLED)
def new(name: str, roster: Path, folder: Path, config: str | None, **options: Any) -> None:
    """Make a league called NAME from a ROSTER.

    The roster is a CSV or JSON file. A CSV file has a line per bot: its name, and optionally a key of 8 characters. A bot without
    a key gets a new key. The file NAME-keys.csv lists the new keys. The file NAME-organiser.key has the key with which you start
    and pause the league.

    \b
    Examples:
      vindibot league new spring class.csv
      vindibot league new cup class.csv --table duel --system swiss --seatings 6 --maps m1,m3
      vindibot league new cup class.csv --start 14:30
    """
    from vindibot.base.console import terminal
    from vindibot.league.command import make_league

    make_league(terminal(), name, roster, folder, load_settings(LeagueSettings, config, overrides(options), SPELLED).settings)


@league_command.command(short_help="Write a page to print: a slip per bot, with its key and a QR code.")
@click.argument("file", type=PATH)
@click.option("--server", metavar="ADDRESS", help="the address of the server  [default: this machine in its network, port 9000]")
@click.option("--keys", type=PATH, help="the file with the names and keys of the bots  [default: NAME-keys.csv beside FILE]")
@click.option("--out", type=PATH, help="write the page to this file  [default: NAME-slips.html beside FILE]")
@click.option("--open", "show", is_flag=True, help="open the page in the browser")
def slips(file: Path, **options: Any) -> None:
    """Write a page to print for the league in FILE: a slip per bot.

    A slip has the name of the bot, its key, the address of the server, the command that joins, and the address of the league's
    page as text and as a QR code. A bot whose key is not in the file of --keys has a gap on its slip.

    \b
    Examples:
      vindibot league slips spring.league.json --open
      vindibot league slips spring.league.json --server http://192.0.2.7:9000 --keys class.csv
    """
    from vindibot.base.console import terminal
    from vindibot.league.command import make_slips

    make_slips(terminal(), file, **options)


def _organising(function: Any) -> Any:
    """Add the parameters of a command that changes a league on a server."""
    port = COMMAND_DEFAULTS["port"]
    for parameter in (
        click.option("--key-file", type=PATH, help="the file of the organiser's or administrator's key  [default: beside FILE]"),
        click.option("--server", default=f"http://127.0.0.1:{port}", help="the address of the server"),
        click.argument("file", type=PATH),
    ):
        function = parameter(function)
    return function


@league_command.command(short_help="Start the games of a league on a server.")
@_organising
def start(file: Path, **options: Any) -> None:
    """Start the games of the league in FILE on the server that serves it. Bots that are late may still join."""
    _organise(file, "start", **options)


@league_command.command(short_help="Pause a league on a server.")
@_organising
def pause(file: Path, **options: Any) -> None:
    """Pause the league in FILE on the server that serves it. Running games are played to their end, and no new game begins."""
    _organise(file, "pause", **options)


@league_command.command(short_help="Let a paused league go on.")
@_organising
def resume(file: Path, **options: Any) -> None:
    """Let the paused league in FILE go on, on the server that serves it."""
    _organise(file, "resume", **options)


@league_command.command(short_help="Undo the absences of a bot.")
@_organising
@click.argument("bot", required=False)
def undo(file: Path, **options: Any) -> None:
    """Let BOT play the games that it lost because it was absent. Without BOT, undo the absences of all bots.

    This is possible until the first game of the final begins, or in a Swiss league the first game of the next match day.
    """
    _organise(file, "undo", **options)


def _organise(file: Path, action: str, **options: Any) -> None:
    from vindibot.base.console import terminal
    from vindibot.league.command import organise

    organise(terminal(), file, action, **options)


@league_command.command(short_help="Print the standings of a league.")
@click.argument("file", type=PATH)
@click.option("--format", "form", type=click.Choice(["table", "csv", "json"]), default="table")
def standings(file: Path, form: Any) -> None:
    """Print the standings of the league in FILE. A server may play the league at the same time."""
    from vindibot.base.console import terminal
    from vindibot.league.command import show_standings

    show_standings(terminal(), file, form)
