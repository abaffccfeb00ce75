"""``vindibot verify``: replay recorded games and compare every state."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from vindibot.cli.measuring.parameters import RECORDING


@click.command("verify", short_help="Replay recorded games and compare every state.")
@click.argument("files", nargs=-1, required=True, type=RECORDING)
def verify_command(files: tuple[Path, ...]) -> None:
    """Replay recorded games and compare every state.

    FILES are recordings of `vindibot play`, game records (*.games.jsonl of an arena, /records/ID of a server), or games of the
    original server with every state. "last" is the newest recording in recordings/. A file may be plain or gzipped. In a
    recording, each state must follow from the state before. In a game record, all moves must be possible and lead to the recorded
    end. The exit code is 1 if any state differs.
    """
    from vindibot.base.output.console import terminal
    from vindibot.games.verify import verify_files

    sys.exit(verify_files(files, terminal()))
