"""The command line: ``vindibot play`` and all the other commands.

Commands import what they need when they run, so that ``vindibot --help`` costs nothing. What the exit codes mean is said at
the end of the help.
"""

from __future__ import annotations

import sys
import warnings
from typing import Any

import click

from vindibot import __version__
from vindibot.base import VindibotError, interrupts, printable_lines
from vindibot.cli.arena import arena_command
from vindibot.cli.behaviours import behaviours_command
from vindibot.cli.bench import bench_command
from vindibot.cli.challenge import challenge_command
from vindibot.cli.completion import completion_command
from vindibot.cli.config import config_command
from vindibot.cli.doctor import doctor_command
from vindibot.cli.explain import explain_command
from vindibot.cli.init import init_command
from vindibot.cli.league import league_command
from vindibot.cli.play import play_command
from vindibot.cli.replay import replay_command
from vindibot.cli.serve import serve_command
from vindibot.cli.tree import tree_command
from vindibot.cli.turn import turn_command
from vindibot.cli.verify import verify_command
from vindibot.cli.watch import watch_command


class Commands(click.Group):
    """The commands, in the order in which a newcomer meets them; their errors become messages and exit codes."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(self.commands)

    def main(self, *args: Any, **kwargs: Any) -> Any:
        warnings.showwarning = _show_warning
        try:
            return super().main(*args, **kwargs)
        except VindibotError as problem:
            click.echo(f"{click.style('error', fg='red', bold=True)}: {printable_lines(problem.message)}", err=True)
            sys.exit(problem.exit_code)

    def invoke(self, ctx: click.Context) -> Any:
        interrupts.in_order()
        try:
            return super().invoke(ctx)
        except KeyboardInterrupt:  # click itself would make it an exit code of 1
            interrupts.at_once_again()
            interrupts.tell()
            raise click.exceptions.Exit(interrupts.INTERRUPTED) from None
        finally:
            interrupts.at_once_again()


_show_in_full = warnings.showwarning


def _show_warning(message: Warning | str, category: type[Warning], *place: Any, **more: Any) -> None:
    """Write a warning for users as a line of its own; those for programmers as Python does."""
    if issubclass(category, RuntimeWarning):
        click.echo(f"{click.style('warning', fg='yellow', bold=True)}: {message}", err=True)
    else:
        _show_in_full(message, category, *place, **more)


EXIT_CODES = """\b
Exit codes of all commands:
    0  all is well
    1  it ran and failed: a game that was lost to a fault, a state that differs, something broken
    2  what was asked for cannot be: a slip in the command, a configuration or a bot file
    6  arena: a bot forfeited more of its games than --max-forfeits
  130  interrupted; what was finished is kept
"""


def _show_version(ctx: click.Context, parameter: click.Parameter, asked: bool) -> None:
    """The version, and the build that results are signed with."""
    if asked and not ctx.resilient_parsing:
        from vindibot.config import build

        click.echo(f"vindibot, version {__version__}\nbuild {build().digest}: {build()}")
        ctx.exit()


@click.group(cls=Commands, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110}, epilog=EXIT_CODES)
@click.option(
    "--version", is_flag=True, is_eager=True, expose_value=False, callback=_show_version, help="Show the version and exit."
)
def main() -> None:
    """Write, run, watch, compare and improve bots for the game Vindinium.

    `vindibot play` is the place to begin: a whole game against a server that it brings along.
    """


main.add_command(play_command)
main.add_command(init_command)
main.add_command(challenge_command)
main.add_command(arena_command)
main.add_command(serve_command)
main.add_command(league_command)
main.add_command(replay_command)
main.add_command(explain_command)
main.add_command(watch_command)
main.add_command(turn_command)
main.add_command(bench_command)
main.add_command(tree_command)
main.add_command(verify_command)
main.add_command(behaviours_command)
main.add_command(config_command)
main.add_command(doctor_command)
main.add_command(completion_command)
