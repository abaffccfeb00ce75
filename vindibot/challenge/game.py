"""One game of a person against three bots.

The bots play as in ``vindibot play``: each bot is a `GamePlayer` over HTTP with its own worker processes. The server does not
know votes. So this module stores the ballots of the bots for the page; a ballot has all votes for one move. The person joins with
a key, like any client. The game ends early if the person leaves, does not join, or exceeds the time limit of a move.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from typing import Any

import structlog
from pydantic import SecretStr

from sim.game import SEATS, Games
from vindibot.base import derive_seed, log
from vindibot.challenge.settings import ChallengeSettings
from vindibot.client import ClientSettings
from vindibot.config import Bot, cores
from vindibot.engine import Voters, rehearse, voters
from vindibot.games import Ballot, GameState, Header, LastState, Opening, Outcome, Ply
from vindibot.server import EmbeddedServer, Match, MatchResult, Room
from vindibot.session import GamePlayer

#: Seconds that the person has to join after the bots are ready. The page joins immediately.
JOIN_SECONDS = 30.0
#: Largest number of seconds to wait until the bots have received the last state of a game.
CLOSING_SECONDS = 2.0
#: Milliseconds per move for a person who plays without a time limit: the largest limit of the server.
UNTIMED_MS = 86_400_000
#: Seconds that a bot waits for its next turn, in addition to the time limits of the other three heroes.
TIMEOUT_SECONDS = 60.0

_log = structlog.get_logger("vindibot.challenge")


@dataclass(frozen=True)
class GameSetup:
    """A requested game whose bots and map are loaded.

    `seat` is the person's hero (0..3). The bots in `bots` take the other seats in order. `first` is the state with which the game
    begins, and `opening` the part of an earlier game before it, if the game goes on from a turn. `limit_ms` is the time limit of
    the bots, in milliseconds per move.
    """

    name: str
    seat: int
    bots: tuple[Bot, Bot, Bot]
    first: Games
    limit_ms: int
    seed: int
    opening: Opening | None = None

    def names(self) -> list[str]:
        """Return the names of heroes 1..4."""
        names = [bot.name for bot in self.bots]
        names.insert(self.seat, self.name)
        return names


@dataclass(frozen=True)
class Decision:
    """A decision of a bot: the header of the bot's recording, the state before the move, and the ballot."""

    header: Header
    games: Games
    ballot: Ballot


@dataclass
class Decisions:
    """The decisions of all bots, in order of time. This class observes the `GamePlayer` of each bot."""

    made: list[Decision] = field(default_factory=list)
    over: bool = False
    _changed: asyncio.Event = field(default_factory=asyncio.Event)

    def turn(self, header: Header, state: GameState, games: Games, ballot: Ballot) -> None:
        """See `vindibot.session.player.GameObserver`."""
        self.made.append(Decision(header, games, ballot))
        self._wake()

    def played(self, ply: Ply) -> None:
        """See `vindibot.session.player.GameObserver`."""

    def finished(self, outcome: Outcome, last: LastState | None) -> None:
        """See `vindibot.session.player.GameObserver`."""

    def end(self) -> None:
        """Note that no more decisions follow."""
        self.over = True
        self._wake()

    def _wake(self) -> None:
        self._changed.set()
        self._changed.clear()

    async def after(self, count: int, seconds: float) -> Sequence[Decision]:
        """Return all decisions except the first `count`. If there are none yet, wait for the next decision or the end.

        The wait is at most `seconds` long.
        """
        if len(self.made) <= count and not self.over:
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._changed.wait(), seconds)
        return self.made[count:]


