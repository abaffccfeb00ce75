"""OpenAPI descriptions of the endpoints' parameters, for ``/openapi.json``.

The parameters of a request may come in the query string, a form, a multipart form or a JSON object. FastAPI's own declarations
cannot express this. FastAPI's parsing of parameters would also take a tenth of the time for a ply.
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
    "description": "the turn that the move is for; a repeated request for the same turn gets the same answer and is not played",
}
DAYS = {"type": "integer", "minimum": 0, "description": "only bots whose last game ended within this number of days"}
PAGE = {"type": "integer", "minimum": 1, "description": "page of the table"}
BEFORE = {"type": "integer", "description": "only games with a number below this"}
BOT = {"type": "string", "description": "the id of a bot"}
PLY = {"type": "integer", "minimum": 0, "description": "number of plies played"}
NAME = {"type": "string", "minLength": 3, "maxLength": 20, "description": "the name of the bot"}


def queries(**parameters: dict[str, Any]) -> dict[str, Any]:
    """Return the OpenAPI description of these query parameters. Each value in `parameters` is a JSON schema."""
    return {"parameters": [{"name": name, "in": "query", "schema": schema} for name, schema in parameters.items()]}


def operation(*path: str, required: tuple[str, ...] = (), **parameters: dict[str, Any]) -> dict[str, Any]:
    """Return the OpenAPI description of an endpoint. `path` names the parameters in its path.

    `parameters` are JSON schemas of the other parameters, which may come in the query string or in a body. `required` names the
    parameters that a body must have.
    """
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
