"""JSON schemas of bot files and configuration files, for editors that complete and check TOML."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

from pydantic import BaseModel
from pydantic.json_schema import models_json_schema

from vindibot.config.bots import BotFile, TraitTable
from vindibot.devtools.catalogue import AvailableTrait

DIALECT = "https://json-schema.org/draft/2020-12/schema"


def settings_schema(model: type[BaseModel], title: str) -> dict[str, Any]:
    """Return the schema of a configuration file with these settings."""
    schema = model.model_json_schema()
    schema["properties"] = {key: _fields(BotFile)[key] for key in ("extends", "reset")} | schema["properties"]
    return {"$schema": DIALECT, **schema, "title": title, "description": f"a configuration file of vindibot: {title}"}


def bot_schema(traits: Iterable[AvailableTrait]) -> dict[str, Any]:
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
