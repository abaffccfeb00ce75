"""The configuration of a command: defaults, files, environment and options brought together, each value with its origin.

A later layer overrides an earlier one, key by key: defaults; the configuration file, after the file it `extends`;
variables of the environment (``VINDIBOT_TIME__MARGIN_MS`` is ``time.margin_ms``); options of the command line. Every layer
is checked as a whole, so that an error names the file and line, the variable or the option in which the slip is.
"""

from __future__ import annotations

import os
import tomllib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Generic, Literal, TypeVar, get_args, get_origin

from pydantic import BaseModel, SecretStr, ValidationError

from behaviours.registry import nearest
from vindibot.base import ServerAddress, UsageError
from vindibot.config.files import TomlFile, find, leaves, look_up, read_chain, short
from vindibot.config.messages import dotted, explain, shown
from vindibot.config.settings import PlaySettings, Settings, none_word

#: Variables of the environment begin with this; two underscores lead into a table.
PREFIX = "VINDIBOT_"
#: Names the configuration file, where no option does.
CONFIG_VARIABLE = "VINDIBOT_CONFIG"
#: Variables that are ours, but no settings.
OTHER_VARIABLES = frozenset({CONFIG_VARIABLE, "VINDIBOT_ADMIN_KEY", "VINDIBOT_KERNEL_CACHE"})

T = TypeVar("T", bound=Settings)
KeyPath = tuple[str, ...]


@dataclass(frozen=True)
class Origin:
    """Where a value comes from. `name` is the file, the variable or the option; `line` counts from 1, where it is known;
    `folder` is that of the file; a later `layer` overrides an earlier one."""

    kind: Literal["default", "file", "environment", "option"]
    name: str = ""
    line: int | None = None
    folder: Path | None = field(default=None, repr=False)
    layer: int = 0

    def __str__(self) -> str:
        if self.kind == "default":
            return "default"
        if self.kind == "file":
            return short(self.name) if self.line is None else f"{short(self.name)}, line {self.line}"
        return f"environment variable {self.name}" if self.kind == "environment" else f"option {self.name}"


@dataclass(frozen=True)
class SettingRow:
    """One setting as ``vindibot config`` shows it; a key's value is masked."""

    key: str
    value: str
    origin: Origin


@dataclass(frozen=True)
class Config(Generic[T]):
    """Settings, and for each key (``time.margin_ms``) that is not at its default, where it was set."""

    settings: T
    origins: Mapping[str, Origin] = field(default_factory=dict)

    def origin(self, key: str) -> Origin:
        """Where the value of a key comes from."""
        return self.origins.get(key, Origin("default"))

    def files(self) -> set[Path]:
        """The files in which any of the values is set."""
        return {Path(origin.name).resolve() for origin in self.origins.values() if origin.kind == "file"}

    def rows(self) -> list[SettingRow]:
        """All settings in the order of their declaration."""
        return list(_rows(self.settings, self.origin))

    def refuse(self, key: str, words: str) -> UsageError:
        """An error about the value of a key that says where it was set: for what only turns out when it is used."""
        origin = self.origin(key)
        return UsageError(f"{key} {words}" if origin.kind == "default" else f"{origin}: {key} {words}")


def load_play(
    config: str | Path | None = None,
    overrides: Mapping[str, Any] | None = None,
    *,
    environ: Mapping[str, str] | None = None,
    option_names: Mapping[str, str] | None = None,
) -> Config[PlaySettings]:
    """The settings of ``vindibot play``; see `load`.

    A `bot`, `against`, `key_file` or map file named in a configuration file may lie beside it: such values come back as
    paths that work from the current folder, and a bot that is not there is an error. Of `key` and `key_file` the one set
    in the later layer counts, the other is emptied. Settings that cannot both be meant raise `UsageError`.
    """
    loaded = load_config(PlaySettings, config, overrides, environ=environ, option_names=option_names)
    changes = _found_files(loaded)
    if loaded.settings.key is not None and loaded.settings.key_file is not None:
        later = loaded.origin("key_file").layer > loaded.origin("key").layer
        changes["key" if later else "key_file"] = None
    settled = Config(loaded.settings.model_copy(update=changes), loaded.origins)
    if settled.settings.server:
        try:
            ServerAddress.parse(settled.settings.server, allow_old_domain=settled.settings.allow_old_domain)
        except UsageError as problem:
            raise settled.refuse("server", f"is refused: {problem.message}") from None
    for key, other, words in settled.settings.conflicts():
        raise settled.refuse(key, f"{words} ({other} is set by {settled.origin(other)})")
    return settled


