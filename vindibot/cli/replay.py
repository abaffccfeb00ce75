"""``vindibot replay`` on the command line."""

from __future__ import annotations

import webbrowser
from pathlib import Path

import click


@click.command("replay", short_help="Look at a recorded game in the browser.")
@click.argument("file", type=click.Path(path_type=Path))
@click.option("--html", "out", metavar="OUT", type=click.Path(path_type=Path), help="write the page to this file")
@click.option("--game", metavar="ID", help="which game of a file of several: its id, or its number from 1")
@click.option("--open", "show", is_flag=True, help="show the page in the browser")
def replay_command(file: Path, out: Path | None, game: str | None, show: bool) -> None:
    """Look at a recorded game in the browser: the board, what came of it, and why.

    FILE is a recording that `vindibot play` has written, or a game record: one that a server gave out under /records/ID, or a
    file of them as the arena keeps (JSON lines, plain or gzipped). The page is one HTML file with everything in it, which
    needs neither a server nor a network; without --html it is written into this folder.

    \b
    Examples:
      vindibot replay recordings/20260102-131415-seed-abcd1234-hero1.jsonl --open
      vindibot replay tournament.games.jsonl --game 17 --html game17.html
    """
    from vindibot.viewer import replay_file

    page = replay_file(file, out, game)
    click.echo(f"the game is in {page}")
    if show and not webbrowser.open(page.resolve().as_uri()):
        click.echo("there is no browser that could be opened: open this file yourself")
