"""``vindibot turn``: run a recorded turn again, also in a debugger."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from vindibot.cli.measuring.parameters import RECORDING, nodes_option, recorded_bot_option, traits_option, turn_option


@click.command("turn", short_help="Run a recorded turn again, also in a debugger.")
@click.argument("file", type=RECORDING)
@turn_option
@click.option("--game", metavar="ID", help="the game, if FILE has several: its id, or its number from 1")
@recorded_bot_option
@traits_option
@nodes_option
@click.option(
    "--limit-ms",
    type=click.FloatRange(min=1),
    metavar="MS",
    help="end a trait that runs longer than MS  [default: 10 times the limit of the game; 60000 with --nodes]",
)
@click.option(
    "--pdb",
    "debugger",
    is_flag=True,
    help="start Python's debugger: at the line that raises an error, at the line that runs at the limit, or else at the start of"
    " vote",
)
def turn_command(
    file: Path,
    turn: int,
    game: str | None,
    bot: str | None,
    traits: tuple[str, ...],
    nodes: int | None,
    limit_ms: float | None,
    debugger: bool,
) -> None:
    """Run a recorded turn again, also in a debugger.

    FILE is a recording of `vindibot play`, or "last" for the newest recording in recordings/. The traits get the
    recorded state, history and seed. The table compares their weighted votes with the recorded votes: "same" if the votes are
    equal, else "now" and "then". The output of a trait is shown. A breakpoint() in a trait starts the debugger. A trait in an
    endless loop is ended after --limit-ms, and the message names the line where it was. The traits run in another process, with a
    debugger in this process.

    Without --bot, the traits come from the header of the recording. Your own traits are looked up in the current folder, in
    bots/ and beside the recording. FILE may also be game records, results of an arena, or a saved answer of a server. Such a file
    has no votes, so the command shows only the votes of --bot. Set NUMBA_DISABLE_JIT=1 to step through compiled kernels.

    \b
    Examples:
      vindibot turn last --turn 212
      vindibot turn last --turn 212 --bot mybot --trait coward --pdb
      vindibot turn results/cup.jsonl --game b00000g003 --turn 212 --bot mybot
    """
    from sim.game import PLIES_PER_ROUND
    from vindibot.arena import games_path
    from vindibot.base import UsageError, short, terminal
    from vindibot.config import load_bot
    from vindibot.devtools import ask_turn, find_bot, rerun_turn
    from vindibot.games import Continuation, Recording, kind_of, read_game_file

    options: dict[str, Any] = {"nodes": nodes, "only": traits, "debugger": debugger, "limit_ms": limit_ms}
    path = games_path(file)
    if kind_of(path) != "recording":
        if bot is None:
            raise UsageError(f"{short(path)} has no votes: name the bot to ask with --bot")
        ask_turn(terminal(), Continuation.read(path, turn, game=game, hero=turn % PLIES_PER_ROUND), load_bot(bot), **options)
        return
    recording = read_game_file(path, game)
    assert isinstance(recording, Recording)
    rerun_turn(terminal(), recording, recording.turn(turn), find_bot(bot, recording), **options)
