"""The configuration of a command, merged from layers. Each value knows its origin.

The layers, in order, are: defaults; the file that the configuration file `extends`; the configuration file; environment variables
(``VINDIBOT_TIME__MARGIN_MS`` sets ``time.margin_ms``); command line options. For each key, a later layer overrides an earlier
layer (`vindibot.config.tables`). Each layer is checked as a whole. An error names the origin of the wrong value: file and line,
variable, or option.
"""

from __future__ import annotations

import json
import os
import tomllib
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import reduce
from pathlib import Path
from typing import Any, Generic, Literal, TypeVar, get_args, get_origin

from pydantic import BaseModel, SecretStr, TypeAdapter, ValidationError
from pydantic.fields import FieldInfo

from behaviours.registry import nearest
from vindibot.base.address import ServerAddress
from vindibot.base.errors import UsageError
from vindibot.config.files import KeyPath, TomlFile, find, look_up, read_chain, short
from vindibot.config.messages import dotted, explain, listed, shown
from vindibot.config.settings import PlaySettings, Settings, none_word
from vindibot.config.tables import Tables, flat, own_values

#: The start of the names of vindibot's environment variables. In such a name, two underscores separate a table from its key.
PREFIX = "VINDIBOT_"
#: The variable that names the configuration file of ``vindibot play`` if no option does.
CONFIG_VARIABLE = "VINDIBOT_CONFIG"
#: The environment variables of vindibot that are no settings.
OTHER_VARIABLES = frozenset({CONFIG_VARIABLE, "VINDIBOT_ADMIN_KEY", "VINDIBOT_KERNEL_CACHE"})

T = TypeVar("T", bound=Settings)


@dataclass(frozen=True)
class Origin:
    """The place that sets a value.

    `name` is the file, the variable or the option. `line` counts from 1 and is None if the line is unknown. `folder` is the
    file's folder. A higher `layer` overrides a lower one.
    """

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
    """One setting as ``vindibot config`` shows it. `value` is TOML, None if no value is set. A secret is masked."""

    key: str
    value: str | None
    origin: Origin


@dataclass(frozen=True)
class Config(Generic[T]):
    """Settings, with the origin of each key (``time.margin_ms``) that a file, a variable or an option sets."""

    settings: T
    origins: Mapping[str, Origin] = field(default_factory=dict)

    def origin(self, key: str) -> Origin:
        """Return the origin of a key's value."""
        return self.origins.get(key, Origin("default"))

    def files(self) -> set[Path]:
        """Return the files that set at least one of the values, as resolved paths."""
        return {Path(origin.name).resolve() for origin in self.origins.values() if origin.kind == "file"}

    def rows(self) -> list[SettingRow]:
        """Return all settings, for ``vindibot config``, in the order of their declaration.

        A table whose keys the user chooses has a row per value that is set.
        """
        rows: list[SettingRow] = []
        for path, info in setting_fields(type(self.settings)):
            value = reduce(getattr, path, self.settings)
            rows += self._rows(path, _word_for_none(info) if value is None else value)
        return rows

    def _rows(self, path: KeyPath, value: Any) -> Iterator[SettingRow]:
        if isinstance(value, BaseModel):
            value = {name: getattr(value, name) for name in type(value).model_fields if name in value.model_fields_set}
        if isinstance(value, Mapping):
            for name, inner in value.items():
                yield from self._rows((*path, name), inner)
        else:
            yield SettingRow(dotted(path), None if value is None else _shown(value), self.origin(dotted(path)))

    def refuse(self, key: str, words: str) -> UsageError:
        """Return an error about the value of a key, with its origin and the explanation `words`.

        Commands use it for errors that appear only when the value is used.
        """
        origin = self.origin(key)
        return UsageError(f"{key} {words}" if origin.kind == "default" else f"{origin}: {key} {words}")


def load_play(
    config: str | Path | None = None,
    overrides: Mapping[str, Any] | None = None,
    *,
    environ: Mapping[str, str] | None = None,
    option_names: Mapping[str, str] | None = None,
    others: Callable[[], Collection[str]] = tuple,
) -> Config[PlaySettings]:
    """Load the settings of ``vindibot play``; see `load_config`. Without `config`, the variable VINDIBOT_CONFIG names the file.

    `bot`, `against`, `key_file` and `map` may name files beside the configuration file. The result has paths that work from the
    current folder. If both `key` and `key_file` are set, the key of the later layer counts, and the other setting becomes None.
    Raises `UsageError` as `load_config` does, for a bot that does not exist, and for settings that exclude each other.
    """
    environ = os.environ if environ is None else environ
    config = config if config is not None else environ.get(CONFIG_VARIABLE) or None
    loaded = load_config(PlaySettings, config, overrides, environ=environ, option_names=option_names, others=others)
    changes = _found_files(loaded)
    if loaded.settings.key is not None and loaded.settings.key_file is not None:
        later = loaded.origin("key_file").layer > loaded.origin("key").layer
        changes["key" if later else "key_file"] = None
    settled = Config(loaded.settings.model_copy(update=changes), loaded.origins)
    if settled.settings.server:
        try:
            ServerAddress.parse(settled.settings.server, allow_old_domain=settled.settings.allow_old_domain)
        except UsageError as problem:
            raise UsageError(f"{settled.origin('server')}: {problem.message}") from None
    for key, other, words in settled.settings.conflicts():
        raise settled.refuse(key, f"{words} ({other} is set by {settled.origin(other)})")
    return settled


