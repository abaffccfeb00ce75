"""``vindibot config``: the effective settings of a command or of a bot with the origin of each value, and schemas for editors."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from importlib import import_module
from pathlib import Path
from typing import Any

from pydantic import BaseModel
from pydantic.json_schema import models_json_schema
from rich.console import Console
from rich.text import Text

from behaviours.registry import find
from vindibot.base.errors import UsageError
from vindibot.base.text import printable, printable_lines
from vindibot.config.bots import Bot, BotFile, TraitTable, load_bot
from vindibot.config.files import look_up, read, short
from vindibot.config.load import Config, load_config, load_play, variables
from vindibot.config.messages import dotted
from vindibot.config.tables import flat
from vindibot.config.traits import TraitSpec
from vindibot.devtools.catalogue import AvailableTrait, all_traits, own_value, parameters, table_header, toml
from vindibot.server.settings import COMMAND_DEFAULTS

#: The settings model of each command: the module and the name of the class.
_MODELS = {
    "play": ("vindibot.config.settings", "PlaySettings"),
    "arena": ("vindibot.arena.settings", "ArenaSettings"),
    "ladder": ("vindibot.arena.settings", "LadderSettings"),
    "serve": ("vindibot.league.settings", "LeagueServerSettings"),
    "challenge": ("vindibot.challenge.settings", "ChallengeSettings"),
    "league-new": ("vindibot.league.settings", "LeagueSettings"),
    "tune-play": ("vindibot.tuning.settings", "TuneSettings"),
}
#: Largest width, in characters, at which the comments after the values are aligned.
WIDEST = 44


def show_config(console: Console, *, file: str | None, command: str, bot: str | None, schema: str | None) -> None:
    """Print the settings of a command or of a bot, with the origin of each. With `schema`, print this schema instead.

    `file` is a configuration file or a bot file. Raises `UsageError` if `bot` is given too.
    """
    if schema is not None:
        print(json.dumps(schema_of(schema, bot), indent=2, ensure_ascii=False))
        return
    if file is not None and bot is not None:
        raise UsageError("FILE and --bot: give one of them")
    if file is not None and is_bot(file):
        bot = file
    for line in bot_lines(load_bot(bot)) if bot is not None else settings_lines(command, file):
        console.print(line, soft_wrap=True)


def _load(command: str, file: str | None) -> Config[Any]:
    """Return the settings that a command has if it is called without options.

    They come from defaults, the file and the environment.
    """
    if command == "play":
        return load_play(file, others=known_variables)
    config: Config[Any] = load_config(_model(command), file, others=known_variables)
    if command == "serve":  # the command `serve` does the same
        defaults = {key: value for key, value in COMMAND_DEFAULTS.items() if key not in config.origins}
        return Config(config.settings.model_copy(update=defaults), config.origins)
    return config


def _model(command: str) -> Any:
    room, name = _MODELS[command]
    return getattr(import_module(room), name)


def known_variables() -> set[str]:
    """Return the environment variables for the settings of all commands."""
    return variables(map(_model, _MODELS))


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
    settings = (f"# {row.key} is not set" if row.value is None else f"{row.key} = {row.value}" for row in rows)
    yield from _lines([(setting, str(row.origin)) for setting, row in zip(settings, rows, strict=True)])


def bot_lines(bot: Bot) -> Iterator[Text]:
    """Yield the lines of a bot file that is equivalent to this bot: without `extends`, with all its traits and parameters."""
    rows = [(f"name = {toml(bot.name)}", short(bot.path)), (f"version = {bot.version}", f"digest {bot.digest}")]
    for spec in bot.traits:

        def origin(*key: str, spec: TraitSpec = spec) -> str:
            return bot.origins.get(dotted(("traits", spec.label, *key)), "default" if key else "")

        rows += [("", ""), (table_header(spec.label), origin())]
        if spec.use != spec.label:
            rows.append((f"use = {toml(spec.use)}", origin("use")))
        rows.append((f"weight = {toml(spec.weight)}", origin("weight")))
        for parameter in parameters(find(spec.class_path)):
            own, path = own_value(spec, parameter), tuple(parameter.name.split("."))
            if isinstance(own, Mapping) and own:
                rows += [(f"{dotted(key)} = {toml(value)}", origin(*key)) for key, value in flat(own, path)]
            elif own is not None:
                rows.append((f"{parameter.name} = {toml(own)}", origin(*path)))
            elif parameter.default != "None":
                rows.append((f"{parameter.name} = {parameter.default}", "default"))
            else:
                rows.append((f"# {parameter.name} is not set", "default"))
    yield from _lines(rows)


def is_bot(name: str) -> bool:
    """Return whether `name` is a bot file or the name of a bot. Otherwise it is a configuration.

    A file that has only `extends` is of the kind of the file that it extends.
    """
    beside, seen = None, set[Path]()
    while (path := look_up(name, beside=beside)) is not None and path not in seen:
        data = read(path).data
        if set(data) - {"extends", "reset"}:
            return not {"traits", "name", "version"}.isdisjoint(data)
        seen.add(path)
        name, beside = str(data.get("extends", "")), path.parent
    return look_up(name, beside=beside, folder="bots") is not None


# ---- Schemas for editors that complete and check TOML ----

DIALECT = "https://json-schema.org/draft/2020-12/schema"


def schema_of(kind: str, bot: str | None) -> dict[str, Any]:
    """Return a JSON schema: for bot files if `kind` is "bot", else for the configuration files of the command `kind`.

    The schema of bot files includes the traits beside the file of `bot`.
    """
    if kind == "bot":
        return _bot_schema(all_traits(load_bot(bot) if bot is not None else None))
    title, schema = f"settings of vindibot {kind}", dict(_model(kind).model_json_schema())
    schema["properties"] = {key: _fields(BotFile)[key] for key in ("extends", "reset")} | schema["properties"]
    return {"$schema": DIALECT, **schema, "title": title, "description": f"a configuration file of vindibot: {title}"}


def _bot_schema(traits: Iterable[AvailableTrait]) -> dict[str, Any]:
    """Return the schema of a bot file that uses these traits.

    Other traits, which are named as module:Class, may have any parameters.
    """
    known = [(trait, trait.kind) for trait in traits if trait.kind is not None]
    kinds = {kind for _, kind in known}
    schemas, defined = models_json_schema([(kind, "validation") for kind in kinds], ref_template="#/$defs/{model}")
    definitions = dict(defined.get("$defs", {}))
    names: dict[str, str] = {}
    for number, (trait, kind) in enumerate(known, 1):
        target = schemas[kind, "validation"]["$ref"].rpartition("/")[2]
        names[trait.use] = f"trait_{number}_" + re.sub(r"[^A-Za-z0-9]", "_", trait.use)
        definitions[names[trait.use]] = _table(definitions[target], trait)
    used = {name for name in definitions if f'"#/$defs/{name}"' in str(definitions).replace("'", '"')}
    needed = {name: body for name, body in definitions.items() if name in used or name in names.values()}
    # If a table has no `use`, its label is the name of the trait.
    by_use = [
        {"if": {"properties": {"use": {"const": use}}, "required": ["use"]}, "then": {"$ref": f"#/$defs/{name}"}}
        for use, name in names.items()
    ]
    by_label = {
        use: {"if": {"required": ["use"]}, "then": {"$ref": "#/$defs/any_trait"}, "else": {"$ref": f"#/$defs/{name}"}}
        for use, name in names.items()
    }
    needed["any_trait"] = {"type": "object", "properties": _fields(TraitTable), "allOf": by_use}
    fields = _fields(BotFile)
    fields["traits"] |= {"properties": by_label, "additionalProperties": {"$ref": "#/$defs/any_trait"}}
    return {
        "$schema": DIALECT,
        "title": "a bot",
        "description": "a bot of vindibot: weighted traits",
        "type": "object",
        "properties": fields,
        "additionalProperties": False,
        "$defs": needed,
    }


def _fields(model: type[BaseModel]) -> dict[str, Any]:
    """Return the schemas of the fields of a model."""
    fields: dict[str, Any] = model.model_json_schema()["properties"]
    return fields


def _table(schema: dict[str, Any], trait: AvailableTrait) -> dict[str, Any]:
    """Return the schema of a trait's table. No key is required, because each value may be inherited."""
    properties = {**_fields(TraitTable), **schema.get("properties", {})}
    return {"type": "object", "description": trait.summary, "properties": properties, "additionalProperties": False}
