"""Rooms over real sockets: turns, clocks, crashes, pace."""

from __future__ import annotations

import asyncio
import itertools
import time
from collections.abc import Callable
from contextlib import AsyncExitStack

import httpx
import pytest

from sim.game import CRASH
from tests.support.serving import (
    FINISHED,
    FORM,
    MAP,
    NOT_YOUR_TURN,
    TIME_OUT,
    WAIT,
    connection,
    match_of_four,
    playing,
    post,
    read_response,
    rounds_of_the_loop,
    serving,
)
from tests.support.waiting import until
from vindibot.base.errors import UsageError
from vindibot.server.room import Room


class Watcher:
    """Writes down what happens in the rooms, with the time."""

    def __init__(self) -> None:
        self.plies: list[tuple[float, int]] = []
        self.over: list[Room] = []
        self.handed: list[float] = []

    def began(self, room: Room) -> None:
        self.handed.append(time.monotonic())

    def played(self, room: Room, move: int) -> None:
        self.plies.append((time.monotonic(), move))

    def ended(self, room: Room) -> None:
        self.over.append(room)


# ---- Whose turn it is ----


async def test_each_answer_is_held_until_it_is_that_heros_turn() -> None:
    # A limit of the first move that is shorter than the usual one has no effect.
    async with serving(first_limit_ms=1) as server, match_of_four(server) as (bots, joins):
        assert [join.done() for join in joins] == [True, False, False, False]
        assert bots[0].game["turn"] == 0
        moves: dict[int, asyncio.Task[httpx.Response]] = {}
        for turn in range(8):
            mover, following = bots[turn % 4], bots[(turn + 1) % 4]
            move = asyncio.create_task(mover.move("Stay"))
            if turn < 3:
                await joins[turn + 1]
            else:
                await moves[(turn + 1) % 4]
            moves[turn % 4] = move
            assert not move.done()
            assert following.game["turn"] == turn + 1
            assert following.state["hero"]["id"] == (turn + 1) % 4 + 1
            assert following.state["hero"] == following.game["heroes"][(turn + 1) % 4]
            assert following.game["heroes"][turn % 4]["lastDir"] == "Stay"
            for other in bots:
                if other is not following and other.response is not None:
                    refused = await other.client.post(other.state["playUrl"], data={"dir": "North"})
                    assert (refused.status_code, refused.text) == (400, WAIT)


async def test_of_two_moves_at_once_exactly_one_is_applied() -> None:
    async with serving() as server, playing(server, "seed") as [bot]:
        await bot.join(map=MAP)
        room = next(iter(server.lobby.rooms.values()))
        path = f"/api/{room.id}/{room.seats[0].token}/play"
        for turn in range(0, 40, 4):
            async with AsyncExitStack() as stack:
                connections = [await stack.enter_async_context(connection(server)) for _ in range(3)]
                for _, writer in connections:
                    writer.write(post(path, b"dir=South", FORM))
                answers = await asyncio.gather(*(read_response(reader) for reader, _ in connections))
            assert sorted(status for status, _, _ in answers) == [200, 400, 400]
            assert {body.decode() for status, _, body in answers if status == 400} <= {WAIT, NOT_YOUR_TURN}
            assert room.turn == turn + 4


