"""``vindibot config``: show the effective settings with the origin of each value, or a schema for editors."""

from __future__ import annotations

from collections.abc import Iterator
from importlib import import_module
from typing import TYPE_CHECKING, Any

from rich.text import Text

from vindibot.base import printable, printable_lines
from vindibot.config import look_up, read

if TYPE_CHECKING:
    from vindibot.config import Bot, Config

#: The settings model of each command: the package and the name of the class.
_MODELS = {
    "play": ("vindibot.config", "PlaySettings"),
    "arena": ("vindibot.arena", "ArenaSettings"),
    "serve": ("vindibot.server", "ServerSettings"),
}
#: Largest width, in characters, at which the comments after the values are aligned.
WIDEST = 44


def _load(command: str, file: str | None) -> Config[Any]:
    """Return the settings that a command has if it is called without options.

    They come from defaults, the file, and for ``play`` the environment.
    """
    from vindibot.config import Config, load_config, load_play

    if command == "play":
        return load_play(file)
    config: Config[Any] = load_config(_model(command), file, environ={})
    if command == "serve":  # the command `serve` does the same
        from vindibot.server import COMMAND_DEFAULTS

        defaults = {key: value for key, value in COMMAND_DEFAULTS.items() if key not in config.origins}
        return Config(config.settings.model_copy(update=defaults), config.origins)
    return config


def _model(command: str) -> Any:
    room, name = _MODELS[command]
    return getattr(import_module(room), name)


def _lines(rows: list[tuple[str, str]]) -> Iterator[Text]:
    """Yield settings as lines of TOML, each with its origin in a comment."""
    rows = [(printable_lines(setting), printable(origin)) for setting, origin in rows]
    width = min(max((len(setting) for setting, origin in rows if origin), default=0), WIDEST)
    for setting, origin in rows:
        comment = f"{'':{max(0, width - len(setting))}}  # {origin}" if origin else ""
        yield Text.assemble(setting, (comment, "dim"))


def settings_lines(command: str, file: str | None) -> Iterator[Text]:
    """Yield all settings of a command, with dotted keys instead of tables."""
    rows = _load(command, file).rows()
    yield from _lines([(f"{'# ' if row.value == 'a table' else ''}{row.key} = {row.value}", str(row.origin)) for row in rows])


def bot_lines(bot: Bot) -> Iterator[Text]:
    """Yield the lines of a bot file that is equivalent to this bot: without `extends`, with all its traits and parameters."""
    from behaviours.registry import find
    from vindibot.config import short
    from vindibot.devtools.catalogue import configured, parameters, table_header, toml

    rows = [(f"name = {toml(bot.name)}", short(bot.path)), (f"version = {bot.version}", f"digest {bot.digest}")]
    for spec in bot.traits:
        table = f"traits.{spec.label}"
        rows += [("", ""), (table_header(spec.label), bot.origins.get(table, ""))]
        if spec.use != spec.label:
            rows.append((f"use = {toml(spec.use)}", bot.origins.get(f"{table}.use", "default")))
        rows.append((f"weight = {toml(spec.weight)}", bot.origins.get(f"{table}.weight", "default")))
        for parameter in parameters(find(spec.class_path)):
            own = configured(spec, parameter)
            value = own or parameter.default
            setting = f"{parameter.name} = {value}" if value != "None" else f"# {parameter.name} is not set"
            key = parameter.name if own is None else parameter.name.partition(".")[0]
            rows.append((setting, bot.origins.get(f"{table}.{key}", "default")))
    yield from _lines(rows)


def is_bot(name: str) -> bool:
    """Return whether `name` is a bot file or the name of a bot. Otherwise it is a configuration."""
    path = look_up(name)
    if path is None:
        return look_up(name, folder="bots") is not None
    return not {"traits", "name"}.isdisjoint(read(path).data)


def schema_of(kind: str, bot: str | None) -> dict[str, Any]:
    """Return a JSON schema: for bot files if `kind` is "bot", else for the configuration files of the command `kind`.

    The schema of bot files includes the traits beside the file of `bot`.
    """
    from vindibot.config import load_bot
    from vindibot.devtools.catalogue import all_traits
    from vindibot.devtools.schema import bot_schema, settings_schema

    if kind == "bot":
        return bot_schema(all_traits(load_bot(bot) if bot is not None else None))
    return settings_schema(_model(kind), f"settings of vindibot {kind}")
