"""``vindibot turn``: run a recorded turn again, also in a debugger."""

from __future__ import annotations

from pathlib import Path

import click

from vindibot.cli.measuring.parameters import RECORDING, nodes_option, recorded_bot_option, traits_option, turn_option


@click.command("turn", short_help="Run a recorded turn again, also in a debugger.")
@click.argument("recording", type=RECORDING)
@turn_option
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
    recording: Path,
    turn: int,
    bot: str | None,
    traits: tuple[str, ...],
    nodes: int | None,
    limit_ms: float | None,
    debugger: bool,
) -> None:
    """Run a recorded turn again, also in a debugger.

    RECORDING is a file of `vindibot play`, or "last" for the newest recording in recordings/. The traits get the
    recorded state, history and seed. The table compares their weighted votes with the recorded votes: "same" if the votes are
    equal, else "now" and "then". The output of a trait is shown. A breakpoint() in a trait starts the debugger. A trait in an
    endless loop is ended after --limit-ms, and the message names the line where it was. The traits run in another process, with a
    debugger in this process.

    Without --bot, the traits come from the header of the recording. Your own traits are looked up in the current folder, in
    bots/ and beside the recording. Set NUMBA_DISABLE_JIT=1 to step through compiled kernels.

    \b
    Examples:
      vindibot turn last --turn 212
      vindibot turn last --turn 212 --bot mybot --trait coward --pdb
    """
    from vindibot.base import terminal
    from vindibot.devtools import find_bot, rerun_turn
    from vindibot.games import read_recording

    game = read_recording(recording)
    own = game.turn(turn)
    rerun_turn(terminal(), game, own, find_bot(bot, game), nodes=nodes, only=traits, debugger=debugger, limit_ms=limit_ms)