async def test_a_second_move_of_the_same_instant_does_not_count_for_the_next_turn(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("vindibot.server.room.SAME_INSTANT_SECONDS", 0.3)
    async with serving() as server, playing(server, "seed") as [bot], connection(server) as (reader, writer):
        await bot.join(map=MAP)
        room = next(iter(server.lobby.rooms.values()))
        for turn in range(0, 12, 4):
            first = asyncio.create_task(bot.move("South"))
            await until(lambda turn=turn: room.turn == turn + 4)  # the others have moved: it is this hero's turn again
            await rounds_of_the_loop()
            writer.write(post(bot.state["playUrl"].removeprefix(server.url), b"dir=North", FORM))
            status, _, body = await read_response(reader)
            assert (status, body.decode()) == (400, WAIT)
            assert not first.done()
            assert (await first).status_code == 200
        assert room.moves[0::4] == [2, 2, 2]


async def test_a_client_that_disconnected_before_its_first_turn_can_still_move() -> None:
    async with serving() as server, match_of_four(server) as (bots, joins):
        [room] = server.lobby.rooms.values()
        joins[1].cancel()
        await until(lambda: room.seats[1].waiters[0].done())
        moved = asyncio.create_task(bots[0].move())
        await until(lambda: room.turn == 1 and room._handed_out)
        move = asyncio.create_task(bots[1].client.post(f"/api/{room.id}/{room.seats[1].token}/play", data={"dir": "North"}))
        await joins[2]
        assert room.moves == [0, 1]
        server.lobby.close()
        await asyncio.gather(moved, move)


async def test_at_the_end_every_open_request_gets_the_final_state() -> None:
    watcher = Watcher()
    async with serving((watcher,)) as server, match_of_four(server, rounds=2) as (bots, joins):
        for bot, join in zip(bots, joins, strict=True):
            await join
            bot.start("West" if bot is bots[0] else "East")
        for bot in bots:
            await bot.ended()
        for index, bot in enumerate(bots):
            assert (bot.game["turn"], bot.game) == (8, bots[0].game)
            assert bot.state["hero"]["id"] == index + 1
            late = await bot.move()
            assert (late.status_code, late.text) == (400, FINISHED)
        assert [room.id for room in watcher.over] == [bots[0].game["id"]]
        assert watcher.over[0].moves == [4, 3, 3, 3] * 2


async def test_a_finished_game_is_forgotten_after_a_while() -> None:
    async with serving(keep_finished_seconds=0.05) as server, playing(server, "seed") as [bot]:
        await bot.join(turns=1)
        await bot.move()
        await until(lambda: not server.lobby.rooms)
        gone = await bot.move()
        assert (gone.status_code, gone.text) == (404, f"Vindinium - Unknown game {bot.game['id']}")
        assert (await bot.client.get(bot.state["viewUrl"])).status_code == 200  # as a record it is archived


# ---- The clock ----


@pytest.mark.slow
async def test_a_silent_bot_crashes_at_its_limit_and_training_ends() -> None:
    late, watcher = [], Watcher()
    async with serving((watcher,), time_limit_ms=100) as server, playing(server, "seed") as [bot]:
        for number in range(4):
            await bot.join(map=MAP)
            await until(lambda number=number: len(watcher.over) > number)
            late.append(watcher.plies[number][0] - watcher.handed[number] - 0.1)
            response = await bot.move()
            assert (response.status_code, response.text) == (400, TIME_OUT)
            room = watcher.over[number]
            assert room.turn == 0  # a game finished by a crash does not advance its turn
            assert (room.moves, room.ending) == ([CRASH], "all-crashed")
    assert -0.001 <= min(late) < 0.020


@pytest.mark.slow_faults
async def test_a_move_that_arrived_while_the_server_was_busy_is_in_time() -> None:
    async with (
        serving(time_limit_ms=100) as server,
        playing(server, "seed") as [bot],
        connection(server) as (reader, writer),
    ):
        await bot.join(turns=3, map=MAP)
        writer.write(post(bot.state["playUrl"].removeprefix(server.url), b"dir=North", FORM))
        time.sleep(0.25)  # noqa: ASYNC251 - the event loop hangs, with the move in the socket
        status, _, _ = await read_response(reader)
        assert status == 200


class Hanging(Watcher):
    """Lets the event loop hang between the moment when a state is handed out and the one when it is sent."""

    def played(self, room: Room, move: int) -> None:
        super().played(room, move)
        if len(self.plies) == 4:
            loop = asyncio.get_running_loop()
            loop.call_soon(loop.call_soon, time.sleep, 0.4)


@pytest.mark.slow_faults
async def test_the_clock_starts_when_the_answer_has_been_sent() -> None:
    async with serving((Hanging(),), time_limit_ms=300) as server, playing(server, "seed") as [bot]:
        await bot.join(turns=3, map=MAP)
        await bot.move()
        await asyncio.sleep(0.05)
        assert (await bot.move()).status_code == 200


@pytest.mark.slow_faults
async def test_the_arena_goes_on_without_a_crashed_hero_which_still_strikes() -> None:
    beside = "@1@2    \n        \n    []$-\n@3    @4"
    async with serving(time_limit_ms=150) as server, playing(server, "one", "two", "three", "four") as bots:
        server.lobby.arrange(beside, [bot.key for bot in bots], rounds=3)
        joins = [asyncio.create_task(bot.join("arena")) for bot in bots]
        for bot, join in zip(bots[1:], joins[1:], strict=True):  # the first is silent
            await join
            if bot is bots[3]:
                timed_out = await bots[0].move()
                assert (timed_out.status_code, timed_out.text) == (400, TIME_OUT)
            bot.start()
        for bot in bots[1:]:
            await bot.ended()
        one, two = bots[1].game["heroes"][:2]
        assert (one["crashed"], two["crashed"]) == (True, False)
        # Its crash strikes no hero; then it stays in rounds 2 and 3: two blows. Three blows of the other.
        assert two["life"] == 100 - 2 * 20 - 3
        assert one["life"] == 100 - 3 * 20 - 3
        assert server.lobby.rooms[bots[1].game["id"]].moves == [CRASH, 0, 0, 0] + [0] * 8


@pytest.mark.slow_faults
async def test_the_first_move_of_each_hero_may_have_more_time() -> None:
    async with serving(time_limit_ms=60, first_limit_ms=20_000) as server, match_of_four(server, rounds=2) as (bots, joins):
        for number, (bot, join) in enumerate(zip(bots, joins, strict=True)):
            answer = await join
            assert 0 < int(answer.headers["x-vindibot-time-limit"]) <= 60, "a client must not plan with the longer time"
            await asyncio.sleep(0.2)
            if number < 3:
                bot.start()
            else:
                assert (await bot.move()).status_code == 200  # the others were too late for their second move, or not
        room = next(iter(server.lobby.rooms.values()))
        assert room.moves[:4] == [0] * 4
        await asyncio.sleep(0.2)  # its second move has the usual time
        assert (await bots[3].move()).text in (TIME_OUT, FINISHED)


async def test_an_arena_game_is_over_when_all_have_crashed_at_their_own_limits() -> None:
    async with serving() as server, playing(server, "one", "two", "three", "four") as bots:
        for limits in ((40,) * 4, (40, 40, 40, None)):
            match = server.lobby.arrange(MAP, [bot.key for bot in bots], rounds=20, seat_limits_ms=limits)
            await asyncio.gather(*(bot.join("arena") for bot in bots))
            if None in limits:
                bots[3].start()
                await bots[3].ended()
            result = await match.ended()
            assert result is not None
            assert result.crashed == tuple(limit is not None for limit in limits)
            if None not in limits:
                assert (result.ending, result.turn, result.winner) == ("all-crashed", 3, None)
                assert result.moves == (CRASH,) * 4
        assert result.ending == "finished"
        with pytest.raises(UsageError):
            server.lobby.arrange(MAP, ["random"] * 4, seat_limits_ms=(1, 2))
        with pytest.raises(UsageError, match="seat 2") as caught:
            server.lobby.arrange(MAP, ["random", "abcdefgh", "random", "random"])
        assert "abcdefgh" not in str(caught.value)


# ---- Pace ----


async def test_the_original_pace_keeps_minimum_times() -> None:
    watcher = Watcher()
    async with serving((watcher,), pace="original") as server, playing(server, "seed") as [bot]:
        await bot.join(map=MAP)
        url = bot.state["playUrl"]
        first = asyncio.create_task(bot.move("South", turn=0))
        room = next(iter(server.lobby.rooms.values()))
        await until(lambda: room.seats[0].waiters)
        refused = await bot.client.post(url, data={"dir": "North"})
        assert (refused.status_code, refused.text) == (400, NOT_YOUR_TURN)
        repeat = await bot.client.post(url, data={"dir": "North", "turn": 0})
        assert (await first).content == repeat.content
        assert room.moves[0] == 2
        times = [watcher.handed[0], *(moment for moment, _ in watcher.plies)]
        for least, (before, after) in zip((0.060, 0.150, 0.150, 0.150), itertools.pairwise(times), strict=True):
            assert after - before >= least


class Holder:
    """A pacer that holds every ply until `release`."""

    def __init__(self) -> None:
        self.held: list[Callable[[], None]] = []

    def schedule(self, play: Callable[[], None], since: float) -> Holder:
        assert since <= asyncio.get_running_loop().time()
        self.held.append(play)
        return self

    def cancel(self) -> None:
        self.held.clear()

    async def release(self) -> None:
        await until(lambda: self.held)
        self.held.pop()()


@pytest.mark.slow_faults
async def test_a_pacer_holds_moves_and_no_move_becomes_late() -> None:
    watcher, pacer = Watcher(), Holder()
    async with serving((watcher,), time_limit_ms=100) as server, playing(server, "seed") as [bot]:
        match = server.lobby.arrange(MAP, [bot.key, "random", "random", "random"], rounds=2, pacer=pacer)
        await bot.join()
        move = asyncio.create_task(bot.move("South"))
        await until(lambda: pacer.held)
        repeat = asyncio.create_task(bot.client.post(bot.state["playUrl"], data={"dir": "North", "turn": 0}))
        await asyncio.sleep(0.15)  # longer than the time limit
        assert not watcher.plies
        for plies in range(1, 5):
            await pacer.release()
            assert len(watcher.plies) == plies
        assert (await move).content == (await repeat).content
        assert (bot.game["turn"], watcher.plies[0][1]) == (4, 2)
        move = asyncio.create_task(bot.move("North"))
        await until(lambda: pacer.held)
        server.end(match)
        await pacer.release()
        await match.ended()
        assert (await move).status_code == 200
        assert [move for _, move in watcher.plies[4:]] == [1, CRASH, CRASH, CRASH], "a move that was sent is played"