def _found_files(loaded: Config[PlaySettings]) -> dict[str, Any]:
    """Return the values of all settings that name files, by key, as paths that work from the current folder."""
    paths: dict[str, Any] = {}
    for key in ("bot", "against", "key_file", "map"):
        value, origin = str(getattr(loaded.settings, key) or ""), loaded.origin(key)
        if not value or origin.kind == "default" or "\n" in value:
            continue
        if key in ("bot", "against"):
            try:
                paths[key] = str(find(value, kind="bot", beside=origin.folder, folder="bots"))
            except UsageError as problem:
                raise UsageError(f"{origin}: {problem.message}") from None
        elif origin.folder is not None and (path := look_up(value, beside=origin.folder)):
            paths[key] = path if key == "key_file" else str(path)
    return paths


def load_config(
    model: type[T],
    config: str | Path | None = None,
    overrides: Mapping[str, Any] | None = None,
    *,
    environ: Mapping[str, str] | None = None,
    option_names: Mapping[str, str] | None = None,
    others: Callable[[], Collection[str]] = tuple,
) -> Config[T]:
    """Load the settings of `model`, merged from all layers.

    `config` is a configuration file or the name of one (``arena``). Without `config`, there is no file. `overrides` maps dotted
    keys to the values of options. A value that is a text is read like an environment variable. The value None stands for an
    option that was not given. The name of an option follows from its key (``--time-margin-ms``). `option_names` maps keys to
    options with other names. `environ` replaces the environment of the process. `others` returns the environment variables of
    other commands, which are ignored here. An unknown variable of vindibot is an error.

    Raises `UsageError` with all errors of the first layer that has errors.
    """
    environ = os.environ if environ is None else environ
    names = option_names or {}
    fields = dict(setting_fields(model))
    tables = Tables[Origin]()
    count = 0

    def add(layer: Mapping[str, Any], origin_of: Callable[[KeyPath], Origin]) -> None:
        nonlocal count
        count += 1
        _check(model, layer, origin_of)
        tables.merge(layer, lambda path: replace(origin_of(path), layer=count))

    for file in read_chain(find(str(config), kind="configuration"), kind="configuration") if config else []:
        tables.reset(file)
        add(own_values(file), _origin_in(file))

    def option(path: KeyPath) -> Origin:
        key = _setting(path, fields)
        return Origin("option", names.get(dotted(key), "--" + "-".join(key).replace("_", "-")))

    add(_from_environment(fields, environ, others), lambda path: Origin("environment", variable(_setting(path, fields))))
    add(_from_options(fields, overrides or {}), option)
    origins = {dotted(path): tables.origins[path] for path, _ in flat(tables.values)}
    return Config(model.model_validate(tables.values), origins)


def variable(path: Sequence[str]) -> str:
    """Return the environment variable for a key: ``VINDIBOT_TIME__MARGIN_MS`` for ``("time", "margin_ms")``."""
    return PREFIX + "__".join(path).upper()


def variables(models: Iterable[type[BaseModel]]) -> set[str]:
    """Return the environment variables for all keys of these models."""
    return {variable(path) for model in models for path, _ in setting_fields(model)}


def _setting(path: KeyPath, fields: Collection[KeyPath]) -> KeyPath:
    """Return the key of the setting that contains the value at `path`: a part of the path if the setting is a table."""
    return next((path[:end] for end in range(len(path), 0, -1) if path[:end] in fields), path)


def _origin_in(file: TomlFile) -> Callable[[KeyPath], Origin]:
    return lambda path: Origin("file", str(file.path), file.line(path), file.path.resolve().parent)


def setting_fields(model: type[BaseModel], path: KeyPath = ()) -> Iterator[tuple[KeyPath, FieldInfo]]:
    """Yield all keys of a model and of its tables, each with its field, in the order of declaration."""
    for name, info in model.model_fields.items():
        inner = info.annotation
        if isinstance(inner, type) and issubclass(inner, BaseModel):
            yield from setting_fields(inner, (*path, name))
        else:
            yield (*path, name), info


