"""``vindibot bots``: list the bots that ship, with their strength."""

from __future__ import annotations

import click


@click.command("bots", short_help="List the bots that ship, with their strength.")
def bots_command() -> None:
    """List the bots that ship, with their strength.

    The list has the name of each bot (for --bot, and for the arena), its rating with a 95 % interval, and a sentence on how it
    plays. The ratings come from a ladder, in which the bot `seed` has the rating 0. The last line has the command of this ladder.

    \b
    Examples:
      vindibot bots
      vindibot arena seed malvert hunter strong
    """
    from vindibot.base.console import terminal
    from vindibot.devtools.catalogue import show_bots

    show_bots(terminal())
