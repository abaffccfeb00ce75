"""Matchmaking, private matches, and the server as a guest in an event loop, over real sockets."""

from __future__ import annotations

import asyncio
import signal
from pathlib import Path
from urllib.parse import urlsplit

import httpx
import pytest

from sim.generator import generate
from tests.support.serving import (
    FORM,
    MAP,
    TIME_OUT,
    Bot,
    connection,
    playing,
    post,
    raw,
    read_response,
    rounds_of_the_loop,
    server_process,
    serving,
)
from tests.support.waiting import until
from vindibot.server.app import NO_KEY
from vindibot.server.match import MatchResult

# ---- The arena ----


async def test_four_make_an_arena_game_in_the_order_in_which_they_came() -> None:
    async with serving(rounds=2, seed=5) as server, playing(server, *"abcdefgh") as bots:
        joins = []
        for bot in bots:
            joins.append(asyncio.create_task(bot.join("arena")))
            await until(lambda: len(server.lobby.waiting) + 4 * len(server.lobby.rooms) == len(joins))
        for bot, join in zip(bots, joins, strict=True):
            await join
            bot.start("North")
        for bot in bots:
            await bot.ended()
        assert [bot.state["hero"]["name"] for bot in bots] == list("abcdefgh")
        assert [bot.state["hero"]["id"] for bot in bots] == [1, 2, 3, 4] * 2
        assert len({bot.game["id"] for bot in bots}) == 2
        assert bots[0].game["turn"] == 8
        assert {hero["elo"] for hero in bots[0].game["heroes"]} == {1200}
        assert len({hero["userId"] for hero in bots[0].game["heroes"]}) == 4


async def missing(bot: Bot) -> int | None:
    """Return the number of missing clients that the server tells a bot."""
    response = await bot.client.post("/api/waiting", data={"key": bot.key})
    assert response.status_code == 200
    answer = response.json()
    assert (await bot.client.get(answer["botUrl"])).status_code == 200
    return answer["missing"]


async def test_a_client_that_waits_can_ask_how_many_are_missing() -> None:
    async with serving(max_games=1, rounds=1) as server, playing(server, *"abcdefg") as bots:
        assert [await missing(bot) for bot in bots] == [None] * 7
        joins = []
        for count in range(1, 4):
            joins.append(asyncio.create_task(bots[count - 1].join("arena")))
            await until(lambda: len(server.lobby.waiting) == len(joins))
            assert [await missing(bot) for bot in bots[:5]] == [4 - count] * count + [None] * (5 - count)
        await bots[6].join(turns="1")  # now there is no space for another game
        for bot in bots[3:5]:
            joins.append(asyncio.create_task(bot.join("arena")))
            await until(lambda: len(server.lobby.waiting) == len(joins))
        assert [await missing(bot) for bot in bots] == [0, 0, 0, 0, 3, None, None]
        server.lobby.close()
        await asyncio.gather(*joins)


async def test_a_question_about_missing_clients_registers_no_key() -> None:
    async with serving(keys="any") as server, httpx.AsyncClient(base_url=server.url) as client:
        response = await client.post("/api/waiting", data={"key": "abcdefgh"})
        assert (response.status_code, response.json()) == (200, {"missing": None, "waitingFor": None, "botUrl": None})
        assert len(server.lobby.users) == 0
    async with serving() as server, httpx.AsyncClient(base_url=server.url) as client:
        for key, text in (("abcdefgh", "Vindinium - Key not found"), ("a", "Vindinium - Key not found"), ("", NO_KEY)):
            response = await client.post("/api/waiting", data={"key": key})
            assert (response.status_code, response.text) == (400, text)


async def test_a_client_that_has_disconnected_frees_its_place() -> None:
    async with (
        serving(rounds=1) as server,
        playing(server, "ghost", *"abcd") as [ghost, *bots],
        connection(server) as (_, leaving),
        connection(server) as (answer, fourth),
    ):
        leaving.write(post("/api/arena", f"key={ghost.key}".encode(), FORM))
        await until(lambda: server.lobby.waiting)
        joins = [asyncio.create_task(bot.join("arena")) for bot in bots[:2]]
        await until(lambda: len(server.lobby.waiting) == 3)
        # One goes, and at the same moment a fourth comes.
        leaving.close()
        fourth.write(post("/api/arena", f"key={bots[2].key}".encode(), FORM))
        await until(lambda: [claim.user.name for claim in server.lobby.waiting][2:] == ["c"])
        assert not server.lobby.rooms
        joins.append(asyncio.create_task(bots[3].join("arena")))
        for bot, join in zip((bots[0], bots[1]), joins, strict=False):
            await join
            bot.start()
        await read_response(answer)
        room = next(iter(server.lobby.rooms.values()))
        assert sorted(seat.player.name for seat in room.seats) == ["a", "b", "c", "d"]
        assert not server.lobby.waiting
        server.lobby.close()
        for task in (*joins, *(bot.task for bot in bots[:2])):
            task.cancel()


