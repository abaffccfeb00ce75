"""``vindibot stdio``: play a bot by the line protocol."""

from __future__ import annotations

from typing import Any

import click

from vindibot.cli.completion import complete_bots


@click.command("stdio", short_help="Play a bot by the line protocol.")
@click.argument("bot", shell_complete=complete_bots)
@click.option("--limit-ms", type=click.FloatRange(10, 600_000), default=50, metavar="MS", help="time limit of a move")
@click.option(
    "--first-ms",
    type=click.FloatRange(10, 600_000),
    default=1000,
    metavar="MS",
    help="time limit of the first move",
)
@click.option(
    "--margin-ms",
    type=click.FloatRange(0, 60_000),
    default=15,
    metavar="MS",
    help="milliseconds of each move that stay unused; larger: safer on a slow machine, but less time to think",
)
@click.option(
    "--rounds",
    type=click.IntRange(1, 100_000),
    default=150,
    metavar="N",
    help="length of the game in rounds, which the protocol does not state",
)
@click.option(
    "--nodes",
    type=click.IntRange(min=1),
    metavar="N",
    help="largest number of search nodes per move and trait [default: as many as time allows]",
)
@click.option("--workers", type=click.IntRange(1, 256), metavar="N", help="worker processes  [default: one per core]")
@click.option(
    "--seed",
    type=click.IntRange(0, 2**63 - 1),
    metavar="N",
    help="seed that decides between equal moves [default: a new seed each time]",
)
@click.option(
    "--expert/--no-expert",
    default=True,
    help="ask for the last moves of the other heroes, by the message EXPERT_INPUT",
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
