"""``vindibot check``: whether a bot is fit for a tournament."""

from __future__ import annotations

import sys
from typing import Any

import click

from vindibot.arena.settings import ArenaSettings
from vindibot.cli.completion import complete_bots
from vindibot.cli.options import load_settings


@click.command("check", short_help="Check whether a bot is fit for a tournament.")
@click.argument("bot", metavar="BOT", shell_complete=complete_bots)
@click.option("--config", "-c", metavar="FILE", help="a configuration of a tournament; BOT may be the name of one of its tables")
@click.option("--rounds", type=click.IntRange(3, 300), default=8, help="moves of the program in each game")
@click.option("--move-ms", type=int, metavar="N", help="milliseconds per move  [default: 1000]")
@click.option("--first-ms", type=int, metavar="N", help="milliseconds for the first move of a game  [default: same as --move-ms]")
@click.option("--start-s", type=float, metavar="N", help="seconds for a program to start and join  [default: 20]")
@click.option("--memory-mb", type=int, metavar="N", help="megabytes of address space  [default: no limit]")
def check_command(bot: str, config: str | None, rounds: int, **limits: Any) -> None:
    """Check whether a bot is fit for a tournament.

    BOT is a word as in `vindibot arena`: http:COMMAND or stdio:COMMAND for a program, or a bot file or the name of one.

    A program plays short games as in the arena: as each of the four heroes, on maps of all sizes, from the middle of a game,
    and against rivals with hard names. The command shows what is wrong, with the last lines of the program's standard error, and
    what to do. A warning is no failure.

    For a bot file, the command runs the standard checks of each trait (check_trait of vindibot.testing).

    Exit codes: 0 the bot is fit, 1 a check fails, 2 there is no such bot.

    \b
    Examples:
      vindibot check "stdio:./mine"
      vindibot check "http:python3 client.py {key} {server}" --move-ms 500
      vindibot check mybot.toml
    """
    from vindibot.base.console import terminal
    from vindibot.devtools.check import check_bot

    values = {f"limits.{name}": value for name, value in limits.items() if value is not None}
    loaded = load_settings(ArenaSettings, config, values | {"bots": [bot]}, {"bots": "BOT"})
    sys.exit(check_bot(terminal(), loaded, rounds))