def _from_environment(
    fields: Mapping[KeyPath, FieldInfo], environ: Mapping[str, str], others: Callable[[], Collection[str]]
) -> dict[str, Any]:
    known = {variable(path): path for path in fields}
    values = {}
    for name, text in environ.items():
        if not name.startswith(PREFIX) or name in OTHER_VARIABLES:
            continue
        if name in known:
            values[known[name]] = _from_text(text, fields[known[name]])
        elif name not in (elsewhere := others()):
            hint = nearest(name, [*known, *elsewhere, CONFIG_VARIABLE])
            raise UsageError(f"environment variable {name} is an unknown setting{hint}")
    return _nested(values)


def _from_options(fields: Mapping[KeyPath, FieldInfo], overrides: Mapping[str, Any]) -> dict[str, Any]:
    known = {dotted(path): path for path in fields}
    values = {}
    for key, value in overrides.items():
        if value is None:
            continue
        if key not in known:
            raise UsageError(f"there is no setting {shown(key)}{nearest(key, known)}")
        path = known[key]
        plain = str(value) if isinstance(value, Path) else value
        values[path] = _from_text(plain, fields[path]) if isinstance(plain, str) else plain
    return _nested(values)


def _from_text(text: str, field: FieldInfo) -> Any:
    """Return the value that a text means for a field: true or false, a number, or the text itself.

    The model checks the value later.
    """
    kinds = get_args(field.annotation) or (field.annotation,)
    if bool in kinds:
        return {"true": True, "yes": True, "on": True, "1": True, "false": False, "no": False, "off": False, "0": False}.get(
            text.strip().lower(), text
        )
    if {get_origin(field.annotation), *map(get_origin, kinds)} & {list, tuple, dict}:
        value = _from_toml(text)
        return value if isinstance(value, list | dict) else text
    if any(number in kinds or any(number in get_args(inner) for inner in kinds) for number in (int, float)):
        value = _from_toml(text)
        return value if isinstance(value, int | float) and not isinstance(value, bool) else text.strip()
    return text


def _from_toml(text: str) -> Any:
    """Return the value that a text is in TOML, or None if it is none."""
    try:
        return tomllib.loads(f"value = {text.strip()}")["value"]
    except (ValueError, RecursionError):  # no TOML, or a number with too many digits
        return None


def _nested(values: Mapping[KeyPath, Any]) -> dict[str, Any]:
    data: dict[str, Any] = {}
    for path, value in values.items():
        table = data
        for part in path[:-1]:
            table = table.setdefault(part, {})
        table[path[-1]] = value
    return data


def _check(model: type[BaseModel], layer: Mapping[str, Any], origin_of: Callable[[KeyPath], Origin]) -> None:
    """Raise `UsageError` with a line per error if a layer does not fit the model."""
    try:
        model.model_validate(layer)
    except ValidationError as problem:
        lines = []
        for slip in problem.errors(include_url=False):
            path = tuple(str(part) for part in slip["loc"])
            known, secret, word = _surroundings(model, path)
            words = explain(slip, secret=secret, known=known, word=word)
            if slip["type"] == "extra_forbidden" and (tables := _tables_with(model, path[-1])):
                words = f"is an unknown key here; move it {' or '.join(tables)}"
            lines.append(f"{origin_of(path)}: {dotted(path)} {words}")
        raise UsageError(listed(lines)) from None


def _tables_with(model: type[BaseModel], key: str) -> list[str]:
    """Return, for each table with a key of this name, the words that follow "move it" in a message: ``into [time]``."""
    tables = [path[:-1] for path, _ in setting_fields(model) if path[-1] == key]
    return [f"into [{dotted(table)}]" if table else "to the top, above the first [table]" for table in tables]


def _surroundings(model: type[BaseModel], path: KeyPath) -> tuple[list[str], bool, str]:
    """Return facts about the key at `path`: the keys of its table, whether its value is a secret, and its word for None.

    For the word see `none_word`.
    """
    parts = iter(path[:-1])
    for part in parts:
        info = model.model_fields.get(part)
        inner = info.annotation if info is not None else None
        if get_origin(inner) is dict:  # the user chooses the names of these tables
            inner = get_args(inner)[1]
            if next(parts, None) is None:
                return [], False, ""
        if not (isinstance(inner, type) and issubclass(inner, BaseModel)):
            return [], True, ""
        model = inner
    info = model.model_fields.get(path[-1]) if path else None
    secret = info is not None and SecretStr in (info.annotation, *get_args(info.annotation))
    return list(model.model_fields), secret, none_word(info)


def _word_for_none(field: FieldInfo) -> str | None:
    """Return the text that stands for None in the value of a field, or None if no text does."""
    if word := none_word(field):
        return word
    try:
        return "" if TypeAdapter(field.rebuild_annotation()).validate_python("") is None else None
    except ValidationError:
        return None


def _shown(value: Any) -> str:
    if isinstance(value, SecretStr):
        return '"***"'
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(_shown, value))}]"
    if isinstance(value, str | Path):
        return json.dumps(str(value), ensure_ascii=False)
    return shown(value)
