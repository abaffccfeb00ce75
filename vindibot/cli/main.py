"""The command line: ``vindibot play`` and all the other commands.

Commands import what they need when they run, so that ``vindibot --help`` costs nothing. What the exit codes mean is said at
the end of the help.
"""

from __future__ import annotations

import sys
import warnings
from pathlib import Path
from typing import Any

import click

from vindibot import __version__, interrupts
from vindibot.arena.cli import arena_command
from vindibot.catalogue import behaviours_command
from vindibot.challenge.cli import challenge_command
from vindibot.completion import complete_bots, complete_configs, complete_maps, completion_command
from vindibot.doctor import doctor_command
from vindibot.effective import config_command
from vindibot.errors import VindibotError
from vindibot.init import init_command
from vindibot.look.cli import bench_command, explain_command, tree_command, turn_command, watch_command
from vindibot.options import option_names, overrides, settings_options
from vindibot.printable import printable_lines
from vindibot.server.cli import serve_command
from vindibot.server.league.cli import league_command
from vindibot.settings import WORDS, PlaySettings
from vindibot.viewer.cli import replay_command

#: Options that are not spelled like their key.
SPELLED = {
    "recording.enabled": "--recording",
    "recording.folder": "--recordings",
    "pool.in_process": "--in-process",
    "pool.workers": "--workers",
    "pool.nodes": "--nodes",
    "time.limit_ms": "--limit-ms",
    "time.margin_ms": "--margin-ms",
}
#: Settings without an option: a key on the command line can be read by every user of the machine.
HIDDEN = {"key"}


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
        from vindibot.signature import build

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


def _play_options() -> list[click.Parameter]:
    config = click.Option(
        ["--config", "-c", "config"],
        metavar="FILE",
        help="a configuration file, or the name of one that ships with vindibot: training, arena",
        shell_complete=complete_configs,
    )
    completes = {"bot": complete_bots, "against": complete_bots, "map": complete_maps}
    return [config, *settings_options(PlaySettings, spelled=SPELLED, words=WORDS, hidden=HIDDEN, completes=completes)]


def _play(config: str | None, **options: Any) -> None:
    from vindibot.config import load_play
    from vindibot.console import terminal
    from vindibot.play import play

    loaded = load_play(config, overrides(options), option_names=option_names(PlaySettings, SPELLED))
    sys.exit(play(loaded, terminal()))


main.add_command(
    click.Command(
        "play",
        callback=_play,
        params=_play_options(),
        short_help="Play whole games with a bot.",
        help="""Play whole games with a bot.

Without a server it starts one of its own on this machine and plays a training game on a fresh map. Everything that can be
set here can also stand in a configuration file (--config) or in the environment: VINDIBOT_ROUNDS=100,
VINDIBOT_TIME__MARGIN_MS=120. The key for a server comes from VINDIBOT_KEY, a key file or the configuration.

\b
Examples:
  vindibot play                                        our server, a training game, the bot "seed"
  vindibot play --bot malvert --against seed           malvert against three times seed
  vindibot play -c arena --server http://HOST:9000     an arena game on a server
  vindibot play --games 20 --parallel 2 --display none
""",
    )
)


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


@main.command(short_help="Replay recorded games and compare every state.")
@click.argument("files", nargs=-1, required=True, type=click.Path(path_type=Path))
def verify(files: tuple[Path, ...]) -> None:
    """Replay recorded games and compare every state.

    FILES are recordings of `vindibot play`, game records (an arena's *.games.jsonl, a server's /records/ID), or games of the
    original server with every state; plain or gzipped. Of a recording each state that was seen must follow from the one
    before, of a game record all orders must be possible and lead to its end. Exit code 1 if any state differs.
    """
    from vindibot.console import terminal
    from vindibot.verify import verify_files

    sys.exit(verify_files(files, terminal()))


main.add_command(behaviours_command)
main.add_command(config_command)
main.add_command(doctor_command)
main.add_command(completion_command)
