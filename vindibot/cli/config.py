"""``vindibot config``: show the effective settings, and where each value comes from."""

from __future__ import annotations

from typing import Any

import click

from vindibot.cli.completion import complete_bots, complete_configs

#: The commands that have settings.
COMMANDS = ("play", "arena", "ladder", "serve", "challenge", "league-new", "tune-play")


@click.command("config", short_help="Show the effective settings, and where each value comes from.")
@click.argument("file", required=False, shell_complete=complete_configs)
@click.option("--for", "command", type=click.Choice(COMMANDS), default="play", help="show the settings of this command")
@click.option(
    "--bot", "-b", metavar="BOT", shell_complete=complete_bots, help="show this bot instead: a bot file, or the name of a bot"
)
@click.option(
    "--schema",
    type=click.Choice(["bot", *COMMANDS]),
    help="print the JSON schema of bot files, or of the configuration files of a command; --bot adds the traits of this bot",
)
def config_command(**options: Any) -> None:
    """Show the effective settings, and where each value comes from: the default, a line of a file, or an environment variable.
    Keys are not shown. The output is TOML. A file with this content has the same effect.

    FILE is a configuration file, the name of a built-in configuration (training, arena), or a bot file.

    \b
    Examples:
      vindibot config                              the settings of `vindibot play`
      vindibot config arena                        the same with --config arena
      vindibot config --for serve                  the settings of `vindibot serve`
      vindibot config bot.toml                     the traits and parameters of a bot
      vindibot config --schema bot > bot.schema.json

    \b
    An editor with the TOML language server taplo uses the schema named in the first line of a file:
      #:schema ./bot.schema.json
    """
    from vindibot.base.console import terminal
    from vindibot.devtools.effective import show_config

    show_config(terminal(), **options)
