"""A bout: one game of a person against three bots.

The bots play as they do in ``vindibot play``, each a `GamePlayer` over HTTP with worker processes of its own; what each of their
moves was decided by is kept here for the person to see, since the server knows nothing of votes. The person joins with a key
like any client. When he leaves, does not come, or lets the time of his seat run out, the game ends.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from typing import Any

import structlog
from pydantic import SecretStr

from sim.game import Games
from sim.maps import Map
from vindibot.base import log
from vindibot.challenge.settings import ChallengeSettings
from vindibot.client import ClientSettings
from vindibot.config import Bot, cores
from vindibot.engine import Voters, voters
from vindibot.games import Ballot, GameState, Header, LastState, Outcome
from vindibot.server import EmbeddedServer, Match, MatchResult, Room
from vindibot.session import GamePlayer

#: Seconds that a person has to join after his opponents are ready: the page does it at once.
JOIN_SECONDS = 30.0
#: Seconds that the bots have after the end of a game to see it.
FAREWELL_SECONDS = 2.0
#: Milliseconds for a move of who may think as long as he likes: the longest limit there is.
UNTIMED_MS = 86_400_000
#: Seconds by which bots wait longer for a person than he may take.
TIMEOUT_SECONDS = 60.0
SEATS = 4

_log = structlog.get_logger("vindibot.challenge")


@dataclass(frozen=True)
class BoutRequest:
    """What a person has asked for. `seat` is his hero, 0..3; `bots` take the other seats, in their order."""

    name: str
    seat: int
    bots: tuple[Bot, Bot, Bot]
    map: Map
    rounds: int
    limit_ms: int
    seed: int

    def names(self) -> list[str]:
        """The heroes' names."""
        names = [bot.name for bot in self.bots]
        return [*names[: self.seat], self.name, *names[self.seat :]]


@dataclass(frozen=True)
class Decision:
    """How a bot decided a move: the first line of its recording, the state it saw, and the ballot."""

    header: Header
    games: Games
    ballot: Ballot


@dataclass
class Decisions:
    """The bots' decisions in the order in which they were made; who reads them can wait for more. An observer of players."""

    made: list[Decision] = field(default_factory=list)
    over: bool = False
    _changed: asyncio.Event = field(default_factory=asyncio.Event)

    def turn(self, header: Header, state: GameState, games: Games, ballot: Ballot) -> None:
        """See `vindibot.session.player.GameObserver`."""
        self.made.append(Decision(header, games, ballot))
        self._wake()

    def finished(self, outcome: Outcome, last: LastState | None) -> None:
        """See `vindibot.session.player.GameObserver`."""

    def end(self) -> None:
        """There will be no more."""
        self.over = True
        self._wake()

    def _wake(self) -> None:
        self._changed.set()
        self._changed = asyncio.Event()

    async def after(self, count: int, seconds: float) -> Sequence[Decision]:
        """Those after the first `count`; if there are none yet, the next, or nothing after so many seconds or at the end."""
        if len(self.made) <= count and not self.over:
            try:
                await asyncio.wait_for(self._changed.wait(), seconds)
            except TimeoutError:
                return ()
        return self.made[count:]


class Bout:
    """See the module. `prepare` first, then `run`; `leave` ends it early. `key` is the person's, for joining the arena."""

    def __init__(self, server: EmbeddedServer, settings: ChallengeSettings, order: BoutRequest) -> None:
        self.order = order
        self.decisions = Decisions()
        self.key = SecretStr(server.register(order.name))
        self.result: MatchResult | None = None
        self._server, self._settings = server, settings
        self._stack = AsyncExitStack()
        self._match: Match | None = None
        self._players: list[GamePlayer] = []
        self._tasks: list[asyncio.Task[Any]] = []
        self._left = asyncio.Event()
        log.add_secret(self.key)

    @property
    def room(self) -> Room | None:
        """The room of the game, None before it has begun."""
        return self._match.room if self._match is not None else None

    async def prepare(self) -> None:
        """Start the bots and reserve the seats. Whatever is raised, call `close`."""
        order, settings = self.order, self._settings
        asked = [await self._start(bot) for bot in order.bots]
        keys = [SecretStr(self._server.register(bot.name)) for bot in order.bots]
        for key in keys:
            log.add_secret(key)
        seats = [key.get_secret_value() for key in keys]
        limits: list[int | None] = [None] * (SEATS - 1)
        seats.insert(order.seat, self.key.get_secret_value())
        limits.insert(order.seat, 1000 * settings.your_limit_s or UNTIMED_MS)
        self._match = self._server.lobby.arrange(
            order.map, seats, rounds=order.rounds, seed=order.seed, time_limit_ms=order.limit_ms, seat_limits_ms=limits
        )
        for number, (bot, key, own) in enumerate(zip(order.bots, keys, asked, strict=True)):
            own.begin_game()
            player = self._player(bot, key, own, number)
            self._tasks.append(asyncio.create_task(player.play(), name=f"vindibot-opponent-{number}"))

    async def _start(self, bot: Bot) -> Voters:
        pool = self._settings.pool
        asked = voters(
            bot,
            workers=max(1, (pool.workers or cores()) // (SEATS - 1)),
            in_process=pool.in_process,
            grace=pool.grace_ms / 1000,
            strikes=pool.strikes,
        )
        self._stack.push_async_callback(asked.close)
        await asked.start()
        return asked

    def _player(self, bot: Bot, key: SecretStr, asked: Voters, number: int) -> GamePlayer:
        order, settings = self.order, self._settings
        hero = number + (number >= order.seat)
        limit = settings.your_limit_s or UNTIMED_MS / 1000
        client = ClientSettings(
            server=self._server.url,
            key=key,
            mode="arena",
            time_limit=order.limit_ms / 1000,
            move_timeout=limit + 2 * order.limit_ms / 1000 + TIMEOUT_SECONDS,
        )
        return GamePlayer(
            client,
            bot,
            asked,
            seed=(order.seed + hero) % 2**63,
            margin=settings.margin_ms / 1000,
            nodes=settings.pool.nodes,
            folder=settings.recording.folder if settings.recording.enabled else None,
            observer=self.decisions,
        )

    async def run(self) -> None:
        """Play to the end, whichever it is."""
        match = self._match
        assert match is not None
        ended, left = asyncio.ensure_future(match.ended()), asyncio.ensure_future(self._left.wait())
        try:
            try:
                await asyncio.wait_for(_first(asyncio.ensure_future(match.begun()), left), JOIN_SECONDS)
            except TimeoutError:
                self.leave()
            await asyncio.wait((ended, left), return_when=asyncio.FIRST_COMPLETED)
            if ended.done():
                await self._farewell()
            self.result = match.result()
        finally:
            for task in (ended, left):
                task.cancel()

    async def _farewell(self) -> None:
        """Let the bots see the end, for the sake of their recordings."""
        _, late = await asyncio.wait(self._tasks, timeout=FAREWELL_SECONDS)
        for task in late:
            task.cancel()
        for problem in await asyncio.gather(*self._tasks, return_exceptions=True):
            if isinstance(problem, Exception):
                _log.warning("an opponent failed", reason=str(problem))

    def leave(self) -> None:
        """The person has gone: the game ends soon."""
        self._left.set()

    async def close(self) -> None:
        """End what has not ended, and let the bots' workers go."""
        self.leave()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        if self._match is not None:
            self._server.end(self._match)
        self.decisions.end()
        await self._stack.aclose()


async def _first(*waits: asyncio.Future[Any]) -> None:
    await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
