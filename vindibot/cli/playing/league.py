"""``vindibot league``: make a league from a roster, start and pause it on a server, and show the standings."""

from __future__ import annotations

import asyncio
import json
import shlex
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from vindibot.base.errors import UsageError, VindibotError
from vindibot.cli.measuring.parameters import PATH, config_option
from vindibot.cli.options import load_settings, overrides, settings_options
from vindibot.league.settings import LeagueSettings, start_text
from vindibot.server.settings import COMMAND_DEFAULTS

if TYPE_CHECKING:
    from pydantic import SecretStr
    from rich.console import Console

    from vindibot.base.address import ServerAddress
    from vindibot.server.admin.roster import RosterEntry

SPELLED = {"time_limit_ms": "--limit-ms", "absence_timeout_s": "--absence-timeout"}


@click.group(name="league", short_help="Make a league of bots for `vindibot serve`, start it, and show its standings.")
def league_command() -> None:
    """Make a league of bots, start it, and show its standings.

    \b
      vindibot league new spring class.csv             writes spring.league.json and the keys of the bots
      vindibot serve --lan --league spring.league.json lets the bots join; the page /leagues/spring shows the standings
      vindibot league start spring.league.json         starts the games, in another terminal
      vindibot league slips spring.league.json         writes a page to print: a slip with its key for each pupil
    """


def _read_maps(text: str | None) -> tuple[str, ...] | None:
    """Return the maps in a comma-separated list. The name of a map stays a name. The path of a map file is replaced by the text
    of the map."""
    from vindibot.config.maps import map_text

    if text is None:
        return None
    return tuple(map_text(word.strip()) or word.strip() for word in text.split(",") if word.strip())


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
    from vindibot.base.output.console import say, terminal
    from vindibot.base.output.text import counted
    from vindibot.league.league import ORGANISER_SUFFIX, SUFFIX, League
    from vindibot.league.slips import new_organiser_key, write_keys, write_organiser_key

    given = overrides(options)
    given["maps"] = _read_maps(given["maps"])
    settings = load_settings(LeagueSettings, config, given, SPELLED).settings
    console = terminal()
    entrants = _read_roster(roster, console)
    path, keys, organiser = (folder / f"{name}{suffix}" for suffix in (SUFFIX, "-keys.csv", ORGANISER_SUFFIX))
    organiser_key = new_organiser_key()
    league = League.create(name, settings, entrants, path, organiser_key)
    writers: dict[Path, Callable[[], None]] = {organiser: lambda: write_organiser_key(organiser_key, organiser)}
    if any(entrant.made for entrant in entrants):
        writers[keys] = lambda: write_keys(entrants, keys)
    for file in (path, *writers):
        if file.exists():
            raise UsageError(f"{file} already exists: choose another name, or move the file away")
    written: list[Path] = []
    try:
        for file, write in writers.items():
            write()
            written.append(file)
        league.save(new=True)
    except VindibotError:
        for file in written:  # without the league, the keys in these files are useless
            file.unlink(missing_ok=True)
        raise
    of_swiss = settings.system == "swiss"
    when = f"on day 1 of {league.days}" if of_swiss else f"on {counted(league.days, 'day')}"
    say(console, f"{path}: {counted(len(entrants), 'bot')}, {counted(len(league.fixtures), 'game')} {when}")
    if keys in written:
        say(console, f"{keys}: the keys for the bots; this is the only copy")
    say(console, f"{organiser}: the key of the organiser; this is the only copy")
    say(console, f"to print a slip with all of this for each bot: {_typed('league', 'slips', path)}")
    say(console, f"now: {_typed('serve', '--lan', '--league', path)}")
    if settings.start is None:
        say(console, f"then, when the bots are there: {_typed('league', 'start', path)}")
    else:
        say(console, f"the games begin at {start_text(settings.start)}; to begin earlier: {_typed('league', 'start', path)}")


def _read_roster(path: Path, console: Console) -> list[RosterEntry]:
    """Return the bots of a roster. Tell the user what was assumed when it was read."""
    from vindibot.base.output.console import say
    from vindibot.server.admin.roster import read_roster

    return read_roster(path, lambda text: say(console, text, "yellow"))


def _typed(*words: str | Path) -> str:
    return shlex.join(["vindibot", *map(str, words)])


