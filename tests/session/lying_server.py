"""A real server whose answers are changed by a script, so that it contradicts itself."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

from vindibot.server.embedded import EmbeddedServer
from vindibot.server.settings import ServerSettings

#: A function that returns a false body for a state. It may change the state.
Lie = Callable[[Any], bytes]


def changed(**fields: Any) -> Lie:
    """Return a lie that replaces fields of the answer. In the names of the fields, ``__`` stands for a dot."""

    def lie(state: Any) -> bytes:
        for dotted, value in fields.items():
            *path, last = (int(part) if part.isdigit() else part for part in dotted.split("__"))
            place = state
            for part in path:
                place = place[part]
            place[last] = value
        return json.dumps(state).encode()

    return lie


def nested(state: Any) -> bytes:
    """Return the answer with an unknown field that has 5,000 lists, each in the other."""
    return json.dumps(state).encode().removesuffix(b"}") + b',"x":' + b"[" * 5000 + b"]" * 5000 + b"}"


class LyingApp:
    """An ASGI application that changes the answers of another application.

    `lies` has the number of an answer (0: the answer to joining, None: each answer) and its lie, by the number of the game in the
    order of joining (from 1). `games` has the ids of the games in the same order.
    """

    def __init__(self, app: Any, lies: dict[int, tuple[int | None, Lie]]) -> None:
        self._app, self._lies = app, lies
        self.games: list[str] = []
        self._answers: dict[str, int] = {}

    def __getattr__(self, name: str) -> Any:
        return getattr(self._app, name)

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        start: dict[str, Any] = {}

        async def changing(message: Any) -> None:
            if message["type"] == "http.response.start":
                start.update(message)
                return
            body = message["body"]
            if scope["path"].startswith("/api/") and start["status"] == 200:
                body = self._answer(json.loads(body), body)
            headers = [(name, value) for name, value in start["headers"] if name != b"content-length"]
            await send({**start, "headers": [*headers, (b"content-length", str(len(body)).encode())]})
            await send({**message, "body": body})

        await self._app(scope, receive, changing)

    def _answer(self, state: Any, body: bytes) -> bytes:
        game = state["game"]["id"]
        if game not in self.games:
            self.games.append(game)
        answer = self._answers[game] = self._answers.get(game, -1) + 1
        when, lie = self._lies.get(self.games.index(game) + 1, (-1, nested))
        return lie(state) if when in (None, answer) else body


@asynccontextmanager
async def lying(lies: dict[int, tuple[int | None, Lie]]) -> AsyncIterator[tuple[EmbeddedServer, LyingApp]]:
    """Yield a server that accepts any key and tells these lies."""
    server = EmbeddedServer(ServerSettings(keys="any", time_limit_ms=20_000))
    app = LyingApp(server.app, lies)
    server.app = app  # type: ignore[assignment]
    async with server:
        yield server, app
