"""``vindibot config``: show the effective settings, and where each value comes from."""

from __future__ import annotations

import json

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
def config_command(file: str | None, command: str, bot: str | None, schema: str | None) -> None:
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
    from vindibot.base.output.console import terminal
    from vindibot.config.bots import load_bot
    from vindibot.devtools.effective import bot_lines, is_bot, schema_of, settings_lines

    if schema is not None:
        click.echo(json.dumps(schema_of(schema, bot), indent=2, ensure_ascii=False))
        return
    if file is not None and bot is not None:
        raise click.UsageError("FILE and --bot: give one of them")
    if file is not None and is_bot(file):
        bot = file
    lines = bot_lines(load_bot(bot)) if bot is not None else settings_lines(command, file)
    console = terminal()
    for line in lines:
        console.print(line, soft_wrap=True)