def _found_files(loaded: Config[PlaySettings]) -> dict[str, Any]:
    """The settings that name files, as paths that work from the current folder."""
    found: dict[str, Any] = {}
    for key in ("bot", "against", "key_file", "map"):
        value, origin = str(getattr(loaded.settings, key) or ""), loaded.origin(key)
        if not value or origin.kind == "default" or "\n" in value:
            continue
        if key in ("bot", "against"):
            try:
                found[key] = str(find(value, kind="bot", beside=origin.folder, folder="bots"))
            except UsageError as problem:
                raise loaded.refuse(key, f"leads nowhere: {problem.message}") from None
        elif origin.folder is not None and (path := look_up(value, beside=origin.folder)):
            found[key] = path if key == "key_file" else str(path)
    return found


def load_config(
    model: type[T],
    config: str | Path | None = None,
    overrides: Mapping[str, Any] | None = None,
    *,
    environ: Mapping[str, str] | None = None,
    option_names: Mapping[str, str] | None = None,
) -> Config[T]:
    """Bring the layers together into `model`.

    `config` is a configuration file or the name of one (``arena``); without it VINDIBOT_CONFIG is asked, and without that
    there is no file. `overrides` are the options: dotted keys with values, or with text to be read as in the environment;
    None is an option that was not given. `option_names` says what a key is called on the command line where that is not
    ``--time-margin-ms``. `environ` stands in for the process's environment.

    Raises `UsageError`, with all that is wrong in the first layer in which anything is.
    """
    environ = os.environ if environ is None else environ
    names = option_names or {}
    tables = _tables(model)
    merged: dict[KeyPath, Any] = {}
    origins: dict[str, Origin] = {}
    count = 0

    def add(layer: Mapping[str, Any], origin_of: Callable[[KeyPath], Origin]) -> None:
        nonlocal count
        count += 1
        _check(model, layer, origin_of)
        for path, value in leaves(layer, tables):
            merged[path] = value
            origins[dotted(path)] = replace(origin_of(path), layer=count)

    for file in _files(config, environ):
        add({key: value for key, value in file.data.items() if key != "extends"}, _origin_in(file))
    add(_from_environment(tables, environ), lambda path: Origin("environment", variable(path)))
    add(
        _from_options(tables, overrides or {}),
        lambda path: Origin("option", names.get(dotted(path), "--" + "-".join(path).replace("_", "-"))),
    )
    return Config(model.model_validate(_nested(merged)), origins)


def variable(path: Sequence[str]) -> str:
    """The variable of the environment for a key: ``VINDIBOT_TIME__MARGIN_MS`` for ``("time", "margin_ms")``."""
    return PREFIX + "__".join(path).upper()


def _files(config: str | Path | None, environ: Mapping[str, str]) -> list[TomlFile]:
    name = str(config) if config is not None else environ.get(CONFIG_VARIABLE, "")
    return read_chain(find(name, kind="configuration"), kind="configuration") if name else []


def _origin_in(file: TomlFile) -> Callable[[KeyPath], Origin]:
    return lambda path: Origin("file", str(file.path), file.line(path), file.path.resolve().parent)


def _tables(model: type[BaseModel]) -> dict[str, Any]:
    """The keys of a model: a dictionary for each table, the field's type for each value."""
    tables: dict[str, Any] = {}
    for name, info in model.model_fields.items():
        inner = info.annotation
        tables[name] = _tables(inner) if isinstance(inner, type) and issubclass(inner, BaseModel) else inner
    return tables


def _from_environment(tables: Mapping[str, Any], environ: Mapping[str, str]) -> dict[str, Any]:
    known = {variable(path): path for path in _paths(tables)}
    values = {}
    for name, text in environ.items():
        if not name.startswith(PREFIX) or name in OTHER_VARIABLES:
            continue
        if name not in known:
            raise UsageError(f"environment variable {name} is no setting of ours{nearest(name, [*known, CONFIG_VARIABLE])}")
        values[known[name]] = _from_text(text, known[name], tables)
    return _nested(values)


