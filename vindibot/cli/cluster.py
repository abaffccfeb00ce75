"""``vindibot cluster``: let this machine play games of tournaments that other machines start."""

from __future__ import annotations

import sys
from typing import Any

import click

from vindibot.arena import ClusterSettings
from vindibot.base import interrupts
from vindibot.cli.options import load_settings, overrides, settings_options

#: The settings of a cluster that only the arena needs.
HIDDEN = {"address", "mixed_machines", "generic_cpu", "lost_s", "wait_s"}


@click.group(name="cluster", short_help="Play the games of a tournament on many machines.")
def cluster_command() -> None:
    """Play the games of a tournament on many machines. docs/cluster.md describes how.

    \b
      dask scheduler --host 127.0.0.1 --port 8786
      vindibot cluster join tcp://127.0.0.1:8786 --workers 8             on each machine
      vindibot arena A B --nodes 100000 --dask tcp://127.0.0.1:8786
    """


@cluster_command.command("join", short_help="Let this machine play games.")
@click.argument("address")
@click.option("--workers", type=click.IntRange(1, 4096), metavar="N", help="number of games at once  [default: one per core]")
@click.option("--name", default="", metavar="NAME", help="the name of this machine in results  [default: the name of the host]")
@settings_options(ClusterSettings, spelled={}, hidden=HIDDEN)
def join_command(address: str, workers: int | None, name: str, **options: Any) -> None:
    """Let this machine play games for the scheduler at ADDRESS, tcp://HOST:PORT or tls://HOST:PORT.

    A tournament that uses the scheduler sends its bots and its games to this machine. If the connection is lost, this command
    joins again. Ctrl-C ends the running games, and the tournament plays them elsewhere.

    \b
    Examples:
      vindibot cluster join tcp://127.0.0.1:8786 --workers 8
      vindibot cluster join tls://host:8786 --tls-ca-file ca.pem --tls-cert me.pem --tls-key me-key.pem
    """
    from vindibot.base import say, terminal
    from vindibot.cluster import check_cluster
    from vindibot.config import cores

    given = overrides(options)
    given["address"] = address
    settings = load_settings(ClusterSettings, None, given, {}).settings
    check_cluster(settings)
    from vindibot.cluster import join

    console = terminal()
    join(settings, workers or cores(), name, lambda text: say(console, text))
    interrupts.tell()
    sys.exit(interrupts.INTERRUPTED)
