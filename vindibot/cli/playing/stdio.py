"""``vindibot stdio``: play a bot by the line protocol."""

from __future__ import annotations

from typing import Any

import click

from vindibot.cli.completion import complete_bots
from vindibot.cli.options import number_option


@click.command("stdio", short_help="Play a bot by the line protocol.")
@click.argument("bot", shell_complete=complete_bots)
@click.option("--limit-ms", type=click.FloatRange(10, 600_000), default=50, metavar="MS", help="time limit of a move")
@click.option("--first-ms", type=click.FloatRange(10, 600_000), default=1000, metavar="MS", help="time limit of the first move")
@click.option(
    "--margin-ms",
    type=click.FloatRange(0, 60_000),
    default=15,
    metavar="MS",
    help="milliseconds of each move that stay unused; larger: safer on a slow machine, but less time to think",
)
@number_option("--rounds", most=100000, default=150, help="length of the game in rounds, which the protocol does not state")
@number_option("--nodes", help="largest number of search nodes per move and trait [default: as many as time allows]")
@number_option("--workers", most=256, help="worker processes  [default: one per core]")
@number_option("--seed", least=0, most=2**63 - 1, help="seed that decides between equal moves [default: a new seed each time]")
@click.option(
    "--expert/--no-expert", default=True, help="ask for the last moves of the other heroes, by the message EXPERT_INPUT"
)
def stdio_command(bot: str, **options: Any) -> None:
    """Play a bot by the line protocol.

    The BOT plays one game for a referee that speaks the protocol of the CodinGame port. States come on standard input, moves go
    to standard output, and everything else goes to standard error. Kernels are compiled and workers are ready before the first
    line is read. The command ends when the input ends.

    \b
    Examples:
      vindibot stdio malvert --limit-ms 100
      vindibot arena "stdio:vindibot stdio mine.toml --rounds {rounds} --limit-ms {move_ms}" seed
    """
    from vindibot.session.stdio import StdioSettings, play_stdio

    play_stdio(bot, StdioSettings(**options))
