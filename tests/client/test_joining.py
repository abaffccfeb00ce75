"""Joining: the rows of the faults that a server or the network can have before a game begins."""

from __future__ import annotations

import asyncio
import random
import socket
import threading
import time

import pytest

from tests.support.clientkit import KEY, Pauses, Player, ReceivedEvents, finish, play, settings_for
from tests.support.faulty_server import Fault, FaultyServer
from vindibot.base.errors import UsageError
from vindibot.client import transport
from vindibot.client.game_client import GameClient
from vindibot.games.outcome import Reason
from vindibot.server.embedded import EmbeddedServer
from vindibot.server.settings import ServerSettings


def free_port() -> int:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return int(listener.getsockname()[1])


async def test_joins_and_plays_to_the_end() -> None:
    events, player = ReceivedEvents(), Player()
    async with FaultyServer(plies=12) as server:
        result = await finish(server, player, events=events, turns=3, map="m1")
        await play(server, mode="arena", turns=3, map="m1")
    assert result.outcome.exit_code == 0
    assert result.last is not None
    assert result.last.game.turn == 12
    assert player.turns == [0, 4, 8]
    assert server.moves[:3] == player.decided
    assert (result.faults, events.games) == (0, 1)
    # The key is in the joining request only, and the arena chooses length and map.
    assert [form for form in server.forms if "dir" not in form[1]] == [
        ("/api/training", {"key": KEY, "turns": "3", "map": "m1"}),
        ("/api/arena", {"key": KEY}),
    ]
    assert all(form == {"dir": direction} for (_, form), (_, direction) in zip(server.forms[1:4], player.decided, strict=True))
    assert server.connections == 2, "one for each game"


async def test_a_game_on_our_own_server() -> None:
    player = Player()
    async with (
        EmbeddedServer(ServerSettings()) as server,
        GameClient(settings_for(server.url, key=server.register("one"), turns=10)) as client,
    ):
        result = await client.play(player)
    assert client.time_limit <= 1.0
    assert client.network_seconds > 0
    assert result.outcome.reason is Reason.FINISHED
    assert player.turns == list(range(0, 40, 4))
    assert result.faults == 0


async def test_the_time_limit_is_the_servers_or_the_configured_one() -> None:
    async with (
        FaultyServer(plies=4, understands_turn=True, limit=0.75) as server,
        GameClient(settings_for(server, time_limit=2.0)) as client,
    ):
        assert client.time_limit == 2.0
        await client.play(Player())
        assert client.time_limit == 0.75


async def test_refused_connections_are_retried_with_growing_pauses() -> None:
    port = free_port()
    server, events, pauses = FaultyServer(plies=4), ReceivedEvents(), Pauses()

    async def pause(seconds: float) -> None:
        await pauses(seconds)
        if len(pauses.asked) == 8:
            await server.start(port)

    settings = settings_for(f"http://127.0.0.1:{port}", connect_timeout=600)
    async with GameClient(settings, pause=pause, rng=random.Random(7)) as client:
        result = await client.play(Player(), events)
    await server.__aexit__(None, None, None)
    assert result.outcome.reason is Reason.FINISHED
    assert len(pauses.asked) == 8
    assert pauses.asked[0] == 0.25
    assert all(0.25 <= pause <= 30 for pause in pauses.asked)
    assert all(2**step / 8 <= pause <= 2**step / 4 for step, pause in enumerate(pauses.asked) if 0 < step < 7)
    assert pauses.asked != [min(30, 0.25 * 2**step) for step in range(8)]  # they are jittered
    assert [pause for _, pause in events.retries] == pauses.asked
    assert all("connection refused" in problem for problem, _ in events.retries)


