"""JSON schemas of the files that people write, for editors that complete and check TOML by them."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

from pydantic import BaseModel
from pydantic.json_schema import models_json_schema

from vindibot.config import LARGEST_VERSION, LARGEST_WEIGHT, LONGEST_NAME
from vindibot.devtools.catalogue import Listed

DIALECT = "https://json-schema.org/draft/2020-12/schema"
_EXTENDS = {
    "type": "string",
    "minLength": 1,
    "description": "a file of the same kind, whose keys are kept unless they are set here",
}


def settings_schema(model: type[BaseModel], title: str) -> dict[str, Any]:
    """The schema of a configuration file with these settings."""
    schema = model.model_json_schema()
    schema["properties"] = {"extends": _EXTENDS, **schema["properties"]}
    return {"$schema": DIALECT, **schema, "title": title, "description": f"a configuration file of vindibot: {title}"}


def bot_schema(traits: Iterable[Listed]) -> dict[str, Any]:
    """The schema of a bot file that may use these traits; one that is named by module:Class and is not among them may have
    any parameters."""
    known = [trait for trait in traits if trait.kind is not None]
    kinds = {trait.kind for trait in known if trait.kind is not None}
    schemas, defined = models_json_schema([(kind, "validation") for kind in kinds], ref_template="#/$defs/{model}")
    definitions = dict(defined.get("$defs", {}))
    names: dict[str, str] = {}
    for number, trait in enumerate(known, 1):
        assert trait.kind is not None
        target = schemas[trait.kind, "validation"]["$ref"].rpartition("/")[2]
        names[trait.use] = f"trait_{number}_" + re.sub(r"[^A-Za-z0-9]", "_", trait.use)
        definitions[names[trait.use]] = _table(definitions[target], trait)
    used = {name for name in definitions if f'"#/$defs/{name}"' in str(definitions).replace("'", '"')}
    kept = {name: body for name, body in definitions.items() if name in used or name in names.values()}
    # A label is the name of its trait, unless `use` says otherwise.
    by_use = [
        {"if": {"properties": {"use": {"const": use}}, "required": ["use"]}, "then": {"$ref": f"#/$defs/{name}"}}
        for use, name in names.items()
    ]
    by_label = {
        use: {"if": {"required": ["use"]}, "then": {"$ref": "#/$defs/any_trait"}, "else": {"$ref": f"#/$defs/{name}"}}
        for use, name in names.items()
    }
    kept["any_trait"] = {"type": "object", "properties": _common(), "allOf": by_use}
    return {
        "$schema": DIALECT,
        "title": "a bot",
        "description": "a bot of vindibot: weighted traits",
        "type": "object",
        "properties": {
            "name": {"type": "string", "minLength": 1, "maxLength": LONGEST_NAME, "description": "the name that is shown"},
            "version": {
                "type": "integer",
                "minimum": 1,
                "maximum": LARGEST_VERSION,
                "default": 1,
                "description": "to be raised when the bot plays otherwise than before",
            },
            "extends": _EXTENDS,
            "traits": {
                "type": "object",
                "description": "a table for each trait",
                "properties": by_label,
                "additionalProperties": {"$ref": "#/$defs/any_trait"},
            },
        },
        "additionalProperties": False,
        "$defs": kept,
    }


def _common() -> dict[str, Any]:
    weight = {"type": "number", "minimum": -LARGEST_WEIGHT, "maximum": LARGEST_WEIGHT, "default": 1}
    return {
        "use": {"type": "string", "description": "which trait it is: a name, or module:Class; without it the table's name"},
        "weight": {**weight, "description": "what its votes are multiplied by"},
        "enabled": {"type": "boolean", "default": True, "description": "false drops an inherited trait"},
    }


def _table(schema: dict[str, Any], trait: Listed) -> dict[str, Any]:
    """A trait's table: its parameters, and what every table may have. None is required: it may be inherited."""
    properties = {**_common(), **schema.get("properties", {})}
    return {"type": "object", "description": trait.summary, "properties": properties, "additionalProperties": False}
