"""The inner parts of uvicorn that the server uses: they are not documented, so a new version may lose them."""

from __future__ import annotations

import inspect

import pytest
import uvicorn
from uvicorn.config import Config
from uvicorn.protocols.http.h11_impl import H11Protocol
from uvicorn.server import ServerState

from vindibot.server.connection import connection_class

#: Methods of `H11Protocol` and what `vindibot.server.connection` does with each.
METHODS = {
    "handle_events": "extended: the timer of a request's head starts and stops here",
    "send_400_response": "extended: says why a request was refused",
    "timeout_keep_alive_handler": "called: closes a new connection on which nothing arrives",
    "_unset_keepalive_if_required": "called: no timer is left when a connection is lost",
}
#: Attributes of a connection that it reads or sets.
ATTRIBUTES = {
    "app": "replaced while there are too many connections",
    "client": "the address of the client, for the limit per address",
    "conn": "replaced by a stricter parser",
    "loop": "for timers",
    "scope": "the time at which a request arrived is added",
    "timeout_keep_alive": "the seconds that a new connection may be silent",
    "timeout_keep_alive_task": "set for a new connection",
    "transport": "closed when a head takes too long",
}
#: Methods of `uvicorn.Server` that `vindibot.base.asgi` replaces or extends.
SERVER = {
    "capture_signals": "replaced: the signals belong to the program that the server runs in",
    "startup": "extended: says when it listens",
    "serve": "called",
}


@pytest.mark.parametrize("name", METHODS)
def test_a_method_of_the_protocol(name: str) -> None:
    assert inspect.isfunction(getattr(H11Protocol, name)), METHODS[name]


@pytest.mark.parametrize("name", SERVER)
def test_a_method_of_the_server(name: str) -> None:
    assert callable(getattr(uvicorn.Server, name)), SERVER[name]


@pytest.mark.parametrize("name", ATTRIBUTES)
async def test_an_attribute_of_a_connection(name: str) -> None:
    config = Config(lambda scope, receive, send: None, log_config=None)
    config.load()
    assert name in vars(connection_class(1.0)(config, ServerState(), {})), ATTRIBUTES[name]
