"""Command line options that are made from settings: one option per field of a model. A field's description is its help text."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from functools import reduce
from pathlib import Path
from types import NoneType
from typing import TYPE_CHECKING, Any, TypeVar, get_args

import click
from click.shell_completion import CompletionItem
from pydantic import BaseModel

from vindibot.config.load import setting_fields
from vindibot.config.messages import dotted
from vindibot.config.settings import none_word

if TYPE_CHECKING:
    from vindibot.config.load import Config
    from vindibot.config.settings import Settings

Function = TypeVar("Function", bound=Callable[..., Any])
Decorator = Callable[[Function], Function]
#: A function that click calls for the completions of a value.
Completer = Callable[[click.Context, click.Parameter, str], list[CompletionItem]]

#: The key of `context.meta` under which `RecordedCommand` stores the words of the command line.
WORDS = "vindibot.words"
#: The tables of settings whose names are left out in the names of options: ``--move-ms`` for ``limits.move_ms``.
LEFT_OUT = ("cluster", "limits", "time")
#: The names of options that follow from no rule, by the keys of their settings. Some commands have more of them.
SPELLED = {
    "cluster.address": "--dask",
    "pool.in_process": "--in-process",
    "pool.nodes": "--nodes",
    "pool.workers": "--workers",
    "recording.enabled": "--recording",
    "recording.folder": "--recordings",
}


#: Settings that no command has an option for: only configuration files and environment variables set them.
EXPERT = {"log.file", "log.prints", "pool.grace_ms", "pool.strikes"}


class RecordedCommand(click.Command):
    """A command that stores the words of its command line in ``context.meta``."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Store the words `args`, then parse them (see click)."""
        ctx.meta[WORDS] = tuple(args)
        return super().parse_args(ctx, args)


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
    model: type[Settings], file: str | None, given: Mapping[str, Any], spelled: Mapping[str, str] | None = None
) -> Config[Any]:
    """Load settings from defaults, a configuration file, environment variables, and the options in `given` (values by key).

    Raises `UsageError`.
    """
    from vindibot.config.load import load_config

    return load_config(model, file, given, option_names=option_names(model, spelled), others=known_variables)


def known_variables() -> set[str]:
    """Return the environment variables for the settings of all commands."""
    from vindibot.config.load import variables
    from vindibot.devtools.effective import settings_models

    return variables(settings_models())


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
