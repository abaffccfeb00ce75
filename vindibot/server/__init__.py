"""The game server: rooms, matchmaking and the HTTP that clients speak.

`EmbeddedServer` runs in an event loop beside whatever else is there; `run_server` alone; `create_app` is the ASGI application.
Names are imported when they are first asked for, so that the command line can look at the settings without loading a server.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from vindibot.server.app import create_app
    from vindibot.server.cli import lan_address
    from vindibot.server.embedded import EmbeddedServer, ServerError, run_server, serve
    from vindibot.server.match import Match, MatchResult
    from vindibot.server.names import unseen_character
    from vindibot.server.parameters import read_body
    from vindibot.server.refusal import Refusal
    from vindibot.server.room import Room, RoomObserver
    from vindibot.server.settings import ServerSettings

__all__ = [
    "EmbeddedServer",
    "Match",
    "MatchResult",
    "Refusal",
    "Room",
    "RoomObserver",
    "ServerError",
    "ServerSettings",
    "create_app",
    "lan_address",
    "read_body",
    "run_server",
    "serve",
    "unseen_character",
]

_HOMES = {
    "app": ["create_app"],
    "cli": ["lan_address"],
    "embedded": ["EmbeddedServer", "ServerError", "run_server", "serve"],
    "match": ["Match", "MatchResult"],
    "names": ["unseen_character"],
    "parameters": ["read_body"],
    "refusal": ["Refusal"],
    "room": ["Room", "RoomObserver"],
    "settings": ["ServerSettings"],
}


def __getattr__(name: str) -> Any:
    for home, names in _HOMES.items():
        if name in names:
            return getattr(import_module(f"vindibot.server.{home}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
