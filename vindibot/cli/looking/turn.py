"""``vindibot turn``: run a recorded turn again, also in a debugger."""

from __future__ import annotations

from pathlib import Path
from typing import Any

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
def turn_command(
    file: Path,
    turn: int | None,
    round_number: int | None,
    worst: int | None,
    game: str | None,
    bot: str | None,
    traits: tuple[str, ...],
    nodes: int | None,
    limit_ms: float | None,
    debugger: bool,
    watch: bool,
) -> None:
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
    from vindibot.base.errors import UsageError
    from vindibot.base.output.console import terminal
    from vindibot.base.writing import short
    from vindibot.config.bots import load_bot
    from vindibot.devtools.rerun import RerunOptions, ask_turn, rerun_turn
    from vindibot.devtools.trials.asking import find_bot
    from vindibot.games.files.game_files import kind_of, read_game_file
    from vindibot.games.files.recorded_turn import Continuation
    from vindibot.games.files.recording import Recording

    recording = read_game_file(file, game) if kind_of(file) == "recording" else None
    if recording is not None:
        assert isinstance(recording, Recording)
        turn = chosen_turn(recording, turn, round_number, worst).turn
    elif bot is None:
        raise UsageError(f"{short(file)} has no votes: name the bot to ask with --bot")
    if watch:
        if debugger:
            raise click.UsageError("--watch does not start a debugger: give only one of --watch and --pdb")
        more = {"--turn": turn, "--game": game, "--bot": bot, "--nodes": nodes, "--limit-ms": limit_ms}
        _watch(file, bot, more, traits)
        return
    options = RerunOptions(nodes=nodes, only=traits, debugger=debugger, limit_ms=limit_ms)
    if recording is not None:
        assert turn is not None
        rerun_turn(terminal(), recording, recording.turn(turn), find_bot(bot, recording), options)
    else:
        assert bot is not None
        ask_turn(terminal(), Continuation.read(file, turn, game=game, to_move=True), load_bot(bot), options)


def _watch(file: Path, bot: str | None, options: dict[str, Any], traits: tuple[str, ...]) -> None:
    """Run the command with these options at each change of a file of the bot."""
    from vindibot.base.output.console import terminal
    from vindibot.devtools.trials.watching import run_at_each_change

    words = [str(part) for option, value in options.items() if value is not None for part in (option, value)]
    words += [part for label in traits for part in ("--trait", label)]
    run_at_each_change(terminal(), ["turn", str(file), *words], _folders(file, bot))


def _folders(file: Path, bot: str | None) -> list[Path]:
    """Return the folders in which the files of a bot may lie. Raises `UsageError` if there is no such bot."""
    from vindibot.config.bots import named_modules

    if bot is not None:
        return [Path(folder) for folder in named_modules(bot)[0]]
    return [folder for folder in (Path(), Path("bots"), file.parent) if folder.is_dir()]
