"""One game of people against bots.

The bots play as in ``vindibot play``: each bot is a `GamePlayer` over HTTP with its own worker processes. The server does not
know votes. So this module stores the ballots of the bots for the page; a ballot has all votes for one move. The seats of people
are taken from the beginning, and a hero stays for a turn if its person is late.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from datetime import UTC, datetime

import structlog
from pydantic import SecretStr

from sim.game import SEATS, Games
from sim.generator import derive_seed
from vindibot.base import log
from vindibot.base.writing import create
from vindibot.challenge.settings import ChallengeSettings
from vindibot.client.game_client import ClientSettings
from vindibot.config.bots import Bot
from vindibot.config.settings import cores
from vindibot.engine.agent import Voters
from vindibot.games import game_record
from vindibot.games.ballot import Ballot
from vindibot.games.files.recording import Header
from vindibot.games.game_record import GameRecord, GameRecordError
from vindibot.games.history import GameHistory
from vindibot.games.position import Position
from vindibot.games.protocol import GameState, Player
from vindibot.server.embedded import EmbeddedServer
from vindibot.server.match import Match, MatchResult
from vindibot.server.room import Room
from vindibot.session.player import GameObserver, GamePlayer, Report, finish_opponents, start_voters
from vindibot.viewer.bundle import Bundle, empty_bundle

#: Seconds that the bots have to join after they are ready. They join immediately.
JOIN_SECONDS = 30.0
#: Seconds that a bot waits for its next turn, in addition to the time limits of the other three heroes.
TIMEOUT_SECONDS = 60.0

_log = structlog.get_logger("vindibot.challenge")


@dataclass(frozen=True)
class GameSetup:
    """A requested game whose bots and map are loaded.

    `players` are the players of heroes 1..4: the name of a person, or a bot. `first` is the state with which the game begins, and
    `opening` the part of an earlier game before it, if the game goes on from a turn. `limit_ms` is the time limit of the bots,
    and `person_limit_ms` that of each person, in milliseconds per move.
    """

    players: tuple[str | Bot, ...]
    first: Games
    limit_ms: int
    person_limit_ms: int
    seed: int
    opening: Position | None = None

    def names(self) -> list[str]:
        """Return the names of heroes 1..4."""
        return [player if isinstance(player, str) else player.name for player in self.players]

    @property
    def people(self) -> dict[int, str]:
        """The names of the people by their heroes (0..3)."""
        return {hero: player for hero, player in enumerate(self.players) if isinstance(player, str)}

    @property
    def bots(self) -> dict[int, Bot]:
        """The bots by their heroes (0..3)."""
        return {hero: player for hero, player in enumerate(self.players) if not isinstance(player, str)}


@dataclass(frozen=True)
class Decision:
    """A decision of a bot: the header of the bot's recording, the state before the move, and the ballot."""

    header: Header
    games: Games
    ballot: Ballot


