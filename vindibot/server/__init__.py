"""The game server: rooms, matchmaking and the HTTP that clients speak.

`EmbeddedServer` runs in an event loop beside whatever else is there; `run_server` alone; `create_app` is the ASGI application.
"""

from vindibot.server.app import create_app
from vindibot.server.embedded import EmbeddedServer, ServerError, run_server, serve
from vindibot.server.match import Match, MatchResult
from vindibot.server.room import Room, RoomObserver
from vindibot.server.settings import ServerSettings

__all__ = [
    "EmbeddedServer",
    "Match",
    "MatchResult",
    "Room",
    "RoomObserver",
    "ServerError",
    "ServerSettings",
    "create_app",
    "run_server",
    "serve",
]