@league_command.command(short_help="Write a page to print: a slip per bot, with its key and a QR code.")
@click.argument("file", type=PATH)
@click.option("--server", metavar="ADDRESS", help="the address of the server  [default: this machine in its network, port 9000]")
@click.option("--keys", type=PATH, help="the file with the names and keys of the bots  [default: NAME-keys.csv beside FILE]")
@click.option("--out", type=PATH, help="write the page to this file  [default: NAME-slips.html beside FILE]")
@click.option("--open", "show", is_flag=True, help="open the page in the browser")
def slips(file: Path, server: str | None, keys: Path | None, out: Path | None, show: bool) -> None:
    """Write a page to print for the league in FILE: a slip per bot.

    A slip has the name of the bot, its key, the address of the server, the command that joins, and the address of the league's
    page as text and as a QR code. A bot whose key is not in the file of --keys has a gap on its slip.

    \b
    Examples:
      vindibot league slips spring.league.json --open
      vindibot league slips spring.league.json --server http://192.0.2.7:9000 --keys class.csv
    """
    import webbrowser

    from vindibot.base.address import ServerAddress, lan_address
    from vindibot.base.output.console import say, terminal
    from vindibot.base.output.text import counted
    from vindibot.league.league import League
    from vindibot.league.slips import slips_page, write_slips

    league = League.load(file)
    address = ServerAddress.parse(server or f"http://{lan_address()}:{COMMAND_DEFAULTS['port']}")
    console = terminal()
    page = slips_page(league, _read_roster(keys or file.parent / f"{league.name}-keys.csv", console), address)
    path = out or file.parent / f"{league.name}-slips.html"
    write_slips(page, league.name, path)
    say(console, f"{path}: {counted(len(league.names), 'slip')} for the server {address}; the keys on them are secret")
    if show and not webbrowser.open(path.resolve().as_uri()):
        say(console, "found no browser: open this file yourself")


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
def start(file: Path, server: str, key_file: Path | None) -> None:
    """Start the games of the league in FILE on the server that serves it. Bots that are late may still join."""
    _organise(file, server, key_file, "start")


@league_command.command(short_help="Pause a league on a server.")
@_organising
def pause(file: Path, server: str, key_file: Path | None) -> None:
    """Pause the league in FILE on the server that serves it. Running games are played to their end, and no new game begins."""
    _organise(file, server, key_file, "pause")


@league_command.command(short_help="Let a paused league go on.")
@_organising
def resume(file: Path, server: str, key_file: Path | None) -> None:
    """Let the paused league in FILE go on, on the server that serves it."""
    _organise(file, server, key_file, "resume")


@league_command.command(short_help="Undo the absences of a bot.")
@_organising
@click.argument("bot", required=False)
def undo(file: Path, bot: str | None, server: str, key_file: Path | None) -> None:
    """Let BOT play the games that it lost because it was absent. Without BOT, undo the absences of all bots.

    This is possible until the next match day has been played. In a Swiss league, it is possible until the first game of the next
    match day begins.
    """
    _organise(file, server, key_file, "undo", bot)


def _organise(file: Path, server: str, key_file: Path | None, action: str, bot: str | None = None) -> None:
    """Send an action of the organiser to the server, and print the state of the league."""
    from vindibot.base import log
    from vindibot.base.address import ServerAddress
    from vindibot.base.keys import read_key_file
    from vindibot.base.output.console import say, terminal
    from vindibot.base.output.text import printable
    from vindibot.league.league import ORGANISER_SUFFIX, League

    league = League.load(file)
    key = read_key_file(key_file or file.parent / f"{league.name}{ORGANISER_SUFFIX}")
    log.add_secret(key)
    state = asyncio.run(_send(ServerAddress.parse(server), league.name, key, action, bot))
    here, bots = len(state["present"]), len(league.names)
    console = terminal()
    say(console, f"{league.name}: {state['state']}, day {state['day']} of {state['days']}; {here} of {bots} bots are here")
    if state["missing"]:
        say(console, printable(f"not connected: {', '.join(state['missing'])}"))


async def _send(address: ServerAddress, name: str, key: SecretStr, action: str, bot: str | None) -> dict[str, Any]:
    """Send an action to a server, and return the state of the league. Raises `VindibotError`."""
    from vindibot.base.output.redaction import Redactor
    from vindibot.client.transport import Transport, Within

    redact = Redactor(key.get_secret_value())
    transport = Transport(address, redact)
    form = {"key": key.get_secret_value(), "action": action} | ({} if bot is None else {"bot": bot})
    try:
        reply = await transport.post(address.url(f"/leagues/{name}/organiser"), form, Within())
    finally:
        await transport.aclose()
    text = redact.excerpt(reply.body, 300)
    if reply.status == 404:
        raise VindibotError(f"{address} has no league named {name}: name the right server with --server")
    if reply.status != 200:
        raise VindibotError(f"{address} refuses: {text}")
    try:
        state = json.loads(reply.body)
        return {key: state[key] for key in ("state", "day", "days", "present", "missing")}
    except (ValueError, KeyError, TypeError):
        raise VindibotError(f"{address} is not a server of a league; its answer begins {text[:80]!r}") from None


@league_command.command(short_help="Print the standings of a league.")
@click.argument("file", type=PATH)
@click.option("--format", "output", type=click.Choice(["table", "csv", "json"]), default="table")
def standings(file: Path, output: str) -> None:
    """Print the standings of the league in FILE. A server may play the league at the same time."""
    from vindibot.base.output.console import plain_table, terminal
    from vindibot.league.league import League
    from vindibot.league.standings import as_csv

    league = League.load(file)
    rows = league.table()
    if output == "csv":
        click.echo(as_csv(rows), nl=False)
    elif output == "json":
        click.echo(json.dumps([asdict(row) for row in rows], ensure_ascii=False, indent=1))
    else:
        title = f"{league.name}: {league.progress()}"
        heads = ("", "bot", "points", "games", "opponents beaten", "drawn", "lost to", "gold")
        table = plain_table(*heads, left=("bot",), title=title)
        for row in rows:
            numbers = (row.games, row.opponents_beaten, row.opponents_drawn, row.opponents_lost_to, row.gold)
            table.add_row(str(row.rank), row.name, f"{row.points:.2f}", *map(str, numbers))
        terminal().print(table, markup=False)
