"""The shapes of real clients, byte by byte: what the bots and starter kits of nine languages send, and what they look for."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlencode

import pytest

from tests.support.serving import FORM, connection, playing, post, raw, read_response, serving
from vindibot.server.embedded import EmbeddedServer

pytestmark = pytest.mark.asyncio(loop_scope="module")

#: The pattern of a C++ client, and the ways in which clients look for errors.
PLAY_URL = re.compile(r"http://([^/:]+)(?::(\d+))?(/api/\w+/\w+/play)")
CONTINUE = b"HTTP/1.1 100 "


def form(fields: dict[str, Any]) -> bytes:
    return urlencode({name: value for name, value in fields.items() if value is not None}).encode()


def as_json(fields: dict[str, Any]) -> bytes:
    return json.dumps(fields).encode()


@dataclass(frozen=True)
class Shape:
    """How one kind of client speaks."""

    name: str
    encode: Callable[[dict[str, Any]], bytes] = form
    content_type: str = "application/x-www-form-urlencoded"
    headers: tuple[str, ...] = ()
    join: dict[str, Any] = field(default_factory=dict)
    direction: str = "North"
    key_with_moves: bool = True
    keep: bool = True
    expect: bool = False
    builds_path: bool = False
    version: str = "1.1"


SHAPES = [
    Shape("python kit", headers=("Accept-Encoding: gzip, deflate", "Accept: */*", "User-Agent: python-requests/2.2.1")),
    Shape(
        "java kit: a charset, a number of turns, no map",
        content_type="application/x-www-form-urlencoded; charset=UTF-8",
        headers=("Accept-Encoding: gzip", "User-Agent: Google-HTTP-Java-Client/1.17.0-rc (gzip)"),
        join={"turns": "10"},
        direction="East",
    ),
    Shape(
        "haskell: JSON with numbers and nulls, the key again with every move",
        encode=as_json,
        content_type="application/json",
        headers=("Accept: application/json",),
        join={"turns": 10, "map": None},
        direction="South",
    ),
    Shape(
        "mono: Expect with every request",
        headers=("Connection: keep-alive",),
        join={"turns": "10", "map": "m1"},
        expect=True,
        direction="West",
    ),
    Shape("node: a new connection for every move", headers=("Connection: close",), keep=False, direction="Stay"),
    Shape("C++ kit over HTTP/1.0", version="1.0", keep=False, join={"turns": "10", "map": ""}, direction="north"),
    Shape("ruby: no Accept, no User-Agent, an empty map, unknown fields", join={"map": "", "games": "1", "mode": "training"}),
    Shape("perl: small letters", direction="south", content_type='application/x-www-form-urlencoded; charset="utf8"'),
    Shape("scala: capitals", direction="EAST", content_type="Application/X-WWW-Form-URLEncoded;charset=ISO-8859-1"),
    Shape("PHP: builds the path by itself, no key with moves", builds_path=True, key_with_moves=False),
]


class RawClient:
    """A client of this shape; everything it sends is written out by hand."""

    def __init__(self, server: EmbeddedServer, shape: Shape) -> None:
        self.server, self.shape = server, shape
        self.streams: tuple[asyncio.StreamReader, asyncio.StreamWriter] | None = None

    async def post(self, path: str, fields: dict[str, Any]) -> tuple[int, dict[str, str], bytes]:
        shape, body = self.shape, self.shape.encode(fields)
        lines = [
            f"POST {path} HTTP/{shape.version}",
            f"Host: localhost:{self.server.port}",
            f"Content-Type: {shape.content_type}",
        ]
        lines += [*shape.headers, f"Content-Length: {len(body)}"]
        head = "\r\n".join([*lines, "Expect: 100-continue"] if shape.expect else lines).encode() + b"\r\n\r\n"
        if self.streams is None or not shape.keep:
            await self.close()
            self.streams = await asyncio.open_connection("127.0.0.1", self.server.port)
        reader, writer = self.streams
        writer.write(head if shape.expect else head + body)
        if shape.expect:
            assert (await reader.readuntil(b"\r\n\r\n")).startswith(CONTINUE)
            writer.write(body)
        answer = await read_response(reader)
        if not shape.keep:
            assert await reader.read() == b""  # the server closes, and has nothing to add
        return answer

    async def close(self) -> None:
        if self.streams is not None:
            self.streams[1].close()
            self.streams = None


@asynccontextmanager
async def raw_client(server: EmbeddedServer, shape: Shape) -> AsyncIterator[RawClient]:
    client = RawClient(server, shape)
    try:
        yield client
    finally:
        await client.close()


async def play(client: RawClient, key: str) -> list[dict[str, Any]]:
    """A whole training game, or ten moves of it; all answers."""
    shape = client.shape
    status, headers, body = await client.post("/api/training", {"key": key} | shape.join)
    assert status == 200, body
    answers = [json.loads(body)]
    while not answers[-1]["game"]["finished"] and len(answers) < 12:
        assert headers["content-type"] == "application/json"
        assert "content-encoding" not in headers
        assert "transfer-encoding" not in headers
        found = PLAY_URL.fullmatch(answers[-1]["playUrl"])
        assert found is not None
        assert (found[1], found[2]) == ("localhost", str(client.server.port))
        built = f"/api/{answers[-1]['game']['id']}/{answers[-1]['token']}/play"
        fields = {"dir": shape.direction} | ({"key": key} if shape.key_with_moves else {})
        status, headers, body = await client.post(built if shape.builds_path else found[3], fields)
        assert status == 200, body
        answers.append(json.loads(body))
        assert answers[-1]["hero"]["lastDir"] == shape.direction.capitalize()
    return answers


@pytest.mark.parametrize("shape", SHAPES, ids=lambda shape: shape.name)
async def test_a_training_game_in_every_shape(server: EmbeddedServer, shape: Shape) -> None:
    async with raw_client(server, shape) as client:
        answers = await play(client, server.register("client"))
    assert len(answers) == 12 or answers[-1]["game"]["finished"]
    assert [answer["game"]["turn"] for answer in answers] == list(range(0, 4 * len(answers), 4))
    for hero in answers[0]["game"]["heroes"][1:]:
        assert not {"userId", "elo"} & hero.keys()


async def test_a_client_that_waits_long_for_a_game_is_not_refused() -> None:
    async with (
        serving(rounds=1, body_seconds=0.05) as server,
        playing(server, *"abcd") as bots,
        connection(server) as (reader, writer),
    ):
        writer.write(post("/api/arena", f"key={bots[0].key}".encode(), FORM))
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.3):
                await reader.read(1)
        joins = [asyncio.create_task(bot.join("arena")) for bot in bots[1:]]
        assert (await read_response(reader))[0] == 200
        server.lobby.close()
        await asyncio.gather(*joins)


async def test_no_redirects_and_no_trailing_slashes(server: EmbeddedServer) -> None:
    key = server.register("client")
    for path in ("/api/training/", "/api/arena/", "//api/training", "/API/training"):
        status, headers, _ = await raw(server, post(path, f"key={key}".encode(), FORM))
        assert status == 404
        assert "location" not in headers
