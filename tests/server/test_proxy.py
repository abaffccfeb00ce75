"""The server behind the real nginx, with the configuration of docs/deploy."""

from __future__ import annotations

import asyncio
import re
import shutil
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import NamedTuple

import httpx
import pytest

from tests.server.test_clients import SHAPES, Shape, play, raw_client
from tests.support.serving import MAP, Bot, playing, read_response, serving
from tests.support.waiting import until
from vindibot.base.system import allow_many_files
from vindibot.league.server import LeagueServer

pytestmark = [
    pytest.mark.slow_faults,
    pytest.mark.skipif(not (shutil.which("nginx") and shutil.which("openssl")), reason="needs nginx and openssl"),
]

RECIPE = Path(__file__).parents[2] / "docs" / "deploy" / "nginx.conf"
#: Paths of nginx that only the administrator may write, and a path in the folder of the test for each of them.
FOLDERS = "".join(f"{name}_temp_path {name};\n" for name in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi"))


class Proxy(NamedTuple):
    """A running nginx: its ports for HTTP and HTTPS."""

    port: int
    secure: int

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"


def free_ports() -> list[int]:
    with socket.create_server(("127.0.0.1", 0)) as first, socket.create_server(("127.0.0.1", 0)) as second:
        return [first.getsockname()[1], second.getsockname()[1]]


async def run(*words: str, folder: Path) -> None:
    null = asyncio.subprocess.DEVNULL
    process = await asyncio.create_subprocess_exec(*words, cwd=folder, stdin=null, stdout=null, stderr=null)
    assert await process.wait() == 0, words


@asynccontextmanager
async def nginx(server: LeagueServer, folder: Path) -> AsyncIterator[Proxy]:
    """Yield nginx in front of a server. Its configuration is the recipe, with other ports, files and certificates."""
    proxy = Proxy(*free_ports())
    await run(
        *("openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "1", "-subj", "/CN=play.example"),
        *("-keyout", "play.key", "-out", "play.pem"),
        folder=folder,
    )
    text = RECIPE.read_text(encoding="utf-8")
    for found, used in (
        ("user www-data;", ""),
        ("/run/nginx.pid", f"{folder}/nginx.pid"),
        ("/var/log/nginx/error.log", f"{folder}/error.log"),
        ("http {", f"http {{\n{FOLDERS.replace('_path ', f'_path {folder}/')}"),
        ("127.0.0.1:9000", f"127.0.0.1:{server.port}"),
        ("listen 80;", f"listen 127.0.0.1:{proxy.port};"),
        ("listen 443 ssl;", f"listen 127.0.0.1:{proxy.secure} ssl;"),
        ("/etc/ssl/play.example", f"{folder}/play"),
    ):
        assert found in text
        text = text.replace(found, used)
    (folder / "nginx.conf").write_text(text, encoding="utf-8")
    words = ("nginx", "-p", str(folder), "-c", str(folder / "nginx.conf"), "-e", str(folder / "error.log"), "-g", "daemon off;")
    process = await asyncio.create_subprocess_exec(*words)
    try:
        while not await listens(proxy):
            assert process.returncode is None, (folder / "error.log").read_text()
        yield proxy
    finally:
        if process.returncode is None:
            process.terminate()
        await process.wait()


async def listens(proxy: Proxy) -> bool:
    try:
        _, writer = await asyncio.open_connection("127.0.0.1", proxy.port)
    except OSError:
        await asyncio.sleep(0.02)
        return False
    writer.close()
    return True


async def test_every_shape_plays_through_the_proxy(tmp_path: Path) -> None:
    async with serving(forwarded_allow_ips="127.0.0.1") as server, nginx(server, tmp_path) as proxy:

        async def game(shape: Shape) -> None:
            async with raw_client(proxy, shape) as client:  # it uses only the port
                answers = await play(client, server.register("client"))
            assert len(answers) == 12 or answers[-1]["game"]["finished"]

        await asyncio.gather(*(game(shape) for shape in SHAPES))
        reader, writer = await asyncio.open_connection("127.0.0.1", proxy.port)
        body = f"key={server.register('old')}".encode()
        form = b"Content-Type: application/x-www-form-urlencoded"
        writer.write(b"POST /api/training HTTP/1.0\r\n%b\r\nContent-Length: %d\r\n\r\n%b" % (form, len(body), body))
        status, _, answer = await read_response(reader)
        writer.close()
        assert status == 200
        assert b'"playUrl":"http://play.example/api/' in answer, "an old client without a Host header"


async def test_events_flow_and_addresses_are_those_of_the_clients(tmp_path: Path) -> None:
    async with (
        serving(forwarded_allow_ips="127.0.0.1", heroes_per_address=1) as server,
        nginx(server, tmp_path) as proxy,
        playing(server, "a", "b", "c") as bots,
        httpx.AsyncClient(base_url=proxy.url, timeout=30) as one,
        httpx.AsyncClient(base_url=proxy.url, timeout=30, transport=httpx.AsyncHTTPTransport(local_address="127.0.0.2")) as other,
    ):
        mine = Bot(server, bots[0].key, one)
        assert (await mine.join(turns=5, map=MAP)).status_code == 200
        assert (await Bot(server, bots[1].key, other).join()).status_code == 200
        assert (await Bot(server, bots[2].key, one).join()).status_code == 429
        async with one.stream("GET", f"/events/{mine.game['id']}") as events:
            assert events.headers["content-type"] == "text/event-stream"
            lines = events.aiter_lines()
            for turn in (1, 2, 3, 4):
                if turn == 1:
                    await mine.move()  # the events come while the game runs
                assert f'"turn":{turn},' in await anext(lines)
                assert await anext(lines) == ""
        await until(lambda: not server.streams.pace.readers)  # the server learns that the reader has gone
        async with httpx.AsyncClient(base_url=f"https://127.0.0.1:{proxy.secure}", verify=False) as secure:
            page = await secure.post("/register", data={"name": "pupil"})
        assert re.search(rf"https://127\.0\.0\.1:{proxy.secure}\b", page.text)


async def test_a_thousand_slow_connections_do_not_keep_a_game_from_its_moves(tmp_path: Path) -> None:
    allow_many_files()
    async with (
        serving(time_limit_ms=1000, forwarded_allow_ips="127.0.0.1") as server,
        nginx(server, tmp_path) as proxy,
        playing(server, "client") as [bot],
        httpx.AsyncClient(base_url=proxy.url, timeout=30) as client,
    ):
        slow = [await asyncio.open_connection("127.0.0.1", proxy.port, local_addr=("127.0.0.3", 0)) for _ in range(1000)]
        for number, (_, writer) in enumerate(slow):
            writer.write(
                (b"POST /api/tr", b"POST /api/training HTTP/1.1\r\nHost: x\r\nContent-Length: 50\r\n\r\nkey=")[number % 2]
            )

        async def drip() -> None:
            while True:
                for _, writer in slow:
                    if not writer.is_closing():
                        writer.write(b"a")
                    await asyncio.sleep(0.001)

        dripping = asyncio.create_task(drip())
        player = Bot(server, bot.key, client)
        await player.join(turns=100, map=MAP)
        await player.play_on()
        assert player.game["turn"] == 400
        assert not player.game["heroes"][0]["crashed"]
        slow_heads = [reader for number, (reader, _) in enumerate(slow) if number % 2 == 0]
        await asyncio.gather(*(reader.read() for reader in slow_heads), return_exceptions=True)  # nginx closes them
        dripping.cancel()
        for _, writer in slow:
            writer.close()
