"""The host of challenges: it starts the bots that play against visitors of the page, and keeps the games."""

from __future__ import annotations

import asyncio
import contextlib
import secrets
from collections.abc import AsyncIterator, Callable

import structlog

from vindibot.base.errors import UsageError, VindibotError
from vindibot.base.text import counted
from vindibot.challenge.game import UNTIMED_MS, ChallengeGame, GameSetup
from vindibot.challenge.offers import Offers
from vindibot.challenge.settings import ChallengeSettings, GameRequest
from vindibot.config.bots import Bot, load_bot
from vindibot.games.outcome import result_text
from vindibot.server.embedded import EmbeddedServer
from vindibot.server.room import Room, RoomObserver

#: Largest number of stored games. If there are more, the oldest are removed.
MAX_GAMES = 32
_log = structlog.get_logger("vindibot.challenge")


class Host(RoomObserver):
    """The games of one command ``vindibot challenge``.

    `note` is called with a line of text when a game has ended.
    """

    def __init__(self, settings: ChallengeSettings, offers: Offers, note: Callable[[str], None]) -> None:
        self.settings, self.offers = settings, offers
        self._note = note
        self._server: EmbeddedServer | None = None
        self._games: dict[str, ChallengeGame] = {}
        self._tasks: dict[ChallengeGame, asyncio.Task[None]] = {}
        self._preparing = 0
        self._loading = asyncio.Lock()

    # -- games --

    async def begin(self, request: GameRequest) -> ChallengeGame:
        """Begin the game of a person who plays alone. See `start`."""
        return await self.start(lambda: self._load(request))

    async def start(self, load: Callable[[], GameSetup]) -> ChallengeGame:
        """Start the bots of a game and reserve the seats. Return the game. `load` loads the bots and the map, in a thread.

        Raises `VindibotError` if too many games run already, or if a bot or the map cannot be loaded.
        """
        if len(self._tasks) + self._preparing >= self.settings.games:
            limit = counted(self.settings.games, "game")
            raise VindibotError(f"no more than {limit} can run here at once: try again when a game has ended")
        self._preparing += 1
        try:
            async with self._loading:  # loading a bot adds its folders to the import path of this process
                setup = await asyncio.to_thread(load)
            return await self._prepare(setup)
        finally:
            self._preparing -= 1

    def _load(self, request: GameRequest) -> GameSetup:
        if request.limit_ms <= self.settings.margin_ms:
            margin = f"{self.settings.margin_ms:.0f} ms"
            raise UsageError(f"the bots leave {margin} of each move unused, for safety: give them more than that")
        players: list[str | Bot] = [load_bot(self.offers.bot(offer).path) for offer in request.bots]
        players.insert(request.hero - 1, request.name)
        first, opening = self.offers.first(
            request.map, [request.hero - 1], rounds=request.rounds, seed=request.map_seed, size=request.size
        )
        return GameSetup(
            players=tuple(players),
            first=first,
            opening=opening,
            limit_ms=request.limit_ms,
            person_limit_ms=1000 * self.settings.your_limit_s or UNTIMED_MS,
            seed=self.new_seed(),
        )

    def new_seed(self) -> int:
        """Return the seed of the bots for a new game."""
        return self.settings.seed if self.settings.seed is not None else secrets.randbits(48)

    async def _prepare(self, setup: GameSetup) -> ChallengeGame:
        assert self._server is not None
        game = ChallengeGame(self._server, self.settings, setup)
        try:
            await game.prepare()
        except BaseException:
            await game.close()
            raise
        self._games[game.secret] = game
        self._tasks[game] = asyncio.create_task(self._play(game), name="vindibot-challenge")
        while len(self._games) > MAX_GAMES:
            del self._games[next(iter(self._games))]
        return game

    async def _play(self, game: ChallengeGame) -> None:
        try:
            await game.run()
        except Exception as problem:
            _log.error("a game failed", reason=f"{type(problem).__name__}: {problem}")
        finally:
            await game.close()
            del self._tasks[game]
        self._note(result_line(game))

    def game(self, secret: str) -> ChallengeGame | None:
        """Return the game with this secret; None if there is no such game."""
        return self._games.get(secret)

    # -- events of the rooms --

    def played(self, room: Room, move: int) -> None:
        """See `RoomObserver`. Ends the game if the heroes of all people have crashed, because a crashed hero cannot come back."""
        for game in self._tasks:
            if game.room is room and all(room.crashed(room.seats[hero]) for hero in game.setup.people):
                game.leave(late=True)

    @contextlib.asynccontextmanager
    async def playing_on(self, server: EmbeddedServer) -> AsyncIterator[None]:
        """Play the games on `server` within the ``async with`` block. All games end when the block ends."""
        self._server = server
        try:
            yield
        finally:
            for game in self._games.values():
                game.decisions.end()
            tasks = list(self._tasks.values())
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)


def result_line(game: ChallengeGame) -> str:
    """Return a line for the terminal about the end of a game."""
    result, people = game.result, game.setup.people
    if result is None:
        if game.setup.together:
            return "the game was ended early"
        return f"{people[game.setup.seat]} left" if game.room is not None else f"{people[game.setup.seat]} did not join"
    best = max(range(len(result.gold)), key=lambda hero: result.gold[hero])
    rivals = list(zip(result.names, result.gold, strict=True))
    name, gold = rivals.pop(best if game.setup.together else game.setup.seat)
    return f"game {result.game_id}: {result_text(name, gold, rivals)}"