async def test_joining_ends_after_the_time_limit() -> None:
    pauses, began = Pauses(), time.monotonic()
    result = await play(f"http://127.0.0.1:{free_port()}", pauses=pauses, connect_timeout=5)
    assert result.outcome.reason is Reason.UNREACHABLE
    assert result.outcome.exit_code == 1
    assert result.last is None
    assert 5 <= sum(pauses.asked) + time.monotonic() - began  # time that passes counts like a pause
    assert sum(pauses.asked) < 15
    assert "connection refused" in result.outcome.message


async def test_an_unknown_host_name_is_reported() -> None:
    result = await play("http://no-such-host.invalid", connect_timeout=0)
    assert result.outcome.reason is Reason.UNREACHABLE
    assert "name cannot be looked up" in result.outcome.message


async def test_cancelling_ends_a_look_up_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    asked, answer = threading.Event(), threading.Event()

    def slow(*arguments: object, **more: object) -> list[object]:
        asked.set()
        answer.wait(30)
        return []

    monkeypatch.setattr(transport.socket, "getaddrinfo", slow)
    task = asyncio.create_task(play("http://slow.invalid"))
    assert await asyncio.to_thread(asked.wait, 10)
    [thread] = [thread for thread in threading.enumerate() if thread.name == "look-up"]
    assert thread.daemon, "the program need not wait for it"
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    answer.set()
    thread.join(5)


@pytest.mark.parametrize("how", ["cancel", "stop"])
@pytest.mark.parametrize("where", ["in a pause", "waiting for opponents"])
async def test_joining_can_be_ended_at_once(where: str, how: str) -> None:
    pausing, events = asyncio.Event(), ReceivedEvents()

    async def pause(seconds: float) -> None:
        pausing.set()
        await asyncio.sleep(3600)

    fault = Fault("reset" if where == "in a pause" else "hang")
    async with (
        FaultyServer(joins={1: fault}) as server,
        GameClient(settings_for(server, mode="arena"), pause=pause) as client,
    ):
        task = asyncio.create_task(client.play(Player(), events))
        await (pausing if where == "in a pause" else events.waited).wait()
        if how == "cancel":
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
        else:
            client.stop_after_turn()
            outcome = (await task).outcome
            assert (outcome.reason, outcome.exit_code) == (Reason.INTERRUPTED, 130)


async def test_waiting_for_a_join_has_a_time_limit() -> None:
    events = ReceivedEvents()
    async with FaultyServer(joins={1: Fault("hang")}) as server:
        result = await play(server, events=events, join_timeout=0.5)
    assert result.outcome.reason is Reason.NO_GAME
    assert events.waits == sorted(events.waits)
    assert server.joins == 1


@pytest.mark.parametrize(
    "fault",
    [
        Fault("reset"),
        Fault("cut", "after"),
        Fault("page"),
        Fault("text", body='{"game": {"id": "gam'),
        Fault("status", status=502, body="Bad Gateway"),
        Fault("status", status=500, body="Action not found"),
        Fault("status", status=520, body="<html>the server is down</html>"),
    ],
    ids=lambda fault: f"{fault.kind}-{fault.status}",
)
async def test_a_join_is_repeated_after_a_temporary_fault(fault: Fault) -> None:
    events = ReceivedEvents()
    async with FaultyServer(joins={1: fault}, plies=4) as server:
        await finish(server, events=events)
    assert server.joins == 2
    assert len(events.retries) == 1


@pytest.mark.parametrize(
    ("status", "stated", "least"),
    [
        (429, {"Retry-After": "7"}, 7),
        (503, {"Retry-After": "Thu, 01 Jan 2015 10:00:20 GMT", "Date": "Thu, 01 Jan 2015 10:00:09 GMT"}, 11),
        (503, {"Retry-After": "soon"}, 0.25),
    ],
)
async def test_retry_after_is_honoured(status: int, stated: dict[str, str], least: float) -> None:
    pauses = Pauses()
    async with FaultyServer(joins={1: Fault("status", status=status, headers=stated)}, plies=4) as server:
        await finish(server, pauses=pauses)
    assert pauses.asked == [least]


