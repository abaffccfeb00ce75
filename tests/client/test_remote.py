"""Faults of a server far away, which no socket on this machine has: routes, proxies, TLS, and answers that only libraries see.

httpx is events what its network did (respx). What a real socket can do is tried with one in the other tests of the client.
"""

from __future__ import annotations

import json
import ssl
from collections.abc import Iterator
from typing import Any

import httpx
import pytest
import respx
from structlog.testing import capture_logs
from structlog.typing import EventDict

from tests.support.clientkit import KEY, Player, ReceivedEvents, finish
from tests.support.faulty_server import GAME, TOKEN, FaultyServer

#: An address for documentation: nothing is ever sent there, and it needs no look-up.
URL = "http://192.0.2.7:9000"
PLAY_PATH = f"/api/{GAME}/{TOKEN}/play"


def state(turn: int) -> dict[str, Any]:
    """The state of the small game of `FaultyServer` at a turn."""
    return json.loads(FaultyServer()._state("192.0.2.7:9000", turn=turn))


class Network:
    """A game of 20 plies on a server far away; `faults` are raised or answered first, one per move."""

    def __init__(self, router: respx.Router) -> None:
        self.faults: list[Exception | httpx.Response] = []
        self.turn = 0
        router.get("/").respond(200, text="hello")
        self.joins = router.post("/api/training").mock(side_effect=self._join)
        self.moves = router.post(PLAY_PATH).mock(side_effect=self._move)

    def _join(self, request: httpx.Request) -> httpx.Response:
        self.turn = 0
        return httpx.Response(200, json=state(0))

    def _move(self, request: httpx.Request) -> httpx.Response:
        if self.faults:
            fault = self.faults.pop(0)
            if isinstance(fault, Exception):
                raise fault
            return fault
        self.turn += 4
        return httpx.Response(200, json=state(self.turn))


def problem_in(logs: list[EventDict]) -> str:
    """Return the problem that the log names for the first reply that was lost or invalid."""
    return next(str(line["problem"]) for line in logs if "problem" in line)


@pytest.fixture
def network() -> Iterator[Network]:
    with respx.mock(base_url=URL, assert_all_called=False) as router:
        yield Network(router)


@pytest.mark.parametrize(
    ("fault", "words"),
    [
        (httpx.ConnectError("All connection attempts failed"), "All connection attempts failed"),
        (httpx.ProxyError("502 Bad Gateway"), "502 Bad Gateway"),
        (httpx.ReadError(str(ssl.SSLError(1, "bad record mac"))), "bad record mac"),
        (httpx.RemoteProtocolError("peer sent an illegal status line"), "illegal status line"),
        (httpx.ReadError(f"POST {URL}{PLAY_PATH} key={KEY}"), "/api/game0001/********/play"),
        (httpx.Response(520, html="<html>origin error</html>"), "error</html>' (status 520)"),
        (httpx.Response(204), "status 204 without text"),
    ],
    ids=lambda value: type(value).__name__ if isinstance(value, Exception) else "",
)
async def test_a_fault_of_the_network_is_reported_and_loses_no_game(network: Network, fault: Any, words: str) -> None:
    network.faults = [fault]
    player = Player()
    with capture_logs() as logs:
        result = await finish(URL, player)
    assert result.faults == 1
    assert words in problem_in(logs)
    assert player.turns == [0, 4, 8, 12, 16]
    everything = repr(result) + problem_in(logs)
    assert KEY not in everything
    assert TOKEN not in everything


async def test_a_network_that_comes_back_is_joined(network: Network) -> None:
    network.joins.mock(
        side_effect=[httpx.ConnectError("no route"), httpx.ConnectTimeout("slow"), httpx.Response(200, json=state(0))]
    )
    events = ReceivedEvents()
    result = await finish(URL, events=events)
    assert result.faults == 0
    assert [problem.split(" to ")[0] for problem, _ in events.retries] == ["cannot connect", "no connection"]
