"""``vindibot watch``: watch a live or recorded game in the terminal."""

from __future__ import annotations

import click


@click.command("watch", short_help="Watch a game in the terminal, live or recorded.")
@click.argument("source", metavar="URL-OR-FILE")
@click.option(
    "--game",
    metavar="ID",
    help="the game to show, if the file has several games: the id of the game, or its place in the file, from 1",
)
@click.option("--turn", type=click.IntRange(min=0), metavar="N", help="begin at this turn, and pause there")
@click.option(
    "--speed",
    type=click.FloatRange(0.25, 64),
    metavar="X",
    help="rounds per second, at most 64 [default: 1; without a terminal there are no pauses]",
)
@click.option("--lines", is_flag=True, help="print a line for each ply, also in a terminal")
def watch_command(source: str, game: str | None, turn: int | None, speed: float | None, lines: bool) -> None:
    """Watch a game in the terminal, live or recorded.

    URL-OR-FILE is the address of a game's page, the address of a server (for its newest running game), a recording, or a file of
    game records. "last" is the newest recording in recordings/. The command follows a live game to its end. If the connection is
    lost, the command connects again. Without a terminal it prints a line for each ply.

    \b
    Keys:
      space           pause and go on (at the end: from the beginning)
      right, left     a ply forward or back     down, up     a round forward or back
      + and -         faster and slower         Home, End    the beginning, the newest state
      q               quit

    \b
    Examples:
      vindibot watch http://localhost:9000
      vindibot watch http://localhost:9000/abcd1234
      vindibot watch last --turn 212
      vindibot watch results/cup.games.jsonl --game 3 --lines
    """
    from vindibot.games.files.game_files import find_recording
    from vindibot.terminal.watch import watch_game

    watch_game(str(find_recording(source)) if source == "last" else source, game=game, turn=turn, speed=speed, lines=lines)
