"""HTTP as clients speak it: methods, paths, bodies and connections, over real sockets."""

from __future__ import annotations

import json
import socket
from typing import Any

import httpx
import pytest

from tests.support.serving import FORM, connection, playing, post, raw, serving
from vindibot.server.embedded import EmbeddedServer
from vindibot.server.game_server import ServerError
from vindibot.server.settings import ServerSettings

# One server, in one event loop, for all tests that do not set anything on it.
pytestmark = pytest.mark.asyncio(loop_scope="module")


def bodies(key: str) -> list[tuple[str, dict[str, Any]]]:
    """The ways of clients to say: this key, 3 rounds, the map m1."""
    fields = {"key": key, "turns": "3", "map": "m1"}
    form = "&".join(f"{name}={value}" for name, value in fields.items())
    numbers = json.dumps({"key": key, "turns": 3, "map": "m1", "games": None, "x": [1, {"y": 2}]})
    parts = "".join(f'--xyz\r\nContent-Disposition: form-data; name="{n}"\r\n\r\n{v}\r\n' for n, v in fields.items())
    file = '--xyz\r\nContent-Disposition: form-data; name="key"; filename="key.txt"\r\n\r\nfile\r\n'
    xyz = {"Content-Type": "multipart/form-data; boundary=xyz"}
    url = {"Content-Type": "application/x-www-form-urlencoded; charset=UTF-8"}
    odd = {"Content-Type": 'application/x-www-form-urlencoded;charset="nonsense"'}
    return [
        ("form of an odd charset", {"content": form, "headers": odd}),
        ("form with unknown, empty and repeated fields", {"content": f"games=1&{form}&key=other&=&&", "headers": url}),
        ("multipart", {"content": f"{parts}--xyz--\r\n", "headers": xyz}),
        ("multipart with a file", {"content": f"{file}{parts}--xyz--\r\n", "headers": xyz}),
        ("json", {"content": numbers, "headers": {"Content-Type": "application/json; charset=utf-8"}}),
        ("text/json", {"content": numbers, "headers": {"Content-Type": "text/json"}}),
        ("json in utf-16", {"content": numbers.encode("utf-16"), "headers": {"Content-Type": "application/json"}}),
        ("query", {"params": fields}),
        ("query over body", {"params": fields, "content": "key=wrong&turns=x&map=x", "headers": url}),
        ("query and a body that is ignored", {"params": fields, "content": "key=x", "headers": {"Content-Type": "text/plain"}}),
    ]


@pytest.mark.parametrize("number", range(len(bodies(""))), ids=[name for name, _ in bodies("")])
async def test_parameters_in_every_form(server: EmbeddedServer, number: int) -> None:
    async with playing(server, "seed") as [bot]:
        response = await bot.client.post("/api/training", **bodies(bot.key)[number][1])
        assert response.status_code == 200, response.text
        assert response.json()["game"]["maxTurns"] == 12
        assert response.json()["hero"]["name"] == "seed"
        bot.response = response
        fields = {"dir": " wEsT "}
        moved = await bot.client.post(bot.state["playUrl"], json=fields) if number % 2 else await bot.move(**fields)
        assert moved.json()["hero"]["lastDir"] == "West"


@pytest.mark.parametrize("path", ["/api/training", "/api/arena", "/api/abcdefgh/wxyz/play"])
@pytest.mark.parametrize("method", ["GET", "PUT", "DELETE", "HEAD", "OPTIONS"])
async def test_other_methods_are_not_found(server: EmbeddedServer, path: str, method: str) -> None:
    async with httpx.AsyncClient(base_url=server.url) as client:
        response = await client.request(method, path)
        assert response.status_code == 404
        assert response.headers["content-type"].startswith("text/html")


async def test_urls_follow_the_host_header(server: EmbeddedServer) -> None:
    async with playing(server, "seed") as [bot]:
        body = f"key={bot.key}".encode()
        _, _, answer = await raw(server, post("/api/training", body, FORM, host="play.example:81"))
        state = json.loads(answer)
        assert state["viewUrl"] == f"http://play.example:81/{state['game']['id']}"
        assert state["playUrl"] == f"http://play.example:81/api/{state['game']['id']}/{state['token']}/play"
        old = f"POST /api/training HTTP/1.0\r\n{FORM}\r\nContent-Length: {len(body)}\r\n\r\n".encode() + body
        _, _, answer = await raw(server, old)
        assert json.loads(answer)["viewUrl"].startswith(server.url)


async def test_bodies_that_cannot_be_read() -> None:
    async with serving(max_body=2000) as server, playing(server, "seed") as [bot]:
        key = bot.key
        json_type, multipart = "Content-Type: application/json", "Content-Type: multipart/form-data; boundary=x"
        for body, header in [
            (b'{"key":', json_type),
            (b"\xff", json_type),
            (b"[" * 2000, json_type),
            (b"a=b&" * 500, FORM),
            (b"nonsense", multipart),
            (b"--x\r\n\r\n\r\n--x--", multipart),
            (b"x", "Content-Type: multipart/form-data"),
            (b"", "Transfer-Encoding: nonsense"),
        ]:
            status, _, _ = await raw(server, post("/api/training", body, header))
            assert status in (400, 501), (body, header)
        assert (await bot.join()).status_code == 200
        assert key not in server.lobby.users.__dict__.__repr__()


async def test_a_request_with_two_lengths_is_refused_and_disturbs_no_other(server: EmbeddedServer) -> None:
    async with playing(server, "client") as [bot]:
        games = len(server.lobby.rooms)
        head = f"POST /api/training HTTP/1.1\r\nHost: x\r\n{FORM}\r\nContent-Length: 13\r\nTransfer-Encoding: chunked\r\n\r\n"
        for content in (f"c\r\nkey={bot.key}\r\n0\r\n\r\n", "0\r\n\r\nGET /smuggled HTTP/1.1\r\n\r\n"):
            async with connection(server) as (reader, writer):
                writer.write((head + content).encode())
                answer = await reader.read()
                assert answer.startswith(b"HTTP/1.1 400 ")
                assert b"connection: close" in answer.lower()
                assert b"either Content-Length or Transfer-Encoding" in answer
                assert answer.count(b"HTTP/1.1") == 1
        assert len(server.lobby.rooms) == games


async def test_a_body_that_does_not_come_is_given_up() -> None:
    async with serving(body_seconds=0.05) as server:
        head = f"POST /api/training HTTP/1.1\r\nHost: x\r\n{FORM}\r\nContent-Length: 10\r\n\r\nkey=".encode()
        assert (await raw(server, head))[0] == 408


async def test_it_listens_on_this_machine_alone() -> None:
    async with serving() as server:
        assert server.url.startswith("http://127.0.0.1:")
        assert server.port > 0
        for listener in server._asgi.servers:
            assert {name.getsockname()[0] for name in listener.sockets} == {"127.0.0.1"}


async def test_a_port_in_use_is_said_clearly(server: EmbeddedServer) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(ServerError, match=f"port {port}: the port is in use"):
            async with EmbeddedServer(ServerSettings(port=port)):
                pass
    with pytest.raises(ServerError, match=r"cannot listen on nowhere\.invalid"):
        async with EmbeddedServer(ServerSettings(host="nowhere.invalid")):
            pass
