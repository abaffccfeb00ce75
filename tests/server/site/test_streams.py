"""Server-sent events over real sockets: order, resumption, replays, slow readers and readers that disconnect."""

from __future__ import annotations

import asyncio
import json
import random
import re
import socket
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import aclosing, asynccontextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest

from sim.maps import parse_map
from tests.support.serving import MAP, Bot, match_of_four, playing, rounds_of_the_loop, serving
from tests.support.waiting import until
from vindibot.games.game_record import loads
from vindibot.games.history import GameHistory
from vindibot.games.protocol import from_games
from vindibot.server.embedded import EmbeddedServer
from vindibot.server.site.feed import Encoder, Feed, PlainEncoder

Event = tuple[int | None, Any]


@asynccontextmanager
async def watching(server: EmbeddedServer, path: str, after: int | None = None) -> AsyncIterator[AsyncIterator[Event]]:
    """The events of a stream: number and data of each."""
    headers = {"Accept": "text/event-stream"} | ({} if after is None else {"Last-Event-ID": str(after)})
    async with (
        httpx.AsyncClient(base_url=server.url, timeout=30) as client,
        client.stream("GET", path, headers=headers) as response,
    ):
        assert response.status_code == 200
        assert response.headers["content-type"] == "text/event-stream"
        assert response.headers["cache-control"] == "no-cache"
        async with aclosing(events_of(response)) as events:
            yield events


async def events_of(response: httpx.Response) -> AsyncGenerator[Event, None]:
    """Read an event in its lines: the data, its number if it has one, and an empty line."""
    number, data = None, None
    async for line in response.aiter_lines():
        if line.startswith("data: "):
            assert data is None
            data = json.loads(line[6:])
        elif line.startswith("id: "):
            assert data is not None  # the number comes after the data
            number = int(line[4:])
        else:
            assert not line
            if data is not None:
                yield number, data
            number = data = None


async def all_events(server: EmbeddedServer, path: str, after: int | None = None) -> list[Event]:
    async with watching(server, path, after) as events:
        return [event async for event in events]


async def archived_events(server: EmbeddedServer, game_id: str) -> list[Event]:
    """The expected events of a stream, from the archived record."""
    async with httpx.AsyncClient(base_url=server.url) as client:
        record = loads((await client.get(f"/records/{game_id}")).content)
    states = list(GameHistory.of(record).states(1))
    players = GameHistory.of(record).players
    return [(ply, from_games(state, game_id=game_id, players=players)) for ply, state in enumerate(states, 1)]


def running_feed(server: EmbeddedServer, game_id: str, encoder: type[Encoder] = Encoder) -> Feed:
    feed = server.streams.feed(game_id, encoder)
    assert feed is not None
    return feed


# ---- One game ----


async def test_every_turn_once_from_the_first_to_the_finished_state() -> None:
    async with serving() as server, playing(server, "seed") as [bot]:
        await bot.join(turns=25, map="m1")
        game_id = bot.game["id"]
        watcher = asyncio.create_task(all_events(server, f"/events/{game_id}"))
        await until(lambda: running_feed(server, game_id).readers)
        await bot.play_on("North")
        events = await watcher
        assert [(number, state["turn"]) for number, state in events] == [(turn, turn) for turn in range(1, 101)]
        assert [state["finished"] for _, state in events] == [False] * 99 + [True]
        assert events[-1][1] == bot.game
        assert events == await archived_events(server, game_id)


@pytest.mark.slow_faults
async def test_a_reader_that_reconnects_gets_the_missed_events_once() -> None:
    rng = random.Random(3)
    async with serving() as server, playing(server, "seed") as [bot]:
        await bot.join(turns=60)
        path = f"/events/{bot.game['id']}"
        bot.start("West")
        seen: list[Event] = []
        while not seen or not seen[-1][1]["finished"]:
            async with watching(server, path, seen[-1][0] if seen else None) as events:
                for _ in range(rng.randrange(1, 30)):  # then the connection is lost
                    event = await anext(events, None)
                    if event is None:
                        break
                    seen.append(event)
        await bot.ended()
        assert [number for number, _ in seen] == list(range(1, 241))
        assert seen == await archived_events(server, bot.game["id"])


