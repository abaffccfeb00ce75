"""The description of the game's endpoints for ``/openapi.json``.

Their parameters may come in the query string, a form, a multipart form or a JSON object. FastAPI's own declarations cannot
say this, and its reading of parameters takes a tenth of each ply.
"""

from __future__ import annotations

from typing import Any

FORMS = ("application/x-www-form-urlencoded", "multipart/form-data", "application/json")

KEY = {"type": "string", "minLength": 8, "maxLength": 8, "description": "the key of the bot"}
TURNS = {"type": "integer", "description": "number of rounds, at most 600"}
MAP = {"type": "string", "description": "name or text of the map; generated if missing"}
DIR = {
    "type": "string",
    "description": "North, South, East, West or Stay in any case; anything else is Stay",
    "examples": ["North", "stay"],
}
TURN = {
    "type": "integer",
    "description": "the turn of the move: a repeat for it gets the same answer and is not played",
}
DAYS = {"type": "integer", "minimum": 0, "description": "only bots that played in this number of last days"}
PAGE = {"type": "integer", "minimum": 1, "description": "page of the table"}
BEFORE = {"type": "integer", "description": "only games with a smaller number"}
PLY = {"type": "integer", "minimum": 0, "description": "number of plies played"}
NAME = {"type": "string", "minLength": 3, "maxLength": 20, "description": "the name of the bot"}


def queries(**parameters: dict[str, Any]) -> dict[str, Any]:
    """Return the description of a page's `parameters`, which are in the query string."""
    return {"parameters": [{"name": name, "in": "query", "schema": schema} for name, schema in parameters.items()]}


def operation(*path: str, required: tuple[str, ...] = (), **parameters: dict[str, Any]) -> dict[str, Any]:
    """Return the description of an operation: the parts of its `path`, and its `parameters` in any of their forms."""
    places = [{"name": name, "in": "path", "required": True, "schema": {"type": "string"}} for name in path]
    places += queries(**parameters)["parameters"]
    body = {"type": "object", "properties": parameters, "required": list(required)}
    return {
        "parameters": places,
        "requestBody": {"required": False, "content": {form: {"schema": body} for form in FORMS}},
        "responses": {
            "4XX": {"description": "a refusal with the reason"},
            "503": {"description": "the server is full or closing"},
        },
    }
