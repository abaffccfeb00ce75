"""``vindibot replay``."""

from __future__ import annotations

import webbrowser
from pathlib import Path

import click

from vindibot.cli.parameters import PATH, RECORDING


@click.command("replay", short_help="Show a recorded game in the browser.")
@click.argument("file", type=RECORDING)
@click.option("--html", "out", metavar="OUT", type=PATH, help="write the page to this file")
@click.option(
    "--game",
    metavar="ID",
    help="the game to show, if the file has several games: the id of the game, or its place in the file, from 1",
)
@click.option("--open", "show", is_flag=True, help="open the page in the browser")
def replay_command(file: Path, out: Path | None, game: str | None, show: bool) -> None:
    """Show a recorded game in the browser: the board, the events, and the votes.

    FILE is a recording of `vindibot play`, a game record from a server (/records/ID), or a file of game records from the arena
    (JSON lines, plain or gzipped). "last" is the newest recording in recordings/. The page is one HTML file, which needs no
    server and no network. Without --html, the page is written into the current folder.

    \b
    Examples:
      vindibot replay last --open
      vindibot replay tournament.games.jsonl --game 17 --html game17.html
    """
    from vindibot.viewer import replay_file

    page = replay_file(file, out, game)
    click.echo(f"the game is in {page}")
    if show and not webbrowser.open(page.resolve().as_uri()):
        click.echo("found no browser: open this file yourself")
