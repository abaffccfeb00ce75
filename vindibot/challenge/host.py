"""The host of challenges: it starts the bots that play against visitors of the page, and keeps the people and their games."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable

import structlog

from vindibot.base.errors import UsageError, VindibotError
from vindibot.base.text import counted
from vindibot.challenge.game import ChallengeGame, GameSetup
from vindibot.challenge.offers import Offers
from vindibot.challenge.people import People
from vindibot.challenge.settings import ChallengeSettings, GameChoice, GameRequest
from vindibot.games.outcome import result_text
from vindibot.server.embedded import EmbeddedServer

#: Largest number of links of people who play alone. If there are more, the oldest are removed.
MAX_LINKS = 32
_log = structlog.get_logger("vindibot.challenge")


class Host:
    """The games of one command ``vindibot challenge``.

    `note` is called with a line of text when a game has ended. `people` are the people of the one game that the command has, None
    if each visitor plays alone.
    """

    def __init__(self, settings: ChallengeSettings, offers: Offers, note: Callable[[str], None]) -> None:
        self.settings, self.offers = settings, offers
        self._note = note
        self._server: EmbeddedServer | None = None
        self._links: dict[str, People] = {}
        self._tasks: dict[ChallengeGame, asyncio.Task[None]] = {}
        self._preparing = 0
        self._loading = asyncio.Lock()
        self.people: People | None = None
        if settings.people > 1:
            choice = GameChoice(map=offers.first_map, rounds=settings.rounds, limit_ms=settings.limit_ms)
            self.people = People(settings, offers, self._start, choice, offers.heroes_of(settings.people))

    async def begin(self, request: GameRequest) -> People:
        """Begin the first game of a person who plays alone. Return this person's game.

        Raises `VindibotError` if too many games run already, or if a bot or the map cannot be loaded.
        """
        if self.people is not None:
            raise UsageError("on this server, several people play one game: ask for a link")
        if request.limit_ms <= self.settings.margin_ms:
            margin = f"{self.settings.margin_ms:.0f} ms"
            raise UsageError(f"the bots leave {margin} of each move unused, for safety: give them more than that")
        people = People(self.settings, self.offers, self._start, request, [request.hero - 1], request.name)
        people.seen(people.people[0])
        await people.started()
        people.seen(people.people[0])
        self._links[people.token] = people
        while len(self._links) > MAX_LINKS:
            await self._links.pop(next(iter(self._links))).close()
        return people

    def people_of(self, token: str) -> People | None:
        """Return the people to whom a link belongs. Without a link, they are the people of the one game that the command has."""
        return self.people or self._links.get(token)

    async def _start(self, load: Callable[[], GameSetup]) -> ChallengeGame:
        """Start the bots of a game and reserve the seats. Return the game. `load` loads the bots and the map, in a thread."""
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

    async def _prepare(self, setup: GameSetup) -> ChallengeGame:
        assert self._server is not None
        game = ChallengeGame(self._server, self.settings, setup)
        try:
            await game.prepare()
        except BaseException:
            await game.close()
            raise
        self._tasks[game] = asyncio.create_task(self._play(game), name="vindibot-challenge")
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

    @contextlib.asynccontextmanager
    async def playing_on(self, server: EmbeddedServer) -> AsyncIterator[None]:
        """Play the games on `server` within the ``async with`` block. All games end when the block ends."""
        self._server = server
        try:
            yield
        finally:
            for people in (*self._links.values(), *([self.people] if self.people else [])):
                await people.close()
            tasks = list(self._tasks.values())
            for game, task in self._tasks.items():
                game.decisions.end()
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)


def result_line(game: ChallengeGame) -> str:
    """Return a line for the terminal about the end of a game, from the side of a person who plays alone, or of the best hero."""
    result, people = game.result, game.setup.people
    if result is None:
        return f"{', '.join(people.values())}: the game was ended early"
    best = max(range(len(result.gold)), key=lambda hero: result.gold[hero])
    rivals = list(zip(result.names, result.gold, strict=True))
    name, gold = rivals.pop(best if len(people) > 1 else min(people))
    return f"game {result.game_id}: {result_text(name, gold, rivals)}"
