"""``vindibot warm``: compile all kernels in advance."""

from __future__ import annotations

import sys

import click

from vindibot.cli.completion import complete_bots


@click.command("warm", short_help="Compile everything in advance, so that later commands start at once.")
@click.argument("bots", nargs=-1, metavar="[BOTS]...", shell_complete=complete_bots)
def warm_command(bots: tuple[str, ...]) -> None:
    """Compile all kernels (functions in machine code) in advance, with all cores.

    Other commands compile missing kernels themselves when they start. Use this command before a lesson, and in the image of a
    container. With BOTS (bot files, or names of bots) it compiles only the kernels that these bots and the server need, and the
    kernels of your own traits.

    \b
    Examples:
      vindibot warm                    everything: takes minutes
      vindibot warm seed mybot         what games of these two bots need
    """
    from vindibot.base.console import terminal
    from vindibot.devtools.kernel_cache import fill_cache

    sys.exit(fill_cache(bots, terminal()))
