"""The client and our own server, and a bad network between them."""

from __future__ import annotations

import random
from collections.abc import AsyncIterator

import pytest

from sim.game import Game
from tests.support.clientkit import Player, ReceivedEvents, finish, settings_for
from tests.support.faulty_proxy import FaultyProxy
from vindibot.client.game_client import GameClient
from vindibot.games.outcome import Reason
from vindibot.games.protocol import Answer
from vindibot.server.embedded import EmbeddedServer
from vindibot.server.settings import ServerSettings


@pytest.fixture
async def server() -> AsyncIterator[EmbeddedServer]:
    async with EmbeddedServer(ServerSettings(seed=1)) as running:
        yield running


async def test_a_training_game(server: EmbeddedServer) -> None:
    player, events = Player(), ReceivedEvents()
    async with GameClient(settings_for(server.url, key=server.register("one"), turns=10)) as client:
        result = await client.play(player, events)
        assert client.time_limit <= 1.0
        assert client.network_seconds > 0
    assert result.outcome.reason is Reason.FINISHED
    assert result.last is not None
    assert result.last.game.turn == 40
    assert player.turns == list(range(0, 40, 4))
    assert result.faults == 0


@pytest.mark.slow
async def test_a_bad_network_costs_no_turn(server: EmbeddedServer) -> None:
    """A third of the exchanges is cut off before, in or after the move; each decision is played exactly once."""
    rng = random.Random(4)

    class Checked(Player):
        before: Answer | None = None

        async def __call__(self, answer: Answer, games: Game, received_at: float) -> int:
            if self.decided:
                assert answer.hero.last_dir == self.decided[-1][1]
                assert answer.game.turn == self.decided[-1][0] + 4
            return await super().__call__(answer, games, received_at)

    async with FaultyProxy(server.port, rng, share=0.33) as proxy:
        player = Checked()
        result = await finish(proxy.url, player, key=server.register("one"), turns=100)
    assert result.lost_turns == 0
    assert result.faults > 10
    assert player.turns == list(range(0, 400, 4))
