"""The parameters of a request, read as liberally as the original server read them (RULES section 12).

They come from a form, a multipart form or a JSON object in the body, and from the query string, which overrides the body.
The first value of a repeated parameter counts. A body of another content type is ignored.
"""

from __future__ import annotations

import asyncio
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
from vindibot.server.settings import ServerSettings

MAX_FIELDS = 100
#: The charsets in which bodies are read; anything else is read as UTF-8.
_CHARSETS = {"utf-8", "utf8", "us-ascii", "ascii", "iso-8859-1", "latin1", "iso-8859-15", "windows-1252", "utf-16"}
_CHARSET = re.compile(r"""charset\s*=\s*["']?([\w.:-]+)""", re.IGNORECASE)
#: What Java reads as an int: no blanks, an optional sign.
_INT = re.compile(r"[+-]?\d{1,12}")


async def read_parameters(request: Request, settings: ServerSettings) -> dict[str, str]:
    """All parameters of a request. Reads the body to its end. Raises `Refusal` for a body that cannot be read."""
    body = await read_body(request, settings)
    content_type = request.headers.get("content-type", "")
    kind = content_type.partition(";")[0].strip().lower()
    found: dict[str, str] = {}
    if not body:
        pass
    elif kind == "application/x-www-form-urlencoded":
        found = _form(body.decode(_charset(content_type), "replace"), _charset(content_type))
    elif kind in ("application/json", "text/json"):
        found = _json(body)
    elif kind == "multipart/form-data":
        found = await _multipart(request.headers, body, settings.max_body)
    query = request.scope["query_string"]
    return found | _form(query.decode("latin-1"), "utf-8") if query else found


def read_int(text: str) -> int | None:
    """The 32-bit number that a text is, None if it is none."""
    if _INT.fullmatch(text):
        number = int(text)
        if -(2**31) <= number < 2**31:
            return number
    return None


async def read_body(request: Request, settings: ServerSettings) -> bytes:
    """The body of a request, to its end. Raises `Refusal` if it is too long or does not come."""
    length = request.headers.get("content-length", "")
    if length.isdecimal() and int(length[:20]) > settings.max_body:
        raise _too_long(settings)
    try:
        async with asyncio.timeout(settings.body_seconds):
            return await _collect(request, settings)
    except TimeoutError:
        raise Refusal(408, "The body of the request did not arrive in time") from None


async def _collect(request: Request, settings: ServerSettings) -> bytes:
    chunks, length = [], 0
    while True:
        message = await request.receive()
        if message["type"] != "http.request":
            raise Refusal(400, "The body of the request is incomplete")
        chunk = message.get("body", b"")
        chunks.append(chunk)
        length += len(chunk)
        if length > settings.max_body:
            raise _too_long(settings)
        if not message.get("more_body", False):
            return b"".join(chunks)


def _too_long(settings: ServerSettings) -> Refusal:
    return Refusal(413, f"The body of a request may have {settings.max_body} bytes")


def _charset(content_type: str) -> str:
    match = _CHARSET.search(content_type)
    charset = match.group(1).lower() if match else "utf-8"
    return charset if charset in _CHARSETS else "utf-8"


def _form(text: str, charset: str) -> dict[str, str]:
    try:
        pairs = parse_qsl(text, keep_blank_values=True, encoding=charset, errors="replace", max_num_fields=MAX_FIELDS)
    except ValueError:
        raise Refusal(400, f"A form may have {MAX_FIELDS} fields") from None
    return _first_values(pairs)


def _json(body: bytes) -> dict[str, str]:
    try:
        # Numbers stay the text that they are.
        value = json.loads(body, parse_int=str, parse_float=str, parse_constant=_no_number)
    except (ValueError, RecursionError):
        raise Refusal(400, "The body of the request is no JSON") from None
    if not isinstance(value, dict):
        return {}
    return {_sound(name): text for name, item in value.items() if (text := _json_text(item)) is not None}


def _no_number(word: str) -> None:
    raise ValueError(word)


def _json_text(item: Any) -> str | None:
    if isinstance(item, str):
        return _sound(item)
    if isinstance(item, bool):
        return "true" if item else "false"
    return None


def _sound(text: str) -> str:
    """The text without halves of surrogate pairs, which JSON can smuggle in and nothing can encode."""
    return text.encode("utf-8", "replace").decode()


async def _multipart(headers: Headers, body: bytes, max_size: int) -> dict[str, str]:
    async def stream() -> AsyncGenerator[bytes, None]:
        yield body

    form = FormData()
    try:
        form = await MultiPartParser(
            headers, stream(), max_files=MAX_FIELDS, max_fields=MAX_FIELDS, max_part_size=max_size
        ).parse()
    except (MultiPartException, FormParserError):
        raise Refusal(400, "The body of the request is no multipart form") from None
    finally:
        await form.close()
    return _first_values([(name, value) for name, value in form.multi_items() if isinstance(value, str)])


def _first_values(pairs: list[tuple[str, str]]) -> dict[str, str]:
    values: dict[str, str] = {}
    for name, value in pairs:
        values.setdefault(name, value)
    return values