class ChallengeGame:
    """One game of a person against three bots.

    Call `prepare`, then `run`, then `close`. `leave` ends the game early. The person joins with the key `key`.
    """

    def __init__(self, server: EmbeddedServer, settings: ChallengeSettings, setup: GameSetup) -> None:
        self.setup = setup
        self.decisions = Decisions()
        self.key = SecretStr(server.register(setup.name))
        self.result: MatchResult | None = None
        self._server, self._settings = server, settings
        self._stack = AsyncExitStack()
        self._match: Match | None = None
        self._tasks: list[asyncio.Task[Any]] = []
        self._left = asyncio.Event()
        log.add_secret(self.key)

    @property
    def room(self) -> Room | None:
        """The server's room of the game; None before the game has begun."""
        return self._match.room if self._match is not None else None

    async def prepare(self) -> None:
        """Start the bots and reserve the seats. If this method raises an error, the caller must call `close`."""
        setup, settings = self.setup, self._settings
        started = [await self._start(bot) for bot in setup.bots]
        keys = [SecretStr(self._server.register(bot.name)) for bot in setup.bots]
        for key in keys:
            log.add_secret(key)
        seats = [key.get_secret_value() for key in keys]
        limits: list[int | None] = [None] * (SEATS - 1)
        seats.insert(setup.seat, self.key.get_secret_value())
        limits.insert(setup.seat, 1000 * settings.your_limit_s or UNTIMED_MS)
        self._match = self._server.lobby.arrange(
            setup.first, seats, seed=setup.seed, time_limit_ms=setup.limit_ms, seat_limits_ms=limits
        )
        for number, (bot, key, its_voters) in enumerate(zip(setup.bots, keys, started, strict=True)):
            its_voters.begin_game()
            player = self._player(bot, key, its_voters, number)
            self._tasks.append(asyncio.create_task(player.play(), name=f"vindibot-opponent-{number}"))

    async def _start(self, bot: Bot) -> Voters:
        """Start the voters of a bot, and return them. The voters run the traits of the bot."""
        pool, workers = self._settings.pool, max(1, (self._settings.pool.workers or cores()) // (SEATS - 1))
        started = voters(
            bot,
            workers=workers,
            in_process=pool.in_process,
            grace=pool.grace_ms / 1000,
            strikes=pool.strikes,
            all_prints=self._settings.log.prints == "all",
        )
        self._stack.push_async_callback(started.close)
        await started.start()
        await rehearse(started)
        return started

    def _player(self, bot: Bot, key: SecretStr, its_voters: Voters, number: int) -> GamePlayer:
        """Return the player of bot `number` (0..2)."""
        setup, settings = self.setup, self._settings
        hero = number + (number >= setup.seat)
        limit_s, your_limit_s = setup.limit_ms / 1000, settings.your_limit_s or UNTIMED_MS / 1000
        client = ClientSettings(
            server=self._server.url,
            key=key,
            mode="arena",
            time_limit=limit_s,
            move_timeout=your_limit_s + 2 * limit_s + TIMEOUT_SECONDS,
        )
        player = GamePlayer(
            client,
            bot,
            its_voters,
            seed=derive_seed(setup.seed, "bot", hero),
            margin=settings.margin_ms / 1000,
            nodes=settings.pool.nodes,
            folder=settings.recording.folder if settings.recording.enabled else None,
            observer=self.decisions,
        )
        if setup.opening is not None:
            player.go_on_after(setup.opening)
        return player

    async def run(self) -> None:
        """Wait until the game ends, or until the person leaves or does not join in time. Then store the result in `result`."""
        match = self._match
        assert match is not None
        begun, ended = asyncio.ensure_future(match.begun()), asyncio.ensure_future(match.ended())
        left = asyncio.ensure_future(self._left.wait())
        try:
            await asyncio.wait((begun, left), timeout=JOIN_SECONDS, return_when=asyncio.FIRST_COMPLETED)
            if not begun.done():
                self.leave()
            await asyncio.wait((ended, left), return_when=asyncio.FIRST_COMPLETED)
            if ended.done():
                await self._finish_recordings()
            self.result = match.result()
        finally:
            for task in (begun, ended, left):
                task.cancel()

    async def _finish_recordings(self) -> None:
        """Wait until the bots have recorded the end of the game, for at most `CLOSING_SECONDS`."""
        _, late = await asyncio.wait(self._tasks, timeout=CLOSING_SECONDS)
        for task in late:
            task.cancel()
        for problem in await asyncio.gather(*self._tasks, return_exceptions=True):
            if isinstance(problem, Exception):
                _log.warning("an opponent failed", reason=str(problem))

    def leave(self) -> None:
        """End the game early, because the person has left."""
        self._left.set()

    async def close(self) -> None:
        """End the game and its bots, and stop the worker processes of the bots."""
        self.leave()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        if self._match is not None:
            self._server.end(self._match)
        self.decisions.end()
        await self._stack.aclose()
