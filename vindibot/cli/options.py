"""Options of several commands: those that are made from settings, one per field of a model, and paths, maps, bots and turns."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Collection, Mapping
from functools import reduce
from pathlib import Path
from types import NoneType
from typing import TYPE_CHECKING, Any, TypeVar, get_args

import click
from click.shell_completion import CompletionItem
from pydantic import BaseModel

from vindibot.base.errors import UsageError
from vindibot.base.writing import given_path
from vindibot.cli.completion import complete_bots, complete_maps
from vindibot.config.load import setting_fields
from vindibot.config.messages import dotted
from vindibot.config.settings import none_word

if TYPE_CHECKING:
    from vindibot.config.load import Config
    from vindibot.config.settings import Settings
    from vindibot.games.files.recorded_turn import Continuation

Function = TypeVar("Function", bound=Callable[..., Any])
Decorator = Callable[[Function], Function]
#: A function that click calls for the completions of a value.
Completer = Callable[[click.Context, click.Parameter, str], list[CompletionItem]]

#: The key of `context.meta` under which `RecordedCommand` stores the words of the command line.
WORDS = "vindibot.words"
#: The tables of settings whose names are left out in the names of options: ``--move-ms`` for ``limits.move_ms``.
LEFT_OUT = ("limits", "time")
#: The names of options that follow from no rule, by the keys of their settings. Some commands have more of them.
SPELLED = {
    "pool.in_process": "--in-process",
    "pool.nodes": "--nodes",
    "pool.workers": "--workers",
    "recording.enabled": "--recording",
    "recording.folder": "--recordings",
}
#: Settings that no command has an option for: only configuration files and environment variables set them.
EXPERT = {"log.file", "log.prints", "pool.grace_ms", "pool.strikes"}


class RecordedCommand(click.Command):
    """A command that stores the words of its command line, for `command_line`."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Store the words `args`, then parse them (see click)."""
        ctx.meta[WORDS] = tuple(args)
        return super().parse_args(ctx, args)


def command_line(context: click.Context) -> str:
    """Return the command line of a `RecordedCommand` as the user typed it."""
    return shlex.join(["vindibot", str(context.info_name), *context.meta[WORDS]])


def option_names(model: type[BaseModel], spelled: Mapping[str, str] | None = None) -> dict[str, str]:
    """Return the option's name for each key of a model (``time.margin_ms``). `spelled` has further names as in `SPELLED`."""
    return {dotted(path): _name(dotted(path), spelled) for path, _ in setting_fields(model)}


def settings_options(
    model: type[BaseModel],
    *,
    spelled: Mapping[str, str] | None = None,
    hidden: Collection[str] = (),
    defaults: Mapping[str, Any] | None = None,
    completes: Mapping[str, Completer] | None = None,
) -> Decorator[Any]:
    """Return a decorator that adds an option to a command for each field of a model and its tables but for `hidden` and `EXPERT`.

    The value of an option is a text, which `load_config` checks, or None if the option is not given. The command's parameter for
    an option has the name of the key, with ``__`` for each dot. `spelled` has further names of options as in `SPELLED`.
    `defaults` has, by key, the command's defaults that differ from the model's defaults. `completes` has, by key, the
    functions that complete values.
    """

    def add(command: Any) -> Any:
        usual = model()
        for path, info in reversed([*setting_fields(model)]):
            key = dotted(path)
            if key not in hidden and key not in EXPERT:
                default = (defaults or {}).get(key, none_word(info) or reduce(getattr, path, usual))
                command = _option(key, _name(key, spelled), info, default, (completes or {}).get(key))(command)
        return command

    return add


#: What the help shows for the value of an option, by the type of the setting.
METAVARS: dict[Any, str] = {int: "N", float: "NUMBER", Path: "PATH"}


def overrides(options: Mapping[str, Any]) -> dict[str, Any]:
    """Return the values of a command's options, by the keys of the settings (``time.margin_ms``).

    `options` has these values by the names of the command's parameters (``time__margin_ms``). A repeatable option that is not
    given has the value None.
    """
    values = {name: (list(value) or None) if isinstance(value, tuple) else value for name, value in options.items()}
    return {name.replace("__", "."): value for name, value in values.items()}


def load_settings(
    model: type[Settings], file: str | None, options: Mapping[str, Any], spelled: Mapping[str, str] | None = None
) -> Config[Any]:
    """Load settings from defaults, a configuration file, environment variables, and the options in `options` (values by key).

    Raises `UsageError`.
    """
    from vindibot.config.load import load_config

    return load_config(model, file, options, option_names=option_names(model, spelled), others=known_variables)


def known_variables() -> set[str]:
    """Return the environment variables for the settings of all commands."""
    from vindibot.devtools import effective

    return effective.known_variables()


def _name(key: str, spelled: Mapping[str, str] | None) -> str:
    table, dot, rest = key.partition(".")
    words = rest if dot and table in LEFT_OUT else key
    return (SPELLED | dict(spelled or {})).get(key, "--" + words.replace(".", "-").replace("_", "-"))


def _option(key: str, name: str, info: Any, default: Any, complete: Completer | None) -> Decorator[Any]:
    parameter = key.replace(".", "__")
    if info.annotation is bool:
        on = "on" if default else "off"
        names = f"{name}/--no-{name[2:]}", parameter
        return click.option(*names, default=None, help=f"{info.description}  [default: {on}]")
    shown = f"  [default: {default}]" if default not in ("", (), None) and not isinstance(default, bool) else ""
    choices = get_args(info.annotation)
    kinds = [kind for kind in choices or (info.annotation,) if kind is not NoneType]
    metavar = METAVARS.get(kinds[0], "VALUE") if len(kinds) == 1 else "VALUE"
    if choices and all(isinstance(choice, str) for choice in choices):
        metavar = "|".join(choices)
    return click.option(name, parameter, metavar=metavar, help=f"{info.description}{shown}", shell_complete=complete)


# ---- Values and options that several commands have ----


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


def number_option(*names: str, least: int = 1, most: int | None = None, **options: Any) -> Decorator[Any]:
    """Return an option whose value is a whole number from `least` to `most`."""
    return click.option(*names, type=click.IntRange(least, most), metavar="N", **options)


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
        number_option("--hero", most=4, help="with --from: your hero  [default: our hero of a recording; else the hero to move]"),
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


def heroes_option(description: str) -> Decorator[Any]:
    """Return the option ``--hero``, whose value is a tuple of heroes (0..3)."""

    def heroes(_: click.Context, __: click.Parameter, numbers: tuple[int, ...]) -> tuple[int, ...]:
        return tuple(sorted({number - 1 for number in numbers}))

    kind = click.IntRange(1, 4)
    return click.option("--hero", "heroes", type=kind, multiple=True, metavar="N", callback=heroes, help=description)


turn_option = click.option("--turn", type=int, metavar="N", help="the value of `turn` in the recording; a round has four turns")
round_option = number_option("--round", "round_number", help="the turn of our hero in round N")
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
nodes_option = number_option(
    "--nodes", help="limit searches to N nodes, which gives the same result on any machine [default: a limit of 0.9 s]"
)


def turn_options(function: Any) -> Any:
    """Add the options that name a turn of a recording: ``--turn``, ``--round`` and ``--worst``. See `choose_turn`."""
    for option in (worst_option, round_option, turn_option):
        function = option(function)
    return function
