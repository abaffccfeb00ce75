"""``vindibot serve``: the server on the command line, with an option for each of its settings."""

from __future__ import annotations

import contextlib
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from vindibot.base import UsageError, lan_address
from vindibot.cli.options import option_names, overrides, settings_options
from vindibot.server import COMMAND_DEFAULTS, ServerSettings

if TYPE_CHECKING:
    from rich.console import Console

    from vindibot.server import EmbeddedServer

#: Options that are not spelled like their key.
SPELLED = {"time_limit_ms": "--limit-ms", "admin_key": "--admin-key-file"}
#: Settings without an option of this form: a key on the command line can be read by every user of the machine.
HIDDEN = {"admin_key", "keys"}
ADMIN_VARIABLE = "VINDIBOT_ADMIN_KEY"
ALL_INTERFACES = "0.0.0.0"
EVERYWHERE = (ALL_INTERFACES, "::")
LOOPBACK = ("127.0.0.1", "localhost", "::1")


def _serve(config: str | None, lan: bool, any_key: bool | None, admin_key_file: Path | None, **options: Any) -> None:
    from vindibot.base import log, terminal
    from vindibot.config import load_config
    from vindibot.engine import warm
    from vindibot.server import run_server

    given = overrides(options)
    if lan and given["host"] is not None:
        raise UsageError("--lan listens on all interfaces, --host on one: give one of the two")
    if lan:
        given["host"] = ALL_INTERFACES
    if any_key is not None or given["league"] is not None:
        given["keys"] = "any" if any_key else "registered"
    given["admin_key"] = _admin_key(admin_key_file)
    names = option_names(ServerSettings, SPELLED)
    if admin_key_file is None:
        names["admin_key"] = ADMIN_VARIABLE
    loaded = load_config(ServerSettings, config, given, environ={}, option_names=names)
    own = {key: value for key, value in COMMAND_DEFAULTS.items() if key not in loaded.origins}
    settings = loaded.settings.model_copy(update=own)
    console = terminal()
    warm(console)
    allow_many_files()
    log.add_secret(settings.admin_key)
    with log.configured(console=console):
        run_server(settings, lambda server: _tell(console, server))


def _admin_key(path: Path | None) -> str | None:
    """The administrator's key, from a file or from the environment. Raises `UsageError`."""
    from vindibot.base import check_key, read_key_file

    if path is not None:
        return read_key_file(path).get_secret_value()
    text = os.environ.get(ADMIN_VARIABLE, "")
    return check_key(text, ADMIN_VARIABLE).get_secret_value() if text else None


def _tell(console: Console, server: EmbeddedServer) -> None:
    """Say where the server is, and who can reach it."""
    console.print(f"serving on {server.url} (Ctrl-C ends it)", highlight=False)
    host = server.settings.host
    if host in EVERYWHERE:
        console.print(f"in this network: http://{lan_address()}:{server.port}", style="bold", highlight=False)
    if host not in LOOPBACK:
        who = "anybody with any key" if server.settings.keys == "any" else "anybody who registers"
        console.print(f"this address can be reached from other machines: {who} may play", style="yellow")


def allow_many_files() -> None:
    """Open files as far as the system lets this process: every waiting client is a socket."""
    with contextlib.suppress(ImportError, OSError, ValueError):
        import resource

        soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        if soft != hard:
            resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))


def _options() -> list[click.Parameter]:
    return [
        click.Option(["--config", "-c", "config"], metavar="FILE", help="a file with settings: a line  key = value  for each"),
        click.Option(["--lan"], is_flag=True, help="listen on all interfaces and print the address for the class"),
        *settings_options(ServerSettings, spelled=SPELLED, hidden=HIDDEN, defaults=COMMAND_DEFAULTS),
        click.Option(
            ["--any-key/--registered-keys"],
            default=None,
            help="let in any key of 8 characters, or registered keys only",
        ),
        click.Option(
            ["--admin-key-file"],
            type=click.Path(path_type=Path),
            help=f"a file with the administrator's key, for /api/admin; or set {ADMIN_VARIABLE}",
        ),
    ]


serve_command = click.Command(
    "serve",
    callback=_serve,
    params=_options(),
    short_help="Run a game server that speaks the original protocol.",
    help="""Run a game server that speaks the original protocol, until Ctrl-C.

Clients POST to /api/training for a game against the server's bots, or to /api/arena for one against each other: a game
begins when four have joined. It listens on this machine alone unless told otherwise.

\b
Examples:
  vindibot serve                      on port 9000 of this machine
  vindibot serve --lan                for everybody in this network
  vindibot serve --lan --limit-ms 3000 --pace original
""",
)
