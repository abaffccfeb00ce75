"""Reads the parameters of a request. It accepts everything that the original server accepts (docs/protocol.md).

Parameters may be in the query string and in the body, which may be a form, a multipart form or a JSON object. The query string
overrides the body. If a parameter is repeated, its first value counts. A body of another content type is ignored.

This module also has the OpenAPI descriptions of the parameters, for ``/openapi.json``. FastAPI's own declarations cannot express
these parameters. FastAPI's parsing would also take a tenth of the time for a ply.
"""

from __future__ import annotations

import json
import re
from collections.abc import AsyncGenerator
from typing import Any
from urllib.parse import parse_qsl

from python_multipart.exceptions import FormParserError
from starlette.datastructures import FormData, Headers
from starlette.formparsers import MultiPartException, MultiPartParser
from starlette.requests import Request

from vindibot.server.refusal import Refusal

MAX_FIELDS = 100
#: The supported charsets of bodies. If a body names another charset, it is read as UTF-8.
_CHARSETS = {"utf-8", "utf8", "us-ascii", "ascii", "iso-8859-1", "latin1", "iso-8859-15", "windows-1252", "utf-16"}
_CHARSET = re.compile(r"""charset\s*=\s*["']?([\w.:-]+)""", re.IGNORECASE)
#: An integer as Java accepts it: an optional sign and digits, without spaces.
_INT = re.compile(r"[+-]?\d{1,12}")


async def read_parameters(request: Request) -> dict[str, str]:
    """Return all parameters of a request by name. Raises `Refusal` if the body cannot be read."""
    body = await request.body()
    content_type = request.headers.get("content-type", "")
    kind = content_type.partition(";")[0].strip().lower()
    query = request.scope["query_string"]
    over = _form(query.decode("latin-1"), "utf-8") if query else {}
    if body and kind == "application/x-www-form-urlencoded":
        return _form(body.decode(_charset(content_type), "replace"), _charset(content_type)) | over
    if body and kind in ("application/json", "text/json"):
        return _json(body) | over
    if body and kind == "multipart/form-data":
        return await _multipart(request.headers, body) | over
    return over


def read_int(text: str) -> int | None:
    """Return the signed 32-bit integer in `text`, or None if `text` is not such an integer."""
    if _INT.fullmatch(text):
        number = int(text)
        if -(2**31) <= number < 2**31:
            return number
    return None


def _charset(content_type: str) -> str:
    match = _CHARSET.search(content_type)
    return charset if match and (charset := match.group(1).lower()) in _CHARSETS else "utf-8"


def _form(text: str, charset: str) -> dict[str, str]:
    try:
        pairs = parse_qsl(text, keep_blank_values=True, encoding=charset, errors="replace", max_num_fields=MAX_FIELDS)
    except ValueError:
        raise Refusal(400, f"A form has at most {MAX_FIELDS} fields") from None
    return _first_values(pairs)


def _json(body: bytes) -> dict[str, str]:
    try:
        # A number stays a string with the client's digits: every parameter is text.
        value = json.loads(body, parse_int=str, parse_float=str, parse_constant=_refuse_constant)
    except (ValueError, RecursionError):
        raise Refusal(400, "The body of the request is not JSON") from None
    if not isinstance(value, dict):
        return {}
    return {_encodable(name): text for name, item in value.items() if (text := _json_text(item)) is not None}


def _refuse_constant(word: str) -> None:
    raise ValueError(word)


def _json_text(item: Any) -> str | None:
    if isinstance(item, str):
        return _encodable(item)
    if isinstance(item, bool):
        return "true" if item else "false"
    return None


def _encodable(text: str) -> str:
    """Return the text with each lone surrogate replaced by "?". JSON may contain lone surrogates; UTF-8 cannot encode them."""
    return text.encode("utf-8", "replace").decode()


async def _multipart(headers: Headers, body: bytes) -> dict[str, str]:
    async def stream() -> AsyncGenerator[bytes, None]:
        yield body

    form = FormData()
    try:
        parser = MultiPartParser(headers, stream(), max_files=MAX_FIELDS, max_fields=MAX_FIELDS, max_part_size=len(body))
        form = await parser.parse()
    except (MultiPartException, FormParserError):
        raise Refusal(400, "The body of the request is not a multipart form") from None
    finally:
        await form.close()
    return _first_values([(name, value) for name, value in form.multi_items() if isinstance(value, str)])


def _first_values(pairs: list[tuple[str, str]]) -> dict[str, str]:
    return dict(reversed(pairs))


# ---- Descriptions ----

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
PICTURE_TURN = {"type": "integer", "minimum": 0, "description": "the turn that the picture shows"}
TEXT = {"type": "string", "description": "if present, the page shows the newest state as text"}
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
