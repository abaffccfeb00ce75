"""What the server withstands: slow and endless requests, paths with tricks, crowds."""

from __future__ import annotations

import asyncio

import httpx
import pytest
from fastapi import Request

from tests.support.serving import FORM, MAP, Bot, connection, playing, post, raw, read_response, rounds_of_the_loop, serving
from tests.support.waiting import until
from vindibot.server.limits import RateLimit, client_address

FULL = "Vindinium - The server is full, try again later"


async def test_a_hundred_megabytes_are_refused_quickly_and_others_go_on() -> None:
    async with serving() as server, playing(server, "client") as [bot], connection(server) as (reader, writer):
        await bot.join(turns="3", map=MAP)
        writer.write(f"POST {bot.state['playUrl'].removeprefix(server.url)} HTTP/1.1\r\nHost: x\r\n{FORM}\r\n".encode())
        writer.write(b"Content-Length: 100000000\r\n\r\n" + b"dir=North&x=" + b"x" * 1_000_000)
        status, headers, body = await read_response(reader)
        assert (status, headers["connection"]) == (413, "close")
        assert b"102400" in body
        chunks = f"POST /api/training HTTP/1.1\r\nHost: x\r\n{FORM}\r\nTransfer-Encoding: chunked\r\n\r\n".encode()
        status, _, _ = await raw(server, chunks + (b"8000\r\n" + b"x" * 0x8000 + b"\r\n") * 4)
        assert status == 413
        await bot.play_on()


# ---- Tokens ----


@pytest.mark.slow_faults
async def test_wrong_tokens_are_slowed_down_and_right_ones_are_not() -> None:
    async with serving() as server, playing(server, "client") as [bot]:
        await bot.join(turns=20, map=MAP)
        path = f"/api/{bot.game['id']}/%s/play"
        wrong = [post(path % f"wrong{number:019}", b"dir=North", FORM) for number in range(40)]
        guesses = [asyncio.create_task(raw(server, request)) for request in wrong]
        await asyncio.wait(guesses, return_when=asyncio.FIRST_COMPLETED)
        for _ in range(5):  # from the same address, and not on a connection that was known before
            body = f"dir=South&turn={bot.game['turn']}".encode()
            status, _, state = await raw(server, post(path % bot.state["token"], body, FORM))
            assert status == 200
            bot.response = httpx.Response(200, content=state)
        assert not all(guess.done() for guess in guesses), "the guesses are held while moves are answered"
        answers = await asyncio.gather(*guesses)
        assert {(status, body.decode()) for status, _, body in answers} == {
            (404, "Vindinium - Wrong or expired token"),
            (429, "Vindinium - Too many wrong tokens, try again later"),
        }
        late = [headers for status, headers, _ in answers if status == 429]
        assert len(late) >= 10
        assert all(int(headers["retry-after"]) >= 1 and headers["connection"] == "close" for headers in late)


def test_a_rate_limit_pays_off_and_forgets(monkeypatch: pytest.MonkeyPatch) -> None:
    now = 100.0
    limit = RateLimit(2.0, 3, lambda: now)
    assert [limit.take("a") for _ in range(5)] == [0, 0, 0, 2, 4]
    assert limit.wait("b") == 0
    now += 7
    assert [limit.take("a") for _ in range(2)] == [0, 1]
    monkeypatch.setattr("vindibot.server.limits.MAX_KEYS", 2)
    limit.take("b")
    limit.take("c")
    assert limit.wait("a") == 0, "the key that was used least lately is forgotten"


@pytest.mark.parametrize(
    ("host", "key"),
    [
        ("192.0.2.7", "192.0.2.7"),
        ("::ffff:192.0.2.7", "192.0.2.7"),
        ("2001:db8:1:2:3:4:5:6", "2001:db8:1:2::/64"),
        ("fe80::1%eth0", "fe80::/64"),
    ],
)
def test_an_address_of_ipv6_counts_with_its_network(host: str, key: str) -> None:
    assert client_address(Request({"type": "http", "client": (host, 1)})) == key


# ---- Paths ----


@pytest.mark.parametrize(
    "target",
    [
        "GET /viewer/../../../etc/passwd",
        "GET /viewer/..%2f..%2f..%2fetc%2fpasswd",
        "GET /%ff%fe%00",
        "GET /events/%0d%0aSet-Cookie:x=y",
        "GET /?" + "&".join(f"a{number}=b" for number in range(1000)),
        "GET *",
        "POST /api/%2e%2e/x/play",
        "POST /api/" + "a" * 8000 + "/x/play",
    ],
)
async def test_tricks_with_paths_lead_nowhere(target: str) -> None:
    async with serving() as server:
        status, headers, body = await raw(server, f"{target} HTTP/1.1\r\nHost: x\r\n\r\n".encode())
        assert status in ((200,) if target.startswith("GET /?") else (400, 404)), status
        assert b"root:" not in body
        assert "set-cookie" not in headers


# ---- Crowds ----


async def test_games_are_limited_and_finished_ones_make_way() -> None:
    async with serving(max_games=2) as server, playing(server, "client") as [bot]:
        bots = [Bot(server, bot.key, bot.client) for _ in range(3)]
        assert (await bots[0].join(turns="1")).status_code == 200
        assert (await bots[1].join()).status_code == 200
        refused = await bots[2].join()
        assert (refused.status_code, refused.text, refused.headers["retry-after"]) == (503, FULL, "5")
        await bots[0].play_on()
        assert (await bots[2].join()).status_code == 200
        gone = await bots[0].move()
        assert gone.status_code == 404


async def test_an_arena_game_waits_for_space() -> None:
    async with serving(max_games=1, rounds=1) as server, playing(server, *"abcde") as [bot, *four]:
        await bot.join(turns="1")
        joins = [asyncio.create_task(other.join("arena")) for other in four]
        await until(lambda: len(server.lobby.waiting) == 4)
        await rounds_of_the_loop()
        assert not any(join.done() for join in joins)
        await bot.play_on()
        for other, join in zip(four, joins, strict=True):
            await join
            other.start()
        for other in four:
            await other.ended()


async def test_waiting_clients_are_limited() -> None:
    async with serving(max_waiting=2) as server, playing(server, *"abc") as bots:
        joins = [asyncio.create_task(bot.join("arena")) for bot in bots[:2]]
        await until(lambda: len(server.lobby.waiting) == 2)
        refused = await bots[2].join("arena")
        assert (refused.status_code, refused.text) == (503, FULL)
        assert (await bots[2].join("training")).status_code == 200
        server.lobby.close()
        await asyncio.gather(*joins)


# ---- Old addresses ----


async def test_the_other_pages_of_the_original() -> None:
    async with serving() as server, httpx.AsyncClient(base_url=server.url) as client:
        manual = (await client.get("/doc")).text
        assert all(word in manual for word in ("playUrl", "tavern", "goblin", "blow", "spawn square", "crashed"))
        assert "/register" in (await client.get("/starters")).text
        drawn = (await client.get("/map/7")).text
        assert 'content="7"' in drawn
        assert "@1" in drawn
        assert (await client.get("/map/soon")).status_code == 404
