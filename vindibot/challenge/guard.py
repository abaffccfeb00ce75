"""The guard of the routes of challenges: which requests are answered, and how a request is read.

The routes answer only requests from the page of challenges. They require JSON. The host in the address of the request must be an
IP address or a name of this machine. Without these checks, another page in the same browser could start bots or read votes. The
other page could even come from a foreign host whose name resolves to this machine.
"""

from __future__ import annotations

import ipaddress
import socket
from typing import TypeVar
from urllib.parse import urlsplit

from fastapi import Depends, Request
from pydantic import BaseModel, ValidationError

from vindibot.base.errors import UsageError
from vindibot.config.messages import dotted, explain
from vindibot.server.parameters import read_body
from vindibot.server.refusal import Refusal
from vindibot.server.settings import ServerSettings

_Model = TypeVar("_Model", bound=BaseModel)


def _trusted(request: Request) -> None:
    """Raise `Refusal` if a request comes from the page of another server, or if its host name is no name of this machine.

    An IP address in place of the host name is always accepted.
    """
    host = request.headers.get("host", "")
    try:
        name = urlsplit(f"//{host}").hostname or ""
        ipaddress.ip_address(name)
    except ValueError:
        own = socket.gethostname().lower()
        if name not in ("localhost", own, f"{own}.local"):
            raise Refusal(403, "Open this page under the address that the command printed") from None
    origin = request.headers.get("origin")
    if origin is not None and origin != f"http://{host}":
        raise Refusal(403, "This is for the page of this server")


#: The dependencies of a route that answers only requests from the page.
GUARDED = [Depends(_trusted)]


def bearer(request: Request) -> str:
    """Return the bearer token of a request, "" if it has none."""
    kind, _, token = request.headers.get("authorization", "").partition(" ")
    return token.strip() if kind.lower() == "bearer" else ""


async def read_json(request: Request, model: type[_Model]) -> _Model:
    """Return the body of a request, which must be JSON for this model.

    Raises `Refusal` for another media type, and `UsageError` for a wrong value.
    """
    if request.headers.get("content-type", "").partition(";")[0].strip().lower() != "application/json":
        raise Refusal(415, "Send the request as application/json")
    try:
        return model.model_validate_json(await read_body(request, ServerSettings()))
    except ValidationError as problem:
        first = problem.errors(include_url=False)[0]
        where, said = dotted(first["loc"]), explain(first, known=list(model.model_fields))
        raise UsageError(f"{where} {said}".strip()) from None
