"""Two clients of which one misbehaves: the other one can still play. And a class behind one address meets no limit."""

from __future__ import annotations

import asyncio
import resource
import signal
import socket
import sys
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path

import httpx
import pytest

from tests.support.serving import FORM, MAP, Bot, playing, post, raw, rounds_of_the_loop, serving
from tests.support.waiting import until
from vindibot.server.embedded import EmbeddedServer
from vindibot.server.store.database import Database
from vindibot.server.store.tables import UserTable
from vindibot.server.users import Users

#: The address of the client that misbehaves. All addresses 127.x.y.z belong to this machine.
BAD = "127.0.0.2"


@asynccontextmanager
async def client_at(server: EmbeddedServer, address: str = BAD) -> AsyncIterator[httpx.AsyncClient]:
    """A client with this address."""
    transport = httpx.AsyncHTTPTransport(local_address=address, limits=httpx.Limits(max_connections=None))
    async with httpx.AsyncClient(base_url=server.url, transport=transport, timeout=60) as client:
        yield client


# ---- Games ----


@pytest.mark.parametrize("mode", ["training", "arena"])
async def test_one_key_does_not_fill_the_server(mode: str) -> None:
    async with serving(max_games=8, max_waiting=8, heroes_per_key=6) as server, playing(server, "bad", "good") as [bad, good]:
        joins = [asyncio.create_task(Bot(server, bad.key, bad.client).join(mode)) for _ in range(30)]
        await until(lambda: sum(join.done() for join in joins) >= 24)
        refused = [join.result() for join in joins if join.done() and join.result().status_code == 429]
        told = {(answer.text, int(answer.headers["retry-after"]) >= 1) for answer in refused}
        assert told == {("Vindinium - Your key plays too many games at once, try again later", True)}
        assert len(refused) == 24
        await good.join(turns=1, map=MAP)
        await good.play_on()
        server.end_games()
        await asyncio.gather(*joins)


async def test_a_place_is_free_again_after_a_game_and_after_a_client_has_gone() -> None:
    async with serving(heroes_per_key=2) as server, playing(server, "client") as [bot]:
        for _ in range(3):
            await bot.join(turns=1, map=MAP)
            assert (await Bot(server, bot.key, bot.client).join(map="no map")).status_code == 400
            waiting = asyncio.create_task(Bot(server, bot.key, bot.client).join("arena"))
            await until(lambda: server.lobby.waiting)
            assert (await Bot(server, bot.key, bot.client).join("arena")).status_code == 429
            waiting.cancel()
            await until(lambda: not server.lobby.waiting)
            await bot.play_on()
        assert not server.lobby.limits._heroes_of_key._places
        assert not server.lobby.limits._heroes_of_address._places


async def test_many_keys_of_one_address_do_not_fill_the_server() -> None:
    settings = {"keys": "any", "max_games": 20, "heroes_per_address": 6}
    async with serving(**settings) as server, client_at(server) as bad, playing(server, "good") as [good]:
        keys = [f"badkey{number:02}" for number in range(12)]
        answers = await asyncio.gather(*(bad.post("/api/training", data={"key": key}) for key in keys))
        assert Counter(answer.status_code for answer in answers) == {200: 6, 429: 6}
        refused = next(answer for answer in answers if answer.status_code == 429)
        assert refused.text == "Vindinium - Your address plays too many games at once, try again later"
        assert (await good.join(turns=1, map=MAP)).status_code == 200
        await good.play_on()


# ---- Streams and requests ----


async def test_one_address_does_not_take_all_streams() -> None:
    async with serving(max_streams=10, streams_per_address=4) as server, AsyncExitStack() as stack:
        bad = await stack.enter_async_context(client_at(server))
        for _ in range(4):
            assert (await stack.enter_async_context(bad.stream("GET", "/now-playing"))).status_code == 200
        refused = await bad.get("/now-playing")
        assert (refused.status_code, refused.text) == (429, "Too many streams go to your address, try again later")
        good = await stack.enter_async_context(client_at(server, "127.0.0.1"))
        assert (await stack.enter_async_context(good.stream("GET", "/now-playing"))).status_code == 200
        missing = await bad.get("/events/nosuch00")
        assert missing.status_code == 404
        await stack.aclose()
        await until(lambda: not server.lobby.limits._streams_of_address._places)


async def test_one_address_does_not_take_all_requests() -> None:
    async with serving(requests_per_address=5) as server, AsyncExitStack() as stack:
        [good] = await stack.enter_async_context(playing(server, "good"))
        await good.join(turns=2, map=MAP)
        for _ in range(5):  # the bodies of these requests do not come
            _, writer = await asyncio.open_connection("127.0.0.1", server.port, local_addr=(BAD, 0))
            stack.callback(writer.close)
            writer.write(post("/api/training", b"key=", FORM).replace(b"Content-Length: 4", b"Content-Length: 40"))
        bad = await stack.enter_async_context(client_at(server))
        while (refused := await bad.get("/")).status_code == 200:
            await rounds_of_the_loop()
        assert (refused.status_code, refused.headers["connection"]) == (429, "close")
        assert refused.text == "Vindinium - Too many requests from your address, try again later"
        await good.play_on()
        assert (await good.client.get("/")).status_code == 200


