"""The command line: ``vindibot play`` and all other commands.

To start fast, this module imports the module of a command only when it is needed. A command imports other packages of vindibot
only when it runs. `EXIT_CODES` explains the exit codes.
"""

from __future__ import annotations

import sys
import warnings
from importlib import import_module
from typing import Any

import click

from vindibot import __version__
from vindibot.base import interrupts
from vindibot.base.errors import VindibotError
from vindibot.base.startup import check_folder
from vindibot.base.text import printable_lines

#: The commands in the order of the help, with the package of each. The module of a command has its name.
COMMANDS = {
    "play": "vindibot.cli.playing",
    "init": "vindibot.cli",
    "challenge": "vindibot.cli.playing",
    "arena": "vindibot.cli.measuring",
    "positions": "vindibot.cli.measuring",
    "check": "vindibot.cli.measuring",
    "ladder": "vindibot.cli.measuring",
    "tune": "vindibot.cli.measuring",
    "learn": "vindibot.cli.measuring",
    "stdio": "vindibot.cli.playing",
    "serve": "vindibot.cli.playing",
    "league": "vindibot.cli.playing",
    "replay": "vindibot.cli.looking",
    "review": "vindibot.cli.looking",
    "diff": "vindibot.cli.looking",
    "explain": "vindibot.cli.looking",
    "turn": "vindibot.cli.looking",
    "bench": "vindibot.cli.measuring",
    "tree": "vindibot.cli.looking",
    "bots": "vindibot.cli",
    "behaviours": "vindibot.cli",
    "config": "vindibot.cli",
    "doctor": "vindibot.cli",
    "warm": "vindibot.cli",
    "completion": "vindibot.cli",
}


class Commands(click.Group):
    """The group of all commands. It turns the errors of a command into a message and an exit code."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            return None
        command: click.Command = getattr(import_module(f"{COMMANDS[cmd_name]}.{cmd_name}"), f"{cmd_name}_command")
        return command

    def main(self, *args: Any, **kwargs: Any) -> Any:
        warnings.showwarning = _show_warning
        try:
            return super().main(*args, **kwargs)
        except VindibotError as problem:
            click.echo(f"{click.style('error', fg='red', bold=True)}: {printable_lines(problem.message)}", err=True)
            sys.exit(problem.exit_code)

    def invoke(self, ctx: click.Context) -> Any:
        check_folder()
        interrupts.in_order()
        try:
            return super().invoke(ctx)
        except KeyboardInterrupt:  # click would exit with code 1
            interrupts.at_once_again()
            interrupts.tell()
            raise click.exceptions.Exit(interrupts.INTERRUPTED) from None
        finally:
            interrupts.at_once_again()


_show_in_full = warnings.showwarning


def _show_warning(message: Warning | str, category: type[Warning], *place: Any, **more: Any) -> None:
    """Print a `RuntimeWarning`, which is for users, as one line. Print other warnings as Python does."""
    if issubclass(category, RuntimeWarning):
        click.echo(f"{click.style('warning', fg='yellow', bold=True)}: {message}", err=True)
    else:
        _show_in_full(message, category, *place, **more)


EXIT_CODES = """\b
Exit codes of all commands:
    0  success
    1  failure: a fault ended a game, a state differs, a trait is broken
    2  usage error: in the command, a configuration or a bot file
    6  arena: a bot forfeited a larger share of its games than max_forfeits
  130  interrupted; finished games are saved
"""


def _show_version(ctx: click.Context, parameter: click.Parameter, wanted: bool) -> None:
    """Print the version and the build. Tournaments write both into their results."""
    if wanted and not ctx.resilient_parsing:
        from vindibot.config.signature import build

        click.echo(f"vindibot, version {__version__}\nbuild {build().digest}: {build()}")
        ctx.exit()


@click.group(
    cls=Commands,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110, "show_default": True},
    epilog=EXIT_CODES,
)
@click.option(
    "--version", is_flag=True, is_eager=True, expose_value=False, callback=_show_version, help="Show the version and exit."
)
def main() -> None:
    """Write, run, watch, compare and improve bots for the game Vindinium.

    Begin with `vindibot play`: it plays a game on a server that it starts itself. The rules of the game are in docs/rules.md,
    and on the page /doc of each server (`vindibot serve`).
    """
