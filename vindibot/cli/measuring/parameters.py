"""Arguments and options that several commands have."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from click.shell_completion import CompletionItem

from vindibot.arena.settings import ClusterSettings
from vindibot.base.errors import UsageError
from vindibot.base.paths import given_path
from vindibot.cli.completion import complete_bots, complete_maps

if TYPE_CHECKING:
    from vindibot.games.files.recorded_turn import Continuation
    from vindibot.games.files.recording import RecordedTurn, Recording


class GivenPath(click.Path):
    """A path (see `given_path`). `options` are options of `click.Path`."""

    def __init__(self, **options: Any) -> None:
        super().__init__(path_type=Path, **options)

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        return super().convert(given_path(value), param, ctx)


class RecordingPath(click.Path):
    """The path of a recording or of a file of games. The word ``last`` stands for the newest recording."""

    name = "recording"

    def __init__(self) -> None:
        super().__init__(path_type=Path)

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        from vindibot.games.files.game_files import find_recording

        return find_recording(value) if isinstance(value, str) else value

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
        words = [CompletionItem("last", help="the newest recording")] if "last".startswith(incomplete) else []
        return [*words, CompletionItem(incomplete, type="file")]


PATH = GivenPath()
RECORDING = RecordingPath()
#: Words for the directions 0..4 on the command line.
WORDS = ("stay", "north", "south", "east", "west")


def from_options(command: Any) -> Any:
    """Add the options that choose a turn of an earlier game, from which new games go on."""
    options = (
        click.option(
            "--from",
            "source",
            type=RECORDING,
            metavar="FILE",
            help="go on from a turn of an earlier game: a recording (last: the newest), game records, results of an arena,"
            " a saved answer of a server, or a saved stream of events",
        ),
        click.option("--turn", type=int, metavar="N", help="with --from: the turn, as `turn` in the protocol"),
        click.option("--game", metavar="ID", help="with --from: the game, if FILE has several: its id, or its number from 1"),
        click.option(
            "--hero",
            type=click.IntRange(1, 4),
            metavar="N",
            help="with --from: your hero  [default: our hero of a recording; else the hero to move]",
        ),
    )
    for option in reversed(options):
        command = option(command)
    return command


def continuation(source: Path | None, turn: int | None, game: str | None, hero: int | None) -> Continuation | None:
    """Return the turn that the options of `from_options` choose, None without --from. Raises `VindibotError`."""
    if source is None:
        if (turn, game, hero) != (None, None, None):
            raise UsageError("--turn, --game and --hero choose a turn of the file that --from names")
        return None
    from vindibot.games.files.recorded_turn import Continuation

    return Continuation.read(source, turn, game=game, hero=None if hero is None else hero - 1)


config_option = click.option(
    "--config", "-c", metavar="FILE", help="a configuration file: a line  key = value  per setting (vindibot config shows all)"
)
#: The settings of a cluster that have no option in commands that give it games. Only configuration files and variables set them.
CLUSTER = {f"cluster.{key}" for key in ClusterSettings.model_fields if key != "address"}
map_option = click.option(
    "--map",
    "maps",
    multiple=True,
    metavar="MAP",
    help="play on this map, a name (m1) or a file; repeatable",
    shell_complete=complete_maps,
)
size_option = click.option(
    "--size", "sizes", multiple=True, type=int, metavar="N", help="play only on maps of this size; repeatable"
)
turn_option = click.option("--turn", type=int, metavar="N", help="the value of `turn` in the recording; a round has four turns")
round_option = click.option(
    "--round", "round_number", type=click.IntRange(min=1), metavar="N", help="the turn of our hero in round N"
)
worst_option = click.option(
    "--worst",
    type=click.IntRange(min=1),
    is_flag=False,
    flag_value=1,
    metavar="[N]",
    help="the turn of the worst move in the review of the recording; with N, of the N-th worst move",
)
recorded_bot_option = click.option(
    "--bot", metavar="BOT", shell_complete=complete_bots, help="the bot to ask  [default: the bot of the recording]"
)
traits_option = click.option("--trait", "traits", multiple=True, metavar="LABEL", help="ask this trait only; repeatable")
nodes_option = click.option(
    "--nodes",
    type=click.IntRange(min=1),
    metavar="N",
    help="limit searches to N nodes, which gives the same result on any machine [default: a limit of 0.9 s]",
)


def turn_options(function: Any) -> Any:
    """Add the options that name a turn of a recording: ``--turn``, ``--round`` and ``--worst``. See `chosen_turn`."""
    for option in (worst_option, round_option, turn_option):
        function = option(function)
    return function


def chosen_turn(recording: Recording, turn: int | None, round_number: int | None, worst: int | None) -> RecordedTurn:
    """Return the turn that the options of `turn_options` name. Raises `click.UsageError` unless exactly one of them is given."""
    from vindibot.games.files.recorded_turn import choose_turn

    if sum(value is not None for value in (turn, round_number, worst)) != 1:
        raise click.UsageError("name the turn with one of --turn, --round and --worst")
    return choose_turn(recording, turn=turn, round_number=round_number, worst=worst)
