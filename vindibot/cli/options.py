"""Options of the command line, made from settings: one option for each field of a settings model, with its help text."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from typing import Any

import click
from click.shell_completion import CompletionItem
from pydantic import BaseModel

from vindibot.config import dotted, none_word, setting_fields

#: What click calls for the completions of a value.
Completer = Callable[[click.Context, click.Parameter, str], list[CompletionItem]]


def option_names(model: type[BaseModel], spelled: Mapping[str, str]) -> dict[str, str]:
    """What each key of a model (``time.margin_ms``) is called on the command line; `spelled` has the exceptions."""
    return {dotted(path): _name(dotted(path), spelled) for path, _ in setting_fields(model)}


def settings_options(
    model: type[BaseModel],
    *,
    spelled: Mapping[str, str],
    hidden: Collection[str] = (),
    defaults: Mapping[str, Any] | None = None,
    completes: Mapping[str, Completer] | None = None,
) -> list[click.Parameter]:
    """An option for each field of a model and its tables, except those in `hidden`.

    A value that was not given is None; given ones are texts, to be checked with the other layers of the configuration.
    Their parameter is the key with ``__`` for a dot. `spelled` are names unlike their key; `defaults` are shown where a
    command has defaults of its own; `completes` says what the shell may complete a value to.
    """
    found: list[click.Parameter] = []
    for path, info in setting_fields(model):
        key = dotted(path)
        if key not in hidden:
            default = (defaults or {}).get(key, none_word(info) or info.default)
            found.append(_option(key, _name(key, spelled), info, default, (completes or {}).get(key)))
    return found


def overrides(options: Mapping[str, Any]) -> dict[str, Any]:
    """What the options of a command say, by the keys of the settings."""
    return {name.replace("__", "."): value for name, value in options.items()}


def _name(key: str, spelled: Mapping[str, str]) -> str:
    return spelled.get(key, "--" + key.replace(".", "-").replace("_", "-"))


def _option(key: str, name: str, info: Any, default: Any, complete: Completer | None) -> click.Option:
    parameter = key.replace(".", "__")
    if info.annotation is bool:
        on = "on" if default else "off"
        names = [f"{name}/--no-{name[2:]}", parameter]
        return click.Option(names, default=None, help=f"{info.description}  [default: {on}]")
    shown = f"  [default: {default}]" if default not in ("", (), None) and not isinstance(default, bool) else ""
    metavar = {"int": "N", "float": "NUMBER"}.get(getattr(info.annotation, "__name__", ""), "VALUE")
    choices = getattr(info.annotation, "__args__", ())
    if choices and all(isinstance(choice, str) for choice in choices):
        metavar = "|".join(choices)
    words = f"{info.description}{shown}"
    return click.Option([name, parameter], default=None, metavar=metavar, help=words, shell_complete=complete)
