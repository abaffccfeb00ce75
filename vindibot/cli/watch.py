"""``vindibot watch``."""

from __future__ import annotations

import click


def _watch(source: str, game: str | None, turn: int | None, speed: float | None, lines: bool) -> None:
    from vindibot.terminal import watch_game

    watch_game(source, game=game, turn=turn, speed=speed, lines=lines)


watch_command = click.Command(
    "watch",
    callback=_watch,
    params=[
        click.Argument(["source"], metavar="URL-OR-FILE"),
        click.Option(["--game"], metavar="ID", help="which game of a file of several: its id, or its number from 1"),
        click.Option(["--turn"], type=click.IntRange(min=0), metavar="N", help="begin at this turn (the wire's), and wait there"),
        click.Option(
            ["--speed"],
            type=click.FloatRange(0.25, 64),
            metavar="X",
            help="1 is a round a second, up to 64  [default: 1; without a terminal all at once]",
        ),
        click.Option(["--lines"], is_flag=True, help="print a line for each ply even where there is a terminal"),
    ],
    short_help="Watch a game in the terminal, live or recorded.",
    help="""Watch a game in the terminal, live or recorded.

URL-OR-FILE is the address of a game's page, that of a server alone (the newest game that is played there), a recording,
or a file of game records. A live game is followed to its end, through lost connections too. Where there is no terminal
a line is printed for each ply.

\b
Keys:
  space           pause and go on (at the end: from the beginning)
  right, left     a ply on or back          down, up     a round on or back
  + and -         faster and slower         Home, End    the beginning, the newest state
  q               leave

\b
Examples:
  vindibot watch http://localhost:9000
  vindibot watch http://localhost:9000/abcd1234
  vindibot watch recordings/GAME.jsonl --turn 212
  vindibot watch results/cup.games.jsonl --game 3 --lines
""",
)