def _from_options(tables: Mapping[str, Any], overrides: Mapping[str, Any]) -> dict[str, Any]:
    known = {dotted(path): path for path in _paths(tables)}
    values = {}
    for key, value in overrides.items():
        if value is None:
            continue
        if key not in known:
            raise UsageError(f"there is no setting {shown(key)}{nearest(key, known)}")
        path = known[key]
        plain = str(value) if isinstance(value, Path) else value
        values[path] = _from_text(plain, path, tables) if isinstance(plain, str) else plain
    return _nested(values)


def _paths(tables: Mapping[str, Any], path: KeyPath = ()) -> Iterator[KeyPath]:
    for key, inner in tables.items():
        if isinstance(inner, Mapping):
            yield from _paths(inner, (*path, key))
        else:
            yield (*path, key)


def _from_text(text: str, path: KeyPath, tables: Mapping[str, Any]) -> Any:
    """The value that a text of the environment stands for; text that is no number or yes and no stays text, for the
    model to refuse."""
    kind: Any = tables
    for part in path:
        kind = kind[part]
    kinds = get_args(kind) or (kind,)
    if bool in kinds:
        return {"true": True, "yes": True, "on": True, "1": True, "false": False, "no": False, "off": False, "0": False}.get(
            text.strip().lower(), text
        )
    if any(number in kinds or any(number in get_args(inner) for inner in kinds) for number in (int, float)):
        try:
            value = tomllib.loads(f"value = {text.strip()}")["value"]
        except tomllib.TOMLDecodeError:
            return text.strip()
        return value if isinstance(value, int | float) and not isinstance(value, bool) else text.strip()
    return text


def _nested(values: Mapping[KeyPath, Any]) -> dict[str, Any]:
    data: dict[str, Any] = {}
    for path, value in values.items():
        table = data
        for part in path[:-1]:
            table = table.setdefault(part, {})
        table[path[-1]] = value
    return data


def _check(model: type[BaseModel], layer: Mapping[str, Any], origin_of: Callable[[KeyPath], Origin]) -> None:
    """Refuse a layer that does not fit the model, with one line for each slip."""
    try:
        model.model_validate(layer)
    except ValidationError as problem:
        lines = []
        for slip in problem.errors(include_url=False):
            path = tuple(str(part) for part in slip["loc"])
            known, secret, word = _surroundings(model, path)
            words = explain(slip, secret=secret, known=known, word=word)
            if slip["type"] == "extra_forbidden" and (tables := _tables_with(model, path[-1])):
                words = f"is no known key here; put it {' or '.join(tables)}"
            lines.append(f"{origin_of(path)}: {dotted(path)} {words}")
        raise UsageError("\n".join(lines)) from None


def _tables_with(model: type[BaseModel], key: str) -> list[str]:
    """Where a key can stand that stands in the wrong table, in words."""
    found = [path[:-1] for path in _paths(_tables(model)) if path[-1] == key]
    return [f"into [{dotted(table)}]" if table else "at the top, above the first [table]" for table in found]


def _surroundings(model: type[BaseModel], path: KeyPath) -> tuple[list[str], bool, str]:
    """The keys of the table in which `path` ends, whether its value is a secret, and the word for None (see `none_word`)."""
    parts = iter(path[:-1])
    for part in parts:
        info = model.model_fields.get(part)
        inner = info.annotation if info is not None else None
        if get_origin(inner) is dict:  # tables with names of the user's
            inner = get_args(inner)[1]
            if next(parts, None) is None:
                return [], False, ""
        if not (isinstance(inner, type) and issubclass(inner, BaseModel)):
            return [], True, ""
        model = inner
    info = model.model_fields.get(path[-1]) if path else None
    secret = info is not None and SecretStr in (info.annotation, *get_args(info.annotation))
    return list(model.model_fields), secret, none_word(info)


def _rows(settings: BaseModel, origin: Callable[[str], Origin], path: KeyPath = ()) -> Iterator[SettingRow]:
    for name, info in type(settings).model_fields.items():
        value, key = getattr(settings, name), dotted((*path, name))
        if isinstance(value, BaseModel):
            yield from _rows(value, origin, (*path, name))
        else:
            yield SettingRow(key, _shown(none_word(info) if value is None else value), origin(key))


def _shown(value: Any) -> str:
    if isinstance(value, SecretStr):
        return '"***"'
    return shown(str(value) if isinstance(value, Path) else value, width=500)
