"""``vindibot learn match``: matches of nets alone against bots and against other nets."""

from __future__ import annotations

import sys

import click

from vindibot.base import interrupts
from vindibot.cli.completion import complete_bots


@click.command("match", short_help="Play matches of nets alone against bots or other nets.")
@click.argument("nets", metavar="NET...", nargs=-1, required=True, shell_complete=complete_bots)
@click.option(
    "--against",
    "rivals",
    multiple=True,
    default=("seed",),
    metavar="RIVAL",
    shell_complete=complete_bots,
    help="a bot, or a file of nets (.npz), each of which is a rival; repeatable",
)
@click.option("--blocks", type=click.IntRange(2), default=40, metavar="N", help="number of maps; four games on each")
@click.option("--seed", type=int, default=1, metavar="N", help="seed of the maps")
@click.option(
    "--nodes",
    type=click.IntRange(1),
    default=1000,
    metavar="N",
    help="most nodes per move of a bot",
)
def match(nets: tuple[str, ...], rivals: tuple[str, ...], blocks: int, seed: int, nodes: int) -> None:
    """Play matches of each NET alone against three copies of each rival.

    NET is a file of nets (.npz), whose first net plays, or a bot that plays a net alone. Against other nets, thousands of games
    are played in compiled code within minutes. The column deaths has the deaths of the net per game.

    Each match is played on the same random maps of all sizes, and the net has each seat once per map. The intervals are over the
    maps. If there are several nets, the last column compares each one with the first net on the same maps: the difference of the
    games won, with two standard errors. If there are several rivals, the last rows are of all matches of a net. After Ctrl-C, the
    table has the matches that are over.

    \b
    Examples:
      vindibot learn match mynet/net.npz
      vindibot learn match mynet/net.npz other/net.npz --against seed --against malvert --blocks 40
      vindibot learn match mynet/net.npz --against other/net.npz --blocks 100
    """
    from vindibot.arena.dispatch import Stop
    from vindibot.arena.tournament import stopping
    from vindibot.base.output.console import plain_table, say, terminal
    from vindibot.engine.warmup import warm
    from vindibot.learning.matches import MATCH_HEADS, NetMatch, match_row, net_of, rivals_of

    players, opponents = [net_of(text) for text in nets], rivals_of(rivals)
    console, stop = terminal(), Stop()
    warm(console)
    table = plain_table(*MATCH_HEADS, left=("net", "three rivals"))
    found: list[list[NetMatch]] = [[] for _ in players]  # the matches of each player
    with stopping(stop):
        for rival in opponents:
            for (name, net), own in zip(players, found, strict=True):
                result = rival.meet(net.policy, seed, blocks, lambda: stop.soon, nodes=nodes)
                if result is None:
                    break
                own.append(result)
                base = None if own is found[0] else found[0][-1]
                table.add_row(*match_row(name, rival.name, result, base))
                say(console, f"{name} against three of {rival.name}: {result.won.mean():.0%} of {result.games} games won", "dim")
            if stop.soon:
                break
    if len(opponents) > 1 and not stop.soon:
        whole = [NetMatch.of_all(own) for own in found]
        for (name, _), match in zip(players, whole, strict=True):
            table.add_row(*match_row(name, "all", match, None if match is whole[0] else whole[0]))
    if table.row_count:
        console.print(table)
    if stop.soon:
        say(console, "interrupted: the other matches were not played", "yellow")
        sys.exit(interrupts.INTERRUPTED)