@dataclass
class Decisions(GameObserver):
    """The decisions of all bots, in order of time. They observe the `GamePlayer` of each bot."""

    made: list[Decision] = field(default_factory=list)
    over: bool = False
    _changed: asyncio.Event = field(default_factory=asyncio.Event)

    def turn(self, header: Header, state: GameState, games: Games, ballot: Ballot) -> None:
        """See `GameObserver`."""
        self.made.append(Decision(header, games, ballot))
        self._wake()

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
    """One game of people against bots.

    Call `prepare`, then `run`, then `close`. `leave` ends the game early. `closed` is set when the game has ended and `close` is
    done.
    """

    def __init__(self, server: EmbeddedServer, settings: ChallengeSettings, setup: GameSetup) -> None:
        self.setup = setup
        self.decisions = Decisions()
        self.result: MatchResult | None = None
        self.closed = asyncio.Event()
        self._server, self._settings = server, settings
        self._started = datetime.now(UTC)
        self._stack = AsyncExitStack()
        self._match: Match | None = None
        self._tasks: list[asyncio.Task[Report]] = []
        self._left = asyncio.Event()

    @property
    def room(self) -> Room | None:
        """The server's room of the game; None before the game has begun."""
        return self._match.room if self._match is not None else None

    def bundle(self, hero: int | None) -> Bundle:
        """Return the bundle (docs/viewer-format.md) of the game without its plies, for the person who plays `hero`.

        None stands for a spectator.
        """
        setup = self.setup
        people, bots = list(setup.people.values()), [bot.name for bot in setup.bots.values()]
        players = [Player(name) for name in setup.names()]
        history = GameHistory("", players, hero, first=setup.first, limit_ms=setup.limit_ms)
        title = " against ".join(", ".join(names) for names in (people, bots) if names)
        return empty_bundle(history, title=title, source="server", live=True)

    async def prepare(self) -> None:
        """Start the bots and reserve the seats. If this method raises an error, the caller must call `close`."""
        setup = self.setup
        started = {hero: await self._start(bot) for hero, bot in setup.bots.items()}
        keys = [SecretStr(self._server.register(name)) for name in setup.names()]
        for key in keys:
            log.add_secret(key)
        limits = [setup.person_limit_ms if hero in setup.people else None for hero in range(SEATS)]
        seats = [key.get_secret_value() for key in keys]
        self._match = self._server.lobby.arrange(
            setup.first, seats, seed=setup.seed, time_limit_ms=setup.limit_ms, seat_limits_ms=limits
        )
        for hero in tuple(setup.people):
            await self._server.join(seats[hero])
        for hero, bot in setup.bots.items():
            started[hero].begin_game()
            player = self._player(bot, keys[hero], started[hero], hero)
            self._tasks.append(asyncio.create_task(player.play(), name=f"vindibot-opponent-{hero + 1}"))

    async def _start(self, bot: Bot) -> Voters:
        """Start the voters of a bot, and return them. The voters run the traits of the bot."""
        pool, bots = self._settings.pool, len(self.setup.bots)
        workers, all_prints = max(1, (pool.workers or cores()) // bots), self._settings.log.prints == "all"
        return await start_voters(self._stack, bot, pool, workers=workers, all_prints=all_prints)

    def _player(self, bot: Bot, key: SecretStr, its_voters: Voters, hero: int) -> GamePlayer:
        """Return the player of the bot of a hero (0..3)."""
        setup, settings = self.setup, self._settings
        longest_ms = len(setup.people) * setup.person_limit_ms + (len(setup.bots) - 1) * setup.limit_ms
        client = ClientSettings(
            server=self._server.url,
            key=key,
            mode="arena",
            time_limit=setup.limit_ms / 1000,
            move_timeout=longest_ms / 1000 + TIMEOUT_SECONDS,
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
        """Wait until the game ends, or until somebody ends it. Then store the result in `result`, None if the game has no result.

        The game also ends if a bot does not join in time. If no bot records the game, store a record of the game.
        """
        match = self._match
        assert match is not None
        begun, ended = asyncio.ensure_future(match.begun()), asyncio.ensure_future(match.ended())
        left = asyncio.ensure_future(self._left.wait())
        try:
            await asyncio.wait((begun, left), timeout=JOIN_SECONDS, return_when=asyncio.FIRST_COMPLETED)
            if not begun.done():
                self.leave()
            elif match.room is not None:
                for hero in self.setup.people:
                    match.room.seats[hero].stays_when_late = True
            await asyncio.wait((ended, left), return_when=asyncio.FIRST_COMPLETED)
            if ended.done():
                await finish_opponents(self._tasks)  # so that the bots have recorded the end of the game
            self.result = match.result()
        finally:
            for task in (begun, ended, left):
                task.cancel()
            if not self.setup.bots:
                self._store_record()

    def _store_record(self) -> None:
        """Write the record of the game, as far as it was played, to a file in the folder of recordings."""
        room, recording = self.room, self._settings.recording
        if room is None or not recording.enabled:
            return
        path = recording.folder / f"{self._started:%Y%m%d-%H%M%S}-people-{room.id}.jsonl"
        try:
            record = GameRecord.of(
                room.history.first,
                id=room.id,
                names=tuple(self.setup.names()),
                moves=room.moves,
                ending=room.ending,
                started=self._started,
                finished=datetime.now(UTC),
            )
            recording.folder.mkdir(parents=True, exist_ok=True)
            create(path, game_record.dumps(record) + b"\n")
        except (OSError, GameRecordError) as problem:
            _log.warning("this game is not recorded", reason=str(problem))

    def leave(self) -> None:
        """End the game early."""
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
        try:
            await self._stack.aclose()
        finally:
            self.closed.set()
