"""``vindibot turn``: run a recorded turn again, also in a debugger."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from vindibot.cli.options import RECORDING, nodes_option, recorded_bot_option, traits_option, turn_options


@click.command("turn", short_help="Run a recorded turn again, also in a debugger.")
@click.argument("file", type=RECORDING)
@turn_options
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
@click.option("--watch", is_flag=True, help="run the turn again whenever a file of the bot changes, until Ctrl-C")
def turn_command(file: Path, **options: Any) -> None:
    """Run a recorded turn again, also in a debugger.

    FILE is a recording of `vindibot play`, or "last" for the newest recording in recordings/. The traits get the
    recorded state, history and seed. The table compares their weighted votes with the recorded votes: "same" if the votes are
    equal, else "now" and "then". The output of a trait is shown. A breakpoint() in a trait starts the debugger. A trait in an
    endless loop is ended after --limit-ms, and the message names the line where it was. The traits run in another process, with a
    debugger in this process.

    Without --bot, the traits come from the header of the recording. Your own traits are looked up in the current folder, in
    bots/ and beside the recording. FILE may also be game records, results of an arena, or a saved answer of a server. Such a file
    has no votes, so the command shows only the votes of --bot. --watch looks for changes in these folders, or in the folders of
    BOT. Set NUMBA_DISABLE_JIT=1 to step through compiled kernels.

    \b
    Examples:
      vindibot turn last --turn 212
      vindibot turn last --turn 212 --bot mybot --watch
      vindibot turn last --turn 212 --bot mybot --trait coward --pdb
      vindibot turn results/cup.jsonl --game b00000g003 --turn 212 --bot mybot
    """
    from vindibot.base.console import terminal
    from vindibot.devtools.rerun import run_turn

    run_turn(terminal(), file, **options)
