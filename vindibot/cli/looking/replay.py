"""``vindibot replay``: show a recorded game in the browser, or make a picture of it."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import click

from vindibot.cli.options import PATH, RECORDING, number_option


def _turns(ctx: click.Context, parameter: click.Parameter, value: str | None) -> tuple[int, int] | None:
    """Return the first and the last turn of a range such as 200-240."""
    if value is None:
        return None
    limits = re.fullmatch(r"(\d{1,9})-(\d{1,9})", value)
    if limits is None:
        raise click.BadParameter(f"{value!r:.40} is not a range of turns: write it like 200-240", ctx, parameter)
    return int(limits[1]), int(limits[2])


@click.command("replay", short_help="Show a recorded game in the browser, or make a picture of it.")
@click.argument("file", type=RECORDING)
@click.option("--html", metavar="OUT", type=PATH, help="write the page to this file")
@click.option("--gif", metavar="OUT", type=PATH, help="write a moving picture to this file instead")
@click.option("--turns", metavar="A-B", callback=_turns, help="the turns of the GIF  [default: the whole game]")
@click.option("--svg", metavar="OUT", type=PATH, help="write a picture of one turn to this file instead")
@number_option("--turn", least=0, help="the turn of the SVG  [default: the end of the game]")
@click.option(
    "--game",
    metavar="ID",
    help="the game to show, if the file has several games: the id of the game, or its place in the file, from 1",
)
@click.option("--open", "show", is_flag=True, help="open the page or the picture in the browser")
def replay_command(file: Path, **options: Any) -> None:
    """Show a recorded game in the browser: the board, the events, and the votes.

    FILE is a recording of `vindibot play`, a game record from a server (/records/ID), a file of game records from the arena (JSON
    lines, plain or gzipped), or a file of `vindibot review`. "last" is the newest recording in recordings/. The page is one HTML
    file, which needs no server and no network. If x.review.jsonl lies beside x.jsonl, the page shows this review too. Without
    --html, --gif and --svg, the page is written into the current folder.

    --gif makes a moving picture. It has one picture per turn for up to 160 turns, and one picture per round for more turns. --svg
    makes a picture of one turn. Only files that this command has made are overwritten.

    \b
    Examples:
      vindibot replay last --open
      vindibot replay last --gif fight.gif --turns 200-240
      vindibot replay last --svg turn212.svg --turn 212
      vindibot replay tournament.games.jsonl --game 17 --html game17.html
    """
    from vindibot.base.console import terminal
    from vindibot.viewer.replay import replay

    replay(terminal(), file, **options)
