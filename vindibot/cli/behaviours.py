"""``vindibot behaviours``: list all traits with their parameters."""

from __future__ import annotations

import click

from vindibot.cli.completion import complete_bots, complete_traits


@click.command("behaviours", short_help="List all traits with their parameters.")
@click.argument("name", required=False, shell_complete=complete_traits)
@click.option(
    "--bot",
    "-b",
    metavar="BOT",
    shell_complete=complete_bots,
    help="add the traits in the folder of this bot file, and the weights of this bot",
)
def behaviours_command(name: str | None, bot: str | None) -> None:
    """List all traits with their parameters.

    The list has the built-in traits of vindibot, and the traits of installed packages (entry points of the group
    vindibot.behaviours). With --bot, it also has the traits in the folder of this bot file.

    With NAME, the command shows the full description of one trait. NAME is a name from the list, or module:Class. With --bot,
    NAME can also be a label in this bot.

    \b
    Examples:
      vindibot behaviours
      vindibot behaviours tavern-finder
      vindibot behaviours --bot bot.toml coward
    """
    from vindibot.base.console import terminal
    from vindibot.devtools.catalogue import show_behaviours

    show_behaviours(terminal(), name, bot)
