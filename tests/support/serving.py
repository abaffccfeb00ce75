"""Helpers for tests over real sockets: a server, and simple players."""

from __future__ import annotations

import asyncio
import json
import os
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import httpx

from tests.support.listening import read_message
from vindibot.league.server import LeagueServer
from vindibot.league.settings import LeagueServerSettings
from vindibot.server.room import RoomObserver

#: A map on which heroes do not meet by accident.
MAP = "@1      @4\n  ##  ##  \n    []    \n$-##  ##$-\n@2      @3"

WAIT = "Vindinium - Wait, you're not supposed to play now"
NOT_YOUR_TURN = "Vindinium - Not your turn to move"
TIME_OUT = "Vindinium - Time out! You must play faster"
FINISHED = "Vindinium - The game is finished"


@asynccontextmanager
async def serving(observers: tuple[RoomObserver, ...] = (), **settings: Any) -> AsyncIterator[LeagueServer]:
    """Yield a server on a free port. Its default time limit is long."""
    async with LeagueServer(LeagueServerSettings(**{"time_limit_ms": 20_000} | settings), observers) as server:
        yield server


@dataclass
class Bot:
    """A player with its own connections. `state` is the last answer."""

    server: LeagueServer
    key: str
    client: httpx.AsyncClient
    response: httpx.Response | None = None
    task: asyncio.Task[None] | None = None

    @property
    def state(self) -> dict[str, Any]:
        assert self.response is not None
        return self.response.json()

    @property
    def game(self) -> dict[str, Any]:
        return self.state["game"]

    async def join(self, mode: str = "training", **parameters: Any) -> httpx.Response:
        self.response = await self.client.post(f"/api/{mode}", data={"key": self.key, **parameters})
        return self.response

    async def move(self, direction: str = "Stay", **parameters: Any) -> httpx.Response:
        response = await self.client.post(self.state["playUrl"], data={"key": self.key, "dir": direction, **parameters})
        if response.status_code == 200:
            self.response = response
        return response

    def start(self, direction: str = "Stay") -> None:
        """Start a task that plays to the end."""
        self.task = asyncio.create_task(self.play_on(direction))

    async def ended(self) -> None:
        """Wait for the end of the task that `start` has begun."""
        assert self.task is not None
        await self.task

    async def play(self, mode: str = "arena", direction: str = "Stay", **parameters: Any) -> None:
        """Join a game and play it to its end."""
        await self.join(mode, **parameters)
        await self.play_on(direction)

    async def play_on(self, direction: str = "Stay") -> None:
        while not self.game["finished"]:
            response = await self.move(direction)
            assert response.status_code == 200, response.text


@asynccontextmanager
async def playing(server: LeagueServer, *names: str) -> AsyncIterator[list[Bot]]:
    """Yield registered bots with these names."""
    async with httpx.AsyncClient(base_url=server.url, timeout=30) as client:
        yield [Bot(server, server.register(name), client) for name in names]


@asynccontextmanager
async def match_of_four(server: LeagueServer, **options: Any) -> AsyncIterator[tuple[list[Bot], list[asyncio.Task[Any]]]]:
    """Yield four bots in a private match on `MAP`, in the order of their seats, and their open requests to join.

    Bot 1 has got the first state.
    """
    async with playing(server, "one", "two", "three", "four") as bots:
        server.lobby.arrange(MAP, [bot.key for bot in bots], **options)
        joins = [asyncio.create_task(bot.join("arena")) for bot in bots]
        await joins[0]
        yield bots, joins
        server.end_games()
        await asyncio.gather(*joins, return_exceptions=True)


@asynccontextmanager
async def connection(server: LeagueServer | str) -> AsyncIterator[tuple[asyncio.StreamReader, asyncio.StreamWriter]]:
    """Yield a new connection to a server, which is given itself or by its address."""
    port = urlsplit(server).port if isinstance(server, str) else server.port
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    try:
        yield reader, writer
    finally:
        writer.close()
        with suppress(ConnectionError):
            await writer.wait_closed()


async def raw(server: LeagueServer, request: bytes) -> tuple[int, dict[str, str], bytes]:
    """Send these bytes on a new connection. Return the status, the headers and the body of the answer."""
    async with connection(server) as (reader, writer):
        writer.write(request)
        return await read_response(reader)


async def read_response(reader: asyncio.StreamReader) -> tuple[int, dict[str, str], bytes]:
    """Return the status, the headers and the body of the next answer on a connection."""
    answer = await read_message(reader)
    return int(answer.first_line.split()[1]), answer.headers, answer.body


def post(path: str, body: bytes = b"", *headers: str, host: str = "localhost") -> bytes:
    """Return a POST request as bytes."""
    lines = [f"POST {path} HTTP/1.1", f"Host: {host}", f"Content-Length: {len(body)}", *headers]
    return "\r\n".join(lines).encode() + b"\r\n\r\n" + body


FORM = "Content-Type: application/x-www-form-urlencoded"


async def rounds_of_the_loop(count: int = 30) -> None:
    """Let the event loop run for some rounds, so that everything that is due happens."""
    for _ in range(count):
        await asyncio.sleep(0)


PROGRAM = """
import json
import sys
from vindibot.league.server import run_server
from vindibot.league.settings import LeagueServerSettings
settings = LeagueServerSettings(**json.loads(sys.argv[1]))
run_server(settings, lambda server: print(server.url, flush=True))
"""


@asynccontextmanager
async def server_process(
    db: Path, settings: dict[str, Any] | None = None, **environment: str
) -> AsyncIterator[tuple[asyncio.subprocess.Process, httpx.AsyncClient]]:
    """Yield a server in a separate process, and a client. The process is killed at the end."""
    given = json.dumps({"db": str(db), "rounds": 1, "time_limit_ms": 20_000} | (settings or {}))
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-c", PROGRAM, given, stdout=asyncio.subprocess.PIPE, env={**os.environ, **environment}
    )
    assert process.stdout is not None
    try:
        async with asyncio.timeout(60):
            url = (await process.stdout.readline()).decode().strip()
        async with httpx.AsyncClient(base_url=url, timeout=30) as client:
            yield process, client
    finally:
        if process.returncode is None:
            process.kill()
        await process.wait()
