"""``vindibot doctor``: the command."""

from __future__ import annotations

import sys

import click

from vindibot.cli.completion import complete_bots, complete_configs


@click.command("doctor", short_help="Check that this machine, your bot and a server get along.")
@click.argument("bot", required=False, shell_complete=complete_bots)
@click.option(
    "--config", "-c", metavar="FILE", shell_complete=complete_configs, help="a configuration file, as of `vindibot play`"
)
@click.option("--server", metavar="VALUE", help="address of the server; empty: one that is started for this command")
@click.option("--limit-ms", metavar="VALUE", help="milliseconds per move  [default: 1000]")
@click.option("--margin-ms", metavar="VALUE", help="milliseconds of each move that are left unused  [default: 75]")
def doctor_command(bot: str | None, config: str | None, server: str | None, limit_ms: str | None, margin_ms: str | None) -> None:
    """Check that this machine, your bot and a server get along, and say what to do if not.

    It looks at cores and compiled kernels, all traits, the way to the server and the time that is left to think, and runs BOT
    (a bot file or the name of one, "seed" if none is given) on sample turns against the deadline of a game. No game is joined
    and no key is sent.

    Exit codes: 0 ready to play, 1 something is broken, 2 the configuration cannot be.
    """
    from vindibot.base import terminal
    from vindibot.config import load_play
    from vindibot.devtools import print_findings

    given = {"bot": bot, "server": server, "time.limit_ms": limit_ms, "time.margin_ms": margin_ms}
    names = {"bot": "BOT", "time.limit_ms": "--limit-ms", "time.margin_ms": "--margin-ms"}
    sys.exit(print_findings(load_play(config, given, option_names=names), terminal()))
