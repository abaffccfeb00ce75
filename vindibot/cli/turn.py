"""``vindibot turn``."""

from __future__ import annotations

from pathlib import Path

import click

from vindibot.cli.completion import complete_bots
from vindibot.cli.parameters import NODES, PATH, TRAITS, TURN


def _turn(
    recording: Path,
    turn: int,
    bot: str | None,
    traits: tuple[str, ...],
    nodes: int | None,
    limit_ms: float | None,
    debugger: bool,
) -> None:
    from vindibot.base import terminal
    from vindibot.devtools import find_bot, rerun_turn
    from vindibot.games import read_recording

    read = read_recording(recording)
    own = read.turn(turn)
    rerun_turn(terminal(), read, own, find_bot(bot, read), nodes=nodes, only=traits, debugger=debugger, limit_ms=limit_ms)


turn_command = click.Command(
    "turn",
    callback=_turn,
    params=[
        click.Argument(["recording"], type=PATH),
        click.Option(["--turn"], type=int, required=True, metavar="N", help=TURN),
        click.Option(
            ["--bot"],
            metavar="BOT",
            help="the bot to ask  [default: the one that made the recording]",
            shell_complete=complete_bots,
        ),
        TRAITS,
        NODES,
        click.Option(
            ["--limit-ms"],
            type=click.FloatRange(min=1),
            metavar="MS",
            help="end a trait that is still at work after MS  [default: 10 times the game's limit; with --nodes 60000]",
        ),
        click.Option(
            ["--pdb", "debugger"],
            is_flag=True,
            help="stop in Python's debugger where a trait raises or is at work at the limit, else where it begins",
        ),
    ],
    short_help="Run one recorded turn again, under a debugger if wished.",
    help="""Run one recorded turn again, under a debugger if wished.

The traits are asked in this very process, with the state, the history and the seed of then. Their votes (times the
weight) are printed beside those in the recording: "same" where nothing has changed, else "now" and "then". What a trait
prints is shown, and a breakpoint() in it stops there. A trait in an endless loop is ended after --limit-ms, and named with
the line where it was.

The bot is that of the recording's header; its own traits are looked for in the current folder, in bots/ and beside the
recording. Compiled kernels can be stepped through with NUMBA_DISABLE_JIT=1.

\b
Examples:
  vindibot turn recordings/GAME.jsonl --turn 212
  vindibot turn recordings/GAME.jsonl --turn 212 --bot mine.toml --trait coward --pdb
""",
)
