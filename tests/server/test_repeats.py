"""Moves that name their turn, over real sockets: repeats are answered and not played again."""

from __future__ import annotations

import asyncio

from tests.support.serving import FINISHED, MAP, NOT_YOUR_TURN, match_of_four, playing, serving
from tests.support.waiting import until


async def test_a_repeat_is_answered_like_the_first_and_not_played_again() -> None:
    async with serving() as server, playing(server, "seed") as [bot]:
        await bot.join(map=MAP)
        room = next(iter(server.lobby.rooms.values()))
        first = await bot.client.post(bot.state["playUrl"], data={"dir": "South", "turn": 0})
        for direction in ("South", "North"):
            repeat = await bot.client.post(bot.state["playUrl"], data={"dir": direction, "turn": 0})
            assert repeat.status_code == 200
            assert repeat.content == first.content
            assert 0 < int(repeat.headers["x-vindibot-time-limit"]) <= 20_000
        assert room.turn == 4
        assert room.moves[0::4] == [2]


async def test_repeats_that_wait_are_all_answered() -> None:
    async with serving() as server, match_of_four(server, rounds=2) as (bots, joins):
        url = bots[0].state["playUrl"]
        sent = [asyncio.create_task(bots[0].client.post(url, data={"dir": "East", "turn": 0})) for _ in range(3)]
        for bot, join in zip(bots[1:], joins[1:], strict=True):
            await join
            bot.start()
        answers = await asyncio.gather(*sent)
        assert {answer.status_code for answer in answers} == {200}
        assert {answer.json()["game"]["turn"] for answer in answers} == {4}
        bots[0].response = answers[0]
        await bots[0].play_on()
        for answer in await asyncio.gather(*(bots[0].move(turn=turn) for turn in (0, 4))):
            assert answer.json()["game"]["finished"]
        assert (await bots[0].move()).text == FINISHED
        for bot in bots[1:]:
            await bot.ended()


async def test_too_many_repeats_send_the_oldest_away() -> None:
    async with serving() as server, match_of_four(server) as (bots, _):
        url = bots[0].state["playUrl"]
        async with asyncio.TaskGroup() as group:
            sent = [group.create_task(bots[0].client.post(url, data={"dir": "East", "turn": 0})) for _ in range(7)]
            await until(lambda: sum(task.done() for task in sent) == 3)
            server.lobby.close()
        assert sorted((task.result().status_code, task.result().text) for task in sent) == [
            *[(400, NOT_YOUR_TURN)] * 3,
            *[(503, "Vindinium - The server is closing")] * 4,
        ]


async def test_a_move_for_another_turn_is_refused() -> None:
    async with serving() as server, playing(server, "seed") as [bot]:
        await bot.join(map=MAP)
        for turn in (1, 2, 4, 400, -4):
            refused = await bot.client.post(bot.state["playUrl"], data={"dir": "South", "turn": turn})
            assert (refused.status_code, refused.text) == (400, NOT_YOUR_TURN)
        for text in ("x", "", "0.5"):  # no number: a client that means something else by it
            bot.response = await bot.client.post(bot.state["playUrl"], data={"dir": "South", "turn": text})
            assert bot.response.status_code == 200