# ---- Private matches ----


async def test_a_reserved_seat_is_free_again_when_its_client_goes() -> None:
    async with serving() as server, playing(server, "one", "two") as [one, two]:
        match = server.lobby.arrange(MAP, [one.key, two.key, "random", "random"], rounds=1)
        first = asyncio.create_task(one.join("arena"))
        await until(lambda: match.missing() == ["two"])
        assert [await missing(bot) for bot in (one, two)] == [1, None]
        first.cancel()
        await until(lambda: match.missing() == ["one", "two"])
        await asyncio.gather(one.play(), two.play())
        assert (await match.ended()) is not None


async def test_a_match_has_its_own_time_limit_and_may_be_a_training_game() -> None:
    async with serving() as server, playing(server, "one") as [one]:
        match = server.lobby.arrange(MAP, ["random", one.key, "random", "random"], time_limit_ms=50, training=True)
        joined = await one.join("arena")
        assert 0 <= int(joined.headers["x-vindibot-time-limit"]) <= 50  # the time left
        result = await match.ended()
        assert result is not None
        assert (result.ending, result.turn, result.crashed) == ("all-crashed", 1, (False, True, False, False))
        assert (await one.move()).text == TIME_OUT


async def test_a_match_of_random_bots_plays_by_itself_and_is_the_same_for_a_seed() -> None:
    async def play(seed: int) -> MatchResult:
        async with serving() as server:
            result = await server.lobby.arrange(None, ["random"] * 4, rounds=50, seed=seed).ended()
        assert result is not None
        assert result.turn == len(result.moves) == 200
        return result

    first, second, other = await play(11), await play(11), await play(12)
    assert (first.moves, first.map) == (second.moves, second.map)
    assert first.map == generate(11) != other.map


# ---- The server as a guest ----


async def test_closing_answers_every_request_and_ends_every_task() -> None:
    before = asyncio.all_tasks()
    async with serving() as server, playing(server, "one", "two") as [one, two]:
        await one.join()
        waiting = asyncio.create_task(two.join("arena"))
        await until(lambda: server.lobby.waiting)
        async with asyncio.timeout(30):
            await server.__aexit__(None, None, None)
            assert (await waiting).status_code == 503
    await rounds_of_the_loop()
    assert asyncio.all_tasks() == before


async def test_nothing_secret_in_logs(capfd: pytest.CaptureFixture[str], caplog: pytest.LogCaptureFixture) -> None:
    async with serving() as server, playing(server, "one") as [bot]:
        await bot.join()
        await bot.move()
        assert (await raw(server, b"nonsense\r\n\r\n"))[0] == 400
        shown = "".join(capfd.readouterr()) + caplog.text + repr(server.lobby.users.__dict__)
        assert bot.key not in shown
        assert bot.state["token"] not in shown


@pytest.mark.slow_faults
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
async def test_a_server_that_is_told_to_end_answers_all_requests(tmp_path: Path, number: signal.Signals) -> None:
    async with (
        server_process(tmp_path / "a.db", {"keys": "any", "rounds": 300}) as (process, client),
        connection(str(client.base_url)) as (reader, writer),
    ):
        joined = await client.post("/api/training", data={"key": "abcdefgh"})
        page = await client.get(joined.json()["viewUrl"])
        assert page.status_code == 200
        waiting = asyncio.create_task(client.post("/api/arena", data={"key": "abcdefgh"}))
        while (await client.post("/api/waiting", data={"key": "abcdefgh"})).json()["missing"] != 3:
            pass  # each request waits for its answer
        process.send_signal(number)
        assert (await waiting).status_code == 503
        await asyncio.sleep(0.2)  # a request that comes a little later, on a connection that was open before
        writer.write(post(urlsplit(joined.json()["playUrl"]).path, b"dir=Stay", FORM))
        assert (await read_response(reader))[0] == 503
        writer.close()
        assert await process.wait() == 0
