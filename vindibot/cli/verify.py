"""``vindibot verify``."""

from __future__ import annotations

import sys
from pathlib import Path

import click


@click.command("verify", short_help="Replay recorded games and compare every state.")
@click.argument("files", nargs=-1, required=True, type=click.Path(path_type=Path))
def verify_command(files: tuple[Path, ...]) -> None:
    """Replay recorded games and compare every state.

    FILES are recordings of `vindibot play`, game records (an arena's *.games.jsonl, a server's /records/ID), or games of the
    original server with every state; plain or gzipped. Of a recording each state that was seen must follow from the one
    before, of a game record all orders must be possible and lead to its end. Exit code 1 if any state differs.
    """
    from vindibot.base import terminal
    from vindibot.games import verify_files

    sys.exit(verify_files(files, terminal()))