async def test_the_address_of_a_client_comes_from_a_trusted_proxy_alone() -> None:
    header = {"X-Forwarded-For": "192.0.2.7", "X-Forwarded-Proto": "https"}
    for trusted, shared in (("127.0.0.1", False), ("192.0.2.1", True), ("", True)):
        async with serving(forwarded_allow_ips=trusted, heroes_per_address=1) as server, playing(server, "a", "b") as bots:
            await bots[0].join()
            second = await bots[1].client.post("/api/training", data={"key": bots[1].key}, headers=header)
            assert second.status_code == (429 if shared else 200)
            page = await bots[0].client.post("/register", data={"name": "someone"}, headers=header)
            assert ("https://127.0.0.1" in page.text) == (not shared)


@pytest.mark.slow_faults
async def test_a_server_without_descriptors_says_so_once_and_comes_back() -> None:
    server = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "vindibot", "serve", "--port", "0"),
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (100, 100)),
    )
    assert server.stdout is not None
    try:
        url = (await server.stdout.readline()).decode().split()[2]
        async with httpx.AsyncClient(base_url=url, timeout=30) as player, AsyncExitStack() as flood:
            state = (await player.post("/api/training", data={"key": "anykey12", "turns": 3, "map": MAP})).json()
            for _ in range(400):
                flood.enter_context(socket.create_connection(("127.0.0.1", int(url.rpartition(":")[2]))))
            while not state["game"]["finished"]:  # the game goes on
                state = (await player.post(state["playUrl"], data={"dir": "Stay"})).json()
        async with httpx.AsyncClient(base_url=url, timeout=30, transport=httpx.AsyncHTTPTransport(retries=5)) as other:
            # Until the server has seen that the others have gone.
            while (await other.get("/")).status_code != 200:  # noqa: ASYNC110
                await asyncio.sleep(0.1)
        server.send_signal(signal.SIGINT)
        rest = (await server.stdout.read()).decode()
        assert rest.count("new connections wait until others end") == 1
        assert "Traceback" not in rest
        assert len(rest.splitlines()) <= 2
    finally:
        if server.returncode is None:
            server.kill()
        await server.wait()


# ---- Keys ----


async def registered(path: Path, count: int) -> list[str]:
    """Store this number of bots in a new database, and return their keys. No server has used these keys yet."""
    store = Database(path)
    keys = [f"key{number:05}" for number in range(count)]
    await Users(UserTable(store)).add_all([(f"bot {number}", key, False) for number, key in enumerate(keys)])
    await store.close()
    return keys


async def test_wrong_keys_of_one_address_keep_no_known_key_from_playing(tmp_path: Path) -> None:
    [key] = await registered(tmp_path / "a.db", 1)
    async with serving(db=tmp_path / "a.db", wrong_keys_per_address=10) as server, client_at(server) as bad:
        tasks = [bad.post("/api/training", data={"key": f"bad{number:05}"}) for number in range(30)]
        answers = Counter(answer.text.partition(", try")[0] for answer in await asyncio.gather(*tasks))
        assert set(answers) == {"Vindinium - Key not found", "Vindinium - Too many wrong keys from your address"}
        assert 10 <= answers["Vindinium - Key not found"] < 20  # one more key may be wrong after each 6 seconds
        assert (await bad.post("/api/training", data={"key": key})).status_code == 200
        async with client_at(server, "127.0.0.1") as other:
            assert (await other.post("/api/training", data={"key": "bad00000"})).text == "Vindinium - Key not found"


@pytest.mark.slow_faults
async def test_wrong_keys_of_the_administrator_are_limited() -> None:
    async with serving(admin_key="a long secret") as server, client_at(server) as bad:

        async def ask(key: str) -> int:
            return (await bad.get("/api/admin/matches", headers={"Authorization": f"Bearer {key}"})).status_code

        answers = await asyncio.gather(*(ask(f"wrong key {number}") for number in range(40)))
        assert set(answers) == {401, 429}
        assert await ask("a long secret") == 200


# ---- A class ----


@pytest.mark.slow_faults
async def test_a_class_of_40_behind_one_address_meets_no_limit(tmp_path: Path) -> None:
    keys = await registered(tmp_path / "a.db", 40)
    async with serving(db=tmp_path / "a.db") as server, client_at(server) as client:
        joins = [client.post("/api/training", data={"key": key, "turns": 1, "map": MAP}) for key in keys for _ in range(2)]
        urls = [answer.json()["playUrl"] for answer in await asyncio.gather(*joins) if answer.status_code == 200]
        assert len(urls) == 80
        ends = await asyncio.gather(*(client.post(url, data={"dir": "Stay"}) for url in urls))
        assert {end.status_code for end in ends} == {200}
    async with serving(keys="any") as server, client_at(server) as client:
        guests = [client.post("/api/training", data={"key": f"guest{number:03}", "turns": 1}) for number in range(40)]
        assert {answer.status_code for answer in await asyncio.gather(*guests)} == {200}
        signed = [client.post("/register", data={"name": f"pupil {number}"}) for number in range(10)]
        assert {answer.status_code for answer in await asyncio.gather(*signed)} == {200}
        assert (await raw(server, post("/api/training", b"key=guest000", FORM)))[0] == 200