async def test_nothing_more_after_the_end_and_odd_numbers_begin_anew() -> None:
    async with serving() as server, playing(server, "seed") as [bot]:
        await bot.join(turns=2)
        path = f"/events/{bot.game['id']}"
        await bot.move()
        for after in ("x", "-1", "9" * 40):
            async with bot.client.stream("GET", path, headers={"Last-Event-ID": after.encode()}) as response:
                assert (await anext(events_of(response)))[0] == 1
        await bot.move()
        for number in (8, 9, 100):
            gone = await bot.client.get(path, headers={"Last-Event-ID": str(number)})
            assert (gone.status_code, gone.content) == (204, b"")
        assert [number for number, _ in await all_events(server, path, 6)] == [7, 8]


async def test_a_reader_that_takes_each_line_for_a_state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Read like clients of the original server: each line that is not empty is ``data: `` and a state."""
    monkeypatch.setattr("vindibot.viewer.events.QUIET_SECONDS", 0.01)
    async with serving(db=tmp_path / "a.db") as server, playing(server, "seed") as [bot]:
        await bot.join(turns=5)
        path = f"/events/{bot.game['id']}"
        reading = asyncio.create_task(bot.client.get(path))
        await until(lambda: running_feed(server, bot.game["id"], PlainEncoder).readers)
        await bot.move()
        await asyncio.sleep(0.05)  # the stream is quiet for a while
        await bot.play_on()
        lines = (await reading).text.splitlines()
        live = [json.loads(line.removeprefix("data: ")) for line in lines if line]
        assert lines.count("") > len(live), "a quiet stream shows that it lives"
        assert [state["turn"] for state in live] == list(range(1, 21))
        for archived in (False, True):
            if archived:
                server.lobby.rooms.clear()
            lines = (await bot.client.get(path)).text.splitlines()
            assert [json.loads(line.removeprefix("data: ")) for line in lines if line] == live


async def test_a_game_that_ends_by_crashes_ends_with_the_finished_state(tmp_path: Path) -> None:
    async with serving(time_limit_ms=30, db=tmp_path / "a.db") as server, match_of_four(server) as (bots, _):
        room = next(iter(server.lobby.rooms.values()))
        events = await all_events(server, f"/events/{room.id}")
        assert [(number, state["turn"]) for number, state in events] == [(1, 1), (2, 2), (3, 3), (4, 3)]
        assert [state["finished"] for _, state in events] == [False, False, False, True]
        assert await archived_events(server, room.id) == events
        assert bots


async def test_an_archived_game_is_replayed_also_after_a_restart(tmp_path: Path) -> None:
    db = tmp_path / "league.db"
    async with serving(db=db, rounds=3, keep_finished_seconds=0) as server, playing(server, *"abcd") as bots:
        games = asyncio.gather(*(bot.play(direction="South") for bot in bots))
        await until(lambda: server.lobby.rooms)
        game_id = next(iter(server.lobby.rooms))
        live = await all_events(server, f"/events/{game_id}")
        await games
        # The ratings shown stay those of then.
        await asyncio.gather(*(bot.play() for bot in bots))
        assert await all_events(server, f"/events/{game_id}") == live
    async with serving(db=db) as server:
        assert await all_events(server, f"/events/{game_id}") == live
        assert len(live) == 12
        assert live[0][1]["heroes"][0]["elo"] == 1200


# ---- Slow readers, and readers that disconnect ----


@asynccontextmanager
async def deaf_reader(server: EmbeddedServer, path: str) -> AsyncIterator[None]:
    """A reader that asks for a stream and never reads it."""
    deaf = socket.socket()
    deaf.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 2048)
    deaf.setblocking(False)
    try:
        await asyncio.get_running_loop().sock_connect(deaf, ("127.0.0.1", server.port))
        await asyncio.get_running_loop().sock_sendall(deaf, f"GET {path} HTTP/1.1\r\nHost: x\r\n\r\n".encode())
        yield
    finally:
        deaf.close()


@pytest.mark.slow_faults
async def test_a_reader_that_stops_reading_is_dropped_and_others_go_on() -> None:
    async with serving(stalled_seconds=0.2) as server, playing(server, "seed") as [bot]:
        pace = server.streams.pace
        await bot.join(turns=600, map=parse_map("@1" + " " * 52 + "@4" + "\n" * 27 + "@2" + " " * 52 + "@3").text())
        path = f"/events/{bot.game['id']}"
        async with deaf_reader(server, path):
            await until(lambda: pace.readers == 1)
            connections = len(server._asgi.server_state.connections)
            bot.start()
            await until(lambda: not pace.readers)
            assert len(server._asgi.server_state.connections) == connections - 1
        watcher = asyncio.create_task(all_events(server, path))
        await bot.ended()
        assert [number for number, _ in await watcher] == list(range(1, 2401))


async def test_events_beyond_the_buffer_are_recomputed_for_a_slow_reader(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("vindibot.server.site.feed.STORED_EVENTS", 3)
    async with serving() as server, playing(server, "seed") as [bot]:
        await bot.join(turns=30, map=MAP)
        feed = running_feed(server, bot.game["id"])

        async with aclosing(feed.follow(0, server.streams.pace)) as pieces:
            assert not await anext(pieces), "nothing comes before the first event"
            first = asyncio.ensure_future(anext(pieces))
            await rounds_of_the_loop()
            for _ in range(8):  # it has read a piece, and the game goes on without it
                await bot.move()
            seen = await first
            assert b"\nid: 1\n" in seen
            assert len(feed._events) == 3
            bot.start()
            async for piece in pieces:
                seen += piece
                await rounds_of_the_loop()
        assert re.findall(rb"\nid: (\d+)\n", seen) == [b"%d" % number for number in range(1, 121)]
        assert feed.readers == 0
        await bot.ended()


async def test_a_reader_that_disconnects_frees_its_place() -> None:
    async with serving(max_streams=2) as server, httpx.AsyncClient(base_url=server.url) as client:
        pace = server.streams.pace
        for _ in range(3):
            async with watching(server, "/now-playing") as one, watching(server, "/now-playing") as two:
                assert await anext(one) == await anext(two) == (None, [])
                full = await client.get("/now-playing")
                assert (full.status_code, full.text) == (503, "There are too many spectators, try again later")
            await until(lambda: not pace.readers)


async def test_the_end_of_the_server_ends_the_streams() -> None:
    async with serving() as server, playing(server, "seed") as [bot]:
        await bot.join(turns=5)
        await bot.move()
        async with watching(server, "/now-playing") as listing, watching(server, f"/events/{bot.game['id']}") as game:
            await anext(listing)
            for _ in range(4):
                await anext(game)
            server.lobby.close()
            server.streams.close()
            assert await anext(listing, None) is None
            assert await anext(game, None) is None
        assert (await bot.client.get("/now-playing")).status_code == 503


# ---- The lists of games ----


async def begin_arena(server: EmbeddedServer, bots: list[Bot]) -> list[asyncio.Task[None]]:
    """A game of these four; all but the first play by themselves, and the first has not moved yet."""
    first = asyncio.create_task(bots[0].join("arena"))
    await until(lambda: server.lobby.waiting)
    others = [asyncio.create_task(bot.play()) for bot in bots[1:]]
    await first
    await rounds_of_the_loop()
    return others


async def test_the_list_of_arena_games_newest_first_at_each_change() -> None:
    async with serving(rounds=2) as server, playing(server, *"abcdefgh") as bots:
        user = server.lobby.users.by_name("a")
        assert user is not None
        listing = server.streams.listing
        async with (
            watching(server, "/now-playing") as everything,
            watching(server, f"/ai/{user.id}/now-playing") as of_a,
            watching(server, "/ai/nobody00/now-playing") as of_nobody,
        ):
            assert [await anext(events) for events in (everything, of_a, of_nobody)] == [(None, [])] * 3
            await bots[0].join("training", turns=1)  # is not shown
            games: list[str] = []
            others = []
            for four in (bots[:4], bots[4:]):
                others += await begin_arena(server, four)
                assert listing.ids() == games  # not before its first ply
                await four[0].move()
                games.insert(0, four[0].game["id"])
                assert await anext(everything) == (None, games)
            assert await anext(of_a) == (None, games[1:])
            await bots[4].play_on()
            assert await anext(everything) == (None, games[1:])
            await bots[0].play_on()
            assert await anext(everything) == await anext(of_a) == (None, [])
            await asyncio.gather(*others)
            assert listing.ids() == []
