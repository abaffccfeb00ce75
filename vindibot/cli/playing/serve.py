"""``vindibot serve``: run the game server."""

from __future__ import annotations

import os
import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from vindibot.base.address import lan_address
from vindibot.base.errors import UsageError
from vindibot.base.output.console import say
from vindibot.cli.measuring.parameters import PATH, config_option
from vindibot.cli.options import load_settings, overrides, settings_options
from vindibot.server.settings import COMMAND_DEFAULTS, ServerSettings

if TYPE_CHECKING:
    from rich.console import Console

    from vindibot.league.league import League
    from vindibot.league.server import LeagueServer

#: The names of the options whose names do not follow from the keys of their settings.
SPELLED = {"time_limit_ms": "--limit-ms", "admin_key": "--admin-key-file"}
#: Settings without an option for the value: keys, because every user of the machine could read them on the command line, and the
#: limits of the server, which only experts change.
HIDDEN = {"admin_key", "keys"} | {
    key
    for key in ServerSettings.model_fields
    if key.startswith("max_") or key.endswith(("_per_key", "_per_address", "_per_minute", "_seconds"))
}
ADMIN_VARIABLE = "VINDIBOT_ADMIN_KEY"
ALL_INTERFACES = "0.0.0.0"
ANY_ADDRESS = (ALL_INTERFACES, "::")
LOOPBACK = ("127.0.0.1", "localhost", "::1")
#: Largest number of leagues whose addresses are printed.
MAX_LEAGUES = 5


def _admin_key(path: Path | None) -> str | None:
    """Return the administrator's key from the file `path` or from the environment, or None. Raises `UsageError`."""
    from vindibot.base.keys import check_key, read_key_file

    if path is not None:
        return read_key_file(path).get_secret_value()
    text = os.environ.get(ADMIN_VARIABLE, "")
    return check_key(text, ADMIN_VARIABLE).get_secret_value() if text else None


def _print_address(console: Console, server: LeagueServer) -> None:
    """Print the address of the server, and a warning if other machines can reach it."""
    say(console, f"serving on {server.url} (Ctrl-C stops it)")
    host = server.settings.host
    if host in ANY_ADDRESS:
        say(console, f"in this network: http://{lan_address()}:{server.port}", "bold")
    address = f"http://{lan_address()}:{server.port}" if host in ANY_ADDRESS else server.url
    if host not in LOOPBACK:
        players = "anyone with any key" if server.settings.keys == "any" else "anyone who registers"
        say(console, f"other machines can reach this address: {players} may play", "yellow")
    for director in list(server.leagues.directors.values())[:MAX_LEAGUES]:
        _print_league(console, director.league, server, address)


def _print_league(console: Console, league: League, server: LeagueServer, address: str) -> None:
    """Print the addresses of a league's pages, the command that starts it, and the command with which bots join."""
    from vindibot.league.league import ORGANISER_SUFFIX
    from vindibot.league.settings import play_command, start_text

    start = league.settings.start if league.state == "waiting" else None
    state = league.state if start is None else f"starts at {start_text(start)}"
    say(console, f"league {league.name}: {league.progress()}, {state}")
    say(console, f"  projector: {address}/leagues/{league.name}/projector", "bold")
    organiser = f"  organiser: {address}/leagues/{league.name}/organiser"
    if league.path is not None and league.organiser is not None:
        say(console, f"{organiser} (the key is in {league.path.parent / f'{league.name}{ORGANISER_SUFFIX}'})")
        if league.state == "waiting":
            where = [] if server.port == COMMAND_DEFAULTS["port"] else ["--server", server.url]
            words = shlex.join(["vindibot", "league", "start", str(league.path), *where])
            say(console, f"  to start the games, in another terminal: {words}")
    if league.settings.fillers and not league.over:
        say(console, f"  for missing bots: {', '.join(league.settings.fillers)}")
    if not league.over:
        say(console, "  a bot joins with this command, with its own key and name:")
        say(console, f"    {play_command(league.settings, address)}", "bold")


@click.command("serve", short_help="Run a game server with the original protocol.")
@config_option
@click.option("--lan", is_flag=True, help="listen on all network interfaces, and print the address for other machines")
@settings_options(ServerSettings, spelled=SPELLED, hidden=HIDDEN, defaults=COMMAND_DEFAULTS)
@click.option("--any-key/--registered-keys", default=None, help="accept any key of 8 characters, or registered keys only")
@click.option(
    "--admin-key-file",
    type=PATH,
    help=f"a file with the administrator's key, for /api/admin; the variable {ADMIN_VARIABLE} can hold this key instead",
)
def serve_command(config: str | None, lan: bool, any_key: bool | None, admin_key_file: Path | None, **options: Any) -> None:
    """Run a game server with the original protocol, until Ctrl-C.

    Clients POST to /api/training for a game against bots of the server, or to /api/arena for a game against each other. An arena
    game begins when four players wait. Only programs on this machine can reach the default address.

    \b
    Examples:
      vindibot serve                      on port 9000 of this machine
      vindibot serve --lan                for all machines in this network
      vindibot serve --lan --limit-ms 3000 --pace original
    """
    from vindibot.base import log
    from vindibot.base.output.console import terminal
    from vindibot.base.system.limits import allow_many_files
    from vindibot.engine.warmup import warm
    from vindibot.league.server import run_server

    given = overrides(options)
    if lan and given["host"] is not None:
        raise UsageError("--lan listens on all interfaces, --host on one: give only one of them")
    if lan:
        given["host"] = ALL_INTERFACES
    if any_key is not None:
        given["keys"] = "any" if any_key else "registered"
    given["admin_key"] = _admin_key(admin_key_file)
    spelled = SPELLED if admin_key_file is not None else {**SPELLED, "admin_key": ADMIN_VARIABLE}
    loaded = load_settings(ServerSettings, config, given, spelled)
    defaults = {key: value for key, value in COMMAND_DEFAULTS.items() if key not in loaded.origins}
    if loaded.settings.league is not None and any_key is None:  # a league is for the bots of its roster
        defaults["keys"] = "registered"
    settings = loaded.settings.model_copy(update=defaults)
    console = terminal()
    warm(console)
    allow_many_files()  # each waiting client needs a socket
    log.add_secret(settings.admin_key)
    with log.configured(console=console):
        run_server(settings, lambda server: _print_address(console, server))
