"""``vindibot turn``: run a recorded turn again, also in a debugger."""

from __future__ import annotations

from pathlib import Path

import click

from vindibot.cli.measuring.parameters import (
    RECORDING,
    chosen_turn,
    nodes_option,
    recorded_bot_option,
    traits_option,
    turn_options,
)


@click.command("turn", short_help="Run a recorded turn again, also in a debugger.")
@click.argument("recording", type=RECORDING)
@turn_options
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
def turn_command(
    recording: Path,
    turn: int | None,
    round_number: int | None,
    worst: int | None,
    bot: str | None,
    traits: tuple[str, ...],
    nodes: int | None,
    limit_ms: float | None,
    debugger: bool,
    watch: bool,
) -> None:
    """Run a recorded turn again, also in a debugger.

    RECORDING is a file of `vindibot play`, or "last" for the newest recording in recordings/. The traits get the
    recorded state, history and seed. The table compares their weighted votes with the recorded votes: "same" if the votes are
    equal, else "now" and "then". The output of a trait is shown. A breakpoint() in a trait starts the debugger. A trait in an
    endless loop is ended after --limit-ms, and the message names the line where it was. The traits run in another process, with a
    debugger in this process.

    Without --bot, the traits come from the header of the recording. Your own traits are looked up in the current folder, in
    bots/ and beside the recording. --watch looks for changes in these folders, or in the folders of BOT. Set NUMBA_DISABLE_JIT=1
    to step through compiled kernels.

    \b
    Examples:
      vindibot turn last --turn 212
      vindibot turn last --turn 212 --bot mybot --watch
      vindibot turn last --turn 212 --bot mybot --trait coward --pdb
    """
    from vindibot.base import terminal
    from vindibot.devtools import find_bot, rerun_turn, run_at_each_change
    from vindibot.games import read_recording

    game = read_recording(recording)
    own = chosen_turn(game, turn, round_number, worst)
    if watch:
        if debugger:
            raise click.UsageError("--watch does not start a debugger: give only one of --watch and --pdb")
        words = ["turn", str(recording), "--turn", str(own.turn), *(part for label in traits for part in ("--trait", label))]
        more = {"--bot": bot, "--nodes": nodes, "--limit-ms": limit_ms}
        words += [part for option, value in more.items() if value is not None for part in (option, str(value))]
        run_at_each_change(terminal(), words, _folders(recording, bot))
        return
    rerun_turn(terminal(), game, own, find_bot(bot, game), nodes=nodes, only=traits, debugger=debugger, limit_ms=limit_ms)


def _folders(recording: Path, bot: str | None) -> list[Path]:
    """Return the folders in which the files of a bot may lie. Raises `UsageError` if there is no such bot."""
    from vindibot.config import named_modules

    if bot is not None:
        return [Path(folder) for folder in named_modules(bot)[0]]
    return [folder for folder in (Path(), Path("bots"), recording.parent) if folder.is_dir()]
