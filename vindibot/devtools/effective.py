"""``vindibot config``: what is set in the end, and where each value comes from; and schemas for editors."""

from __future__ import annotations

from collections.abc import Iterator
from importlib import import_module
from typing import TYPE_CHECKING, Any

from rich.text import Text

from vindibot.base import printable, printable_lines
from vindibot.config import look_up, read

if TYPE_CHECKING:
    from vindibot.config import Bot, Config, SettingRow

#: The models of the commands that have settings.
_HOMES = {
    "play": "vindibot.config.settings.PlaySettings",
    "arena": "vindibot.arena.settings.ArenaSettings",
    "serve": "vindibot.server.settings.ServerSettings",
}
#: Values are aligned up to this width.
WIDEST = 44


def loaded(command: str, file: str | None) -> Config[Any]:
    """The settings of a command as they are without options: defaults, the file, and for play the environment."""
    from vindibot.config import Config, load_config, load_play

    if command == "play":
        return load_play(file)
    config: Config[Any] = load_config(_model(command), file, environ={})
    if command == "serve":  # as the command does it
        from vindibot.server import COMMAND_DEFAULTS

        own = {key: value for key, value in COMMAND_DEFAULTS.items() if key not in config.origins}
        return Config(config.settings.model_copy(update=own), config.origins)
    return config


def _model(command: str) -> Any:
    module, _, name = _HOMES[command].rpartition(".")
    return getattr(import_module(module), name)


def _lines(rows: list[tuple[str, str]]) -> Iterator[Text]:
    """Settings with where they come from as a comment: what is printed is TOML."""
    rows = [(printable_lines(setting), printable(origin)) for setting, origin in rows]
    width = min(max((len(setting) for setting, origin in rows if origin), default=0), WIDEST)
    for setting, origin in rows:
        comment = f"{'':{max(0, width - len(setting))}}  # {origin}" if origin else ""
        yield Text.assemble(setting, (comment, "dim"))


def settings_lines(rows: list[SettingRow]) -> Iterator[Text]:
    """All settings of a configuration. Dotted keys stand for tables."""
    yield from _lines([(f"{'# ' if row.value == 'a table' else ''}{row.key} = {row.value}", str(row.origin)) for row in rows])


def bot_lines(bot: Bot) -> Iterator[Text]:
    """A bot with all its traits and their parameters, as one file that extends nothing."""
    from behaviours.registry import find
    from vindibot.config import short
    from vindibot.devtools.catalogue import chosen, heading, parameters, toml

    rows = [(f"name = {toml(bot.name)}", short(bot.path)), (f"version = {bot.version}", f"digest {bot.digest}")]
    for spec in bot.traits:
        table = f"traits.{spec.label}"
        rows += [("", ""), (heading(spec.label), bot.origins.get(table, ""))]
        if spec.use != spec.label:
            rows.append((f"use = {toml(spec.use)}", bot.origins.get(f"{table}.use", "default")))
        rows.append((f"weight = {toml(spec.weight)}", bot.origins.get(f"{table}.weight", "default")))
        for parameter in parameters(find(spec.class_path)):
            given = chosen(spec, parameter)
            value = given or parameter.default
            setting = f"{parameter.name} = {value}" if value != "None" else f"# {parameter.name} is not set"
            key = parameter.name if given is None else parameter.name.partition(".")[0]
            rows.append((setting, bot.origins.get(f"{table}.{key}", "default")))
    yield from _lines(rows)


def is_bot(name: str) -> bool:
    """Whether a file, or the name of one, is that of a bot and not a configuration."""
    path = look_up(name)
    if path is None:
        return look_up(name, folder="bots") is not None
    return not {"traits", "name"}.isdisjoint(read(path).data)


def schema_of(kind: str, bot: str | None) -> dict[str, Any]:
    from vindibot.config import load_bot
    from vindibot.devtools.catalogue import found
    from vindibot.devtools.schema import bot_schema, settings_schema

    if kind == "bot":
        return bot_schema(found(load_bot(bot) if bot is not None else None))
    return settings_schema(_model(kind), f"settings of vindibot {kind}")
