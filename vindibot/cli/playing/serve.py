"""``vindibot serve``: run the game server."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from vindibot.base.errors import UsageError
from vindibot.cli.options import PATH, config_option, load_settings, overrides, settings_options
from vindibot.league.settings import LeagueServerSettings
from vindibot.server.settings import COMMAND_DEFAULTS

#: The names of the options whose names do not follow from the keys of their settings.
SPELLED = {"time_limit_ms": "--limit-ms", "admin_key": "--admin-key-file"}
#: Settings without an option for the value: keys, because every user of the machine could read them on the command line, and the
#: limits of the server, which only experts change.
HIDDEN = {"admin_key", "keys"} | {
    key
    for key in LeagueServerSettings.model_fields
    if key.startswith("max_") or key.endswith(("_per_key", "_per_address", "_per_minute", "_seconds"))
}
#: The variable with the administrator's key, if no file has it.
ADMIN_VARIABLE = "VINDIBOT_ADMIN_KEY"


@click.command("serve", short_help="Run a game server with the original protocol.")
@config_option
@click.option("--lan", is_flag=True, help="listen on all network interfaces, and print the address for other machines")
@settings_options(LeagueServerSettings, spelled=SPELLED, hidden=HIDDEN, defaults=COMMAND_DEFAULTS)
@click.option(
    "--any-key/--registered-keys",
    "keys",
    default=None,
    callback=lambda _, __, any_key: None if any_key is None else "any" if any_key else "registered",
    help="accept any key of 8 characters, or registered keys only",
)
@click.option(
    "--admin-key-file",
    "key_file",
    type=PATH,
    help=f"a file with the administrator's key, for /api/admin; the variable {ADMIN_VARIABLE} can hold this key instead",
)
def serve_command(config: str | None, lan: bool, key_file: Path | None, **options: Any) -> None:
    """Run a game server with the original protocol, until Ctrl-C.

    Clients POST to /api/training for a game against bots of the server, or to /api/arena for a game against each other. An arena
    game begins when four players wait. Only programs on this machine can reach the default address.

    \b
    Examples:
      vindibot serve                      on port 9000 of this machine
      vindibot serve --lan                for all machines in this network
      vindibot serve --lan --limit-ms 3000 --pace original
    """
    from vindibot.base.console import terminal
    from vindibot.league.server import ALL_INTERFACES, admin_key, serve

    values = overrides(options) | {"admin_key": admin_key(key_file, ADMIN_VARIABLE)}
    if lan and values["host"] is not None:
        raise UsageError("--lan listens on all interfaces, --host on one: give only one of them")
    values |= {"host": ALL_INTERFACES} if lan else {}
    spelled = SPELLED if key_file is not None else {**SPELLED, "admin_key": ADMIN_VARIABLE}
    serve(load_settings(LeagueServerSettings, config, values, spelled), terminal())
