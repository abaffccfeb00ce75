"""The fillers of leagues: bots that come with vindibot and play for missing bots, as clients of the server in this process."""

from __future__ import annotations

import asyncio
import contextlib
import secrets
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from itertools import count

import structlog
from pydantic import SecretStr

from vindibot.base import log
from vindibot.base.errors import VindibotError
from vindibot.base.seeds import derive_seed
from vindibot.client.game_client import ClientSettings
from vindibot.config.bots import Bot, load_bot
from vindibot.config.files import shipped
from vindibot.config.settings import PlaySettings
from vindibot.engine.warmup import load_beside
from vindibot.games.outcome import Reason
from vindibot.league.director import Director
from vindibot.league.registry import LeagueRegistry
from vindibot.server.game_server import GameServer
from vindibot.session.player import GamePlayer, start_voters

#: Smallest number of fillers of a league. A game needs at most three of them.
FILLERS = 4
#: Seconds between two looks for new leagues, and after a failed game.
LOOK_SECONDS = 1.0
#: Seconds after which a filler asks again for a game of a league that is over.
OVER_SECONDS = 10.0
#: Largest number of seconds that a filler waits for the moves of the other heroes.
MOVE_SECONDS = 600.0

_log = structlog.get_logger("vindibot.league.filling")


@asynccontextmanager
async def filling(server: GameServer, leagues: LeagueRegistry) -> AsyncIterator[None]:
    """Let fillers play in all `leagues` of `server` that want them, within the ``async with`` block.

    The traits of each filler run in a worker process of its own. If fillers fail, random bots of the server play instead.
    """
    task = asyncio.create_task(_fill_all(server, leagues), name="vindibot-fillers")
    try:
        yield
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


async def _fill_all(server: GameServer, leagues: LeagueRegistry) -> None:
    """Start fillers for each league, also for leagues that are made later."""
    filled: set[str] = set()
    async with asyncio.TaskGroup() as group:
        while True:
            for name, director in list(leagues.directors.items()):
                if name not in filled and not director.league.over and director.league.settings.fillers:
                    filled.add(name)
                    group.create_task(_fill(server, director))
            await asyncio.sleep(LOOK_SECONDS)


async def _fill(server: GameServer, director: Director) -> None:
    """Let fillers play in one league until this task is cancelled."""
    files = [shipped(f"bots/{name}.toml") for name in director.league.settings.fillers]
    try:
        load_beside(*files)
        bots = await asyncio.to_thread(lambda: [load_bot(file) for file in files])
        async with asyncio.TaskGroup() as group:
            for number in range(max(FILLERS, len(bots))):
                group.create_task(_play(server, director, bots, number))
    except* VindibotError as problems:
        _log.error(
            "fillers cannot play; random bots play instead", league=director.league.name, reason=str(problems.exceptions[0])
        )


async def _play(server: GameServer, director: Director, bots: Sequence[Bot], number: int) -> None:
    """Let filler `number` of a league play game after game. The fillers share the `bots` among them."""
    bot = bots[number % len(bots)]
    pool, margin = PlaySettings().pool, PlaySettings().time.margin_ms
    key = SecretStr(await asyncio.to_thread(server.register, bot.name))
    log.add_secret(key)
    user = await server.lobby.user(key.get_secret_value())
    director.fillers.add(user, number % len(bots))
    client = ClientSettings(server=server.url, key=key, mode="arena", move_timeout=MOVE_SECONDS)
    async with contextlib.AsyncExitStack() as stack:
        its_voters = await start_voters(stack, bot, pool, workers=1)
        for game in count(1):
            its_voters.begin_game()
            seed = derive_seed(secrets.randbits(48), "filler", number, game)
            report = await GamePlayer(client, bot, its_voters, seed=seed, margin=margin / 1000).play()
            if report.outcome.reason is Reason.LEAGUE_OVER:
                await asyncio.sleep(OVER_SECONDS)  # the organiser may still undo an absence
            elif not report.outcome.finished:
                _log.warning("a filler could not end its game", league=director.league.name, reason=report.outcome.message)
                await asyncio.sleep(LOOK_SECONDS)
