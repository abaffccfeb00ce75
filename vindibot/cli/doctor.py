"""``vindibot doctor``: check that a bot will answer in time on this machine."""

from __future__ import annotations

import sys

import click

from vindibot.cli.completion import complete_bots, complete_configs
from vindibot.cli.options import known_variables, option_names


@click.command("doctor", short_help="Check that your bot will answer in time on this machine.")
@click.argument("bot", required=False, shell_complete=complete_bots)
@click.option("--config", "-c", metavar="FILE", shell_complete=complete_configs, help="a configuration file of `vindibot play`")
@click.option("--server", metavar="VALUE", help="address of the server  [default: a server that this command starts]")
@click.option("--limit-ms", metavar="VALUE", help="milliseconds per move  [default: 1000]")
@click.option("--margin-ms", metavar="VALUE", help="milliseconds of each move that stay unused  [default: 75]")
def doctor_command(bot: str | None, config: str | None, server: str | None, limit_ms: str | None, margin_ms: str | None) -> None:
    """Check that your bot will answer in time on this machine and with a server. If a check fails, the output says what to do.

    BOT (a bot file, or the name of a bot; default "seed") runs on sample turns with the deadline of a game. The checks also cover
    the cores, the round trip to the server, and the time left to think. The command joins no game and sends no key.

    Exit codes: 0 ready to play, 1 something is broken, 2 the configuration is invalid.
    """
    from vindibot.base.console import terminal
    from vindibot.config.load import load_play
    from vindibot.config.settings import PlaySettings
    from vindibot.devtools.doctor import run_doctor

    options = {"bot": bot, "server": server, "time.limit_ms": limit_ms, "time.margin_ms": margin_ms}
    names = option_names(PlaySettings, {"bot": "BOT"})
    sys.exit(run_doctor(load_play(config, options, option_names=names, others=known_variables), terminal()))
