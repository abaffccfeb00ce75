"""A real server whose answers are changed on the way out, as a script says: for a server that contradicts itself."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

from vindibot.server import EmbeddedServer, ServerSettings

#: Makes another body of a state, which it may change.
Lie = Callable[[Any], bytes]


def changed(**fields: Any) -> Lie:
    """A lie that replaces fields of the answer; in their paths, ``__`` stands for a dot."""

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
    """The answer with 5,000 lists in each other, in a field that nobody knows."""
    return json.dumps(state).encode().removesuffix(b"}") + b',"x":' + b"[" * 5000 + b"]" * 5000 + b"}"


class LyingApp:
    """An ASGI application that changes the answers of another one. `lies` has, by the number of the game in the order of
    joining (from 1), the number of the answer (0 is that to joining) and what is made of it. `games` are the ids in that
    order."""

    def __init__(self, app: Any, lies: dict[int, tuple[int, Lie]]) -> None:
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
        return lie(state) if answer == when else body


@asynccontextmanager
async def lying(lies: dict[int, tuple[int, Lie]]) -> AsyncIterator[tuple[EmbeddedServer, LyingApp]]:
    """A server that lets in any key and tells these lies."""
    server = EmbeddedServer(ServerSettings(keys="any", time_limit_ms=20_000))
    app = LyingApp(server.app, lies)
    server.app = app  # type: ignore[assignment]
    async with server:
        yield server, app
