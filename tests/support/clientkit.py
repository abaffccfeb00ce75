"""Helpers for the tests of the client: short pauses, stored events, a player."""

from __future__ import annotations

import asyncio
from typing import Any

from sim.game import Game
from tests.support.faulty_server import FaultyServer
from vindibot.client.game_client import ClientEvents, ClientResult, ClientSettings, Decide, GameClient
from vindibot.games.outcome import Reason
from vindibot.games.protocol import Answer

KEY = "k3ysecr8"


class Pauses:
    """Replaces `asyncio.sleep`: stores the requested seconds in `asked`, and waits for this time multiplied by `scale`."""

    def __init__(self, scale: float = 0.0) -> None:
        self.asked: list[float] = []
        self.scale = scale

    async def __call__(self, seconds: float) -> None:
        self.asked.append(seconds)
        await asyncio.sleep(seconds * self.scale)


class ReceivedEvents(ClientEvents):
    """Stores the events of a client."""

    def __init__(self) -> None:
        self.retries: list[tuple[str, float]] = []
        self.waits: list[float] = []
        self.games = 0
        self.waited = asyncio.Event()

    def retrying(self, problem: str, pause: float) -> None:
        self.retries.append((problem, pause))

    def waiting(self, seconds: float) -> None:
        self.waits.append(seconds)
        self.waited.set()

    def joined(self, answer: Answer) -> None:
        self.games += 1


class Player:
    """Decides North, South, East, West in turn, and stores its turns and moves. A decision takes `thinks` seconds."""

    def __init__(self, thinks: float = 0.0) -> None:
        self.turns: list[int] = []
        self.decided: list[tuple[int, str]] = []
        self.thinks = thinks

    async def __call__(self, answer: Answer, games: Game, received_at: float) -> int:
        if self.thinks:
            await asyncio.sleep(self.thinks)
        direction = 1 + len(self.turns) % 4
        self.turns.append(answer.game.turn)
        self.decided.append((answer.game.turn, ("Stay", "North", "South", "East", "West")[direction]))
        return direction


def settings_for(server: FaultyServer | str, **changes: Any) -> ClientSettings:
    """Return settings for a server or its address, with which no move is late on a busy machine."""
    url = server if isinstance(server, str) else server.url
    defaults: dict[str, Any] = {"server": url, "key": KEY, "report_every": 0.02, "move_timeout": 5.0, "time_limit": 20.0}
    values = defaults | changes
    return ClientSettings.model_validate(values)


async def play(
    server: FaultyServer | str,
    player: Decide | None = None,
    *,
    events: ReceivedEvents | None = None,
    pauses: Pauses | None = None,
    **changes: Any,
) -> ClientResult:
    """Play one game and return its result."""
    async with GameClient(settings_for(server, **changes), pause=pauses or Pauses()) as client:
        return await client.play(player or Player(), events)


async def finish(server: FaultyServer | str, player: Player | None = None, **options: Any) -> ClientResult:
    """Play one game as `play` does, to its end."""
    result = await play(server, player, **options)
    assert result.outcome.reason is Reason.FINISHED
    return result