def ill(path: str, value: object) -> Fault:
    """A state in which a field has another value, or is missing."""
    return Fault("state", changes={path: value})


@pytest.mark.parametrize(
    ("fault", "reason", "joins", "words"),
    [
        (Fault("status", status=400, body="Vindinium - Key not found"), Reason.REFUSED, 1, "Vindinium - Key not found"),
        (Fault("status", status=400, body="Vindinium - The league is over"), Reason.LEAGUE_OVER, 1, "has no more games"),
        (Fault("status", status=404, body="<html>Not found</html>"), Reason.REFUSED, 1, "<html>Not found</html>"),
        (Fault("status", status=405), Reason.REFUSED, 1, "status 405"),
        (Fault("status", status=511, body="Log in first"), Reason.REFUSED, 1, "Log in first"),
        (
            Fault("status", status=307, headers={"Location": f"http://elsewhere.invalid/?key={KEY}"}),
            *(Reason.REFUSED, 1, "it redirects to 'http://elsewhere.invalid"),
        ),
        (Fault("status", headers={"Retry-After": "9" * 40}), Reason.UNREACHABLE, 1, "asks to come back"),
        (Fault("status", status=500, body="<html>Oops</html>"), Reason.REFUSED, 3, "map"),
        (Fault("page"), Reason.PROTOCOL_ERROR, 3, "Log in to the guest network"),
        (ill("game.heroes.2.life", "much"), Reason.PROTOCOL_ERROR, 1, "game.heroes[2].life"),
        (ill("game.board.tiles", ...), Reason.PROTOCOL_ERROR, 1, "game.board.tiles"),
        (ill("playUrl", "http://[1/x"), Reason.PROTOCOL_ERROR, 1, "playUrl"),
        (ill("playUrl", "http://host/api/../x y"), Reason.PROTOCOL_ERROR, 1, "playUrl"),
    ],
    ids=lambda value: value.kind if isinstance(value, Fault) else "",
)
async def test_a_permanent_fault_ends_joining_and_is_named(fault: Fault, reason: Reason, joins: int, words: str) -> None:
    async with FaultyServer(joins=dict.fromkeys(range(1, 9), fault)) as server:
        result = await play(server, map="#!")
    assert result.outcome.reason is reason
    assert result.outcome.exit_code == (0 if reason is Reason.LEAGUE_OVER else 1)
    assert server.joins == joins
    assert words in result.outcome.message
    assert KEY not in result.outcome.message


async def test_moves_stay_on_the_configured_origin() -> None:
    async with FaultyServer(plies=8) as other, FaultyServer(plies=8, host=f"127.0.0.1:{other.port}") as server:
        await finish(server)
    assert other.connections == 0
    assert len(server.moves) == 2


async def test_a_server_below_a_path() -> None:
    async with FaultyServer(joins={1: Fault("status", status=400, body="no")}) as server:
        await play(f"{server.url}/games/")
    assert server.forms[0][0] == "/games/api/training"


async def test_no_key_is_sent_to_the_old_domain() -> None:
    for url in ("http://vindinium.org", "https://www.VINDINIUM.org:8080/", "vindinium.org."):
        with pytest.raises(UsageError, match="no longer belongs") as caught:
            GameClient(settings_for(url))
        assert caught.value.exit_code == 2
        GameClient(settings_for(url, allow_old_domain=True))
    for url in ("myvindinium.org", "vindinium.org.example", "vindinium.com"):
        GameClient(settings_for(url))


async def test_a_slow_idle_request_does_not_prevent_joining(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("vindibot.client.api.IDLE_WITHIN", transport.Within(head=0.05))

    class Mute(FaultyServer):
        async def _write(self, writer, status, body, more=None):
            if b"hello" in body:
                await asyncio.sleep(3600)
            return await super()._write(writer, status, body, more)

    async with Mute(plies=4) as server:
        await finish(server)
