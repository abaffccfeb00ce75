"""``vindibot cluster``: let this machine play games of tournaments that other machines start."""

from __future__ import annotations

import sys
from typing import Annotated, Any

import click
from pydantic import Field

from vindibot.arena.settings import ClusterSettings
from vindibot.base import interrupts
from vindibot.cli.options import load_settings, overrides, settings_options
from vindibot.config.settings import NoneWord, Settings

#: The settings of a cluster that only the arena needs.
HIDDEN = {f"cluster.{key}" for key in ("address", "mixed_machines", "generic_cpu", "lost_s", "wait_s")}


class JoinSettings(Settings):
    """The settings of ``vindibot cluster join``."""

    workers: Annotated[Annotated[int, Field(ge=1, le=4096)] | None, NoneWord("cores")] = Field(
        default=None, description='number of games at once; "cores": one per core'
    )
    name: str = Field(default="", description="the name of this machine in results; empty: the name of the host")
    cluster: ClusterSettings = ClusterSettings()


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
@settings_options(JoinSettings, hidden=HIDDEN)
def join_command(address: str, **options: Any) -> None:
    """Let this machine play games for the scheduler at ADDRESS, tcp://HOST:PORT or tls://HOST:PORT.

    A tournament that uses the scheduler sends its bots and its games to this machine. If the connection is lost, this command
    joins again. Ctrl-C ends the running games, and the tournament plays them elsewhere.

    \b
    Examples:
      vindibot cluster join tcp://127.0.0.1:8786 --workers 8
      vindibot cluster join tls://host:8786 --tls-ca-file ca.pem --tls-cert me.pem --tls-key me-key.pem
    """
    from vindibot.base.console import say, terminal
    from vindibot.cluster.access import check_cluster
    from vindibot.config.settings import cores

    given = overrides(options)
    given["cluster.address"] = address
    settings = load_settings(JoinSettings, None, given).settings
    check_cluster(settings.cluster)
    from vindibot.cluster.join import join

    console = terminal()
    join(settings.cluster, settings.workers or cores(), settings.name, lambda text: say(console, text))
    interrupts.tell()
    sys.exit(interrupts.INTERRUPTED)
