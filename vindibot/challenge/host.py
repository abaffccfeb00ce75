"""The host of challenges: a game server on this machine, and the bots that play on it against who opens its page."""

from __future__ import annotations

import asyncio
import contextlib
import secrets
import webbrowser
from collections.abc import AsyncIterator, Callable, Sequence

import structlog
from fastapi import FastAPI
from rich.console import Console

from vindibot.base import UsageError, VindibotError, lan_address, log, printable
from vindibot.challenge.bout import Bout, BoutRequest
from vindibot.challenge.offers import Offers
from vindibot.challenge.order import GameRequest
from vindibot.challenge.routes import PATH, add_routes
from vindibot.challenge.settings import ChallengeSettings
from vindibot.config import load_bot
from vindibot.engine import warm
from vindibot.games import result_text
from vindibot.server import EmbeddedServer, Room, ServerSettings

#: Bouts that have ended and can still be asked for.
KEPT = 32
LOOPBACK, ALL_INTERFACES = "127.0.0.1", "0.0.0.0"
_log = structlog.get_logger("vindibot.challenge")


class Host:
    """All games of one command; an observer of the server's rooms. `tell` is told how each game ended.

    Every bout has a secret of its own, which only the page that asked for it knows.
    """

    def __init__(self, settings: ChallengeSettings, offers: Offers, tell: Callable[[str], None]) -> None:
        self.settings, self.offers = settings, offers
        self._tell = tell
        self._server: EmbeddedServer | None = None
        self._bouts: dict[str, Bout] = {}
        self._tasks: dict[Bout, asyncio.Task[None]] = {}
        self._preparing = 0
        self._one_at_a_time = asyncio.Lock()

    # -- games --

    async def begin(self, order: GameRequest) -> tuple[str, Bout]:
        """Start the bots for a game and reserve its seats; returns its secret. Raises `VindibotError`."""
        if len(self._tasks) + self._preparing >= self.settings.games:
            raise VindibotError(f"so many games are played here already that no more have room ({self.settings.games})")
        self._preparing += 1
        try:
            async with self._one_at_a_time:  # loading bots puts their folders on the path of this process
                wanted = await asyncio.to_thread(self._read, order)
            return await self._prepare(wanted)
        finally:
            self._preparing -= 1

    def _read(self, order: GameRequest) -> BoutRequest:
        if order.limit_ms <= self.settings.margin_ms:
            margin = f"{self.settings.margin_ms:.0f} ms"
            raise UsageError(f"the bots leave {margin} of each move unused, for safety: give them more than that")
        bots = [load_bot(self.offers.bot(offer).path) for offer in order.bots]
        seed = self.settings.seed if self.settings.seed is not None else secrets.randbits(48)
        return BoutRequest(
            name=order.name,
            seat=order.hero - 1,
            bots=(bots[0], bots[1], bots[2]),
            map=self.offers.map(order.map, seed=order.map_seed, size=order.size),
            rounds=order.rounds,
            limit_ms=order.limit_ms,
            seed=seed,
        )

    async def _prepare(self, order: BoutRequest) -> tuple[str, Bout]:
        assert self._server is not None
        bout = Bout(self._server, self.settings, order)
        try:
            await bout.prepare()
        except BaseException:
            await bout.close()
            raise
        secret = secrets.token_urlsafe(16)
        log.add_secret(secret)
        self._bouts[secret] = bout
        self._tasks[bout] = asyncio.create_task(self._play(bout), name="vindibot-bout")
        while len(self._bouts) > KEPT:
            del self._bouts[next(iter(self._bouts))]
        return secret, bout

    async def _play(self, bout: Bout) -> None:
        try:
            await bout.run()
        except Exception as problem:
            _log.error("a game failed", reason=f"{type(problem).__name__}: {problem}")
        finally:
            await bout.close()
            del self._tasks[bout]
        self._tell(told(bout))

    def bout(self, secret: str) -> Bout | None:
        """The bout with this secret, None if there is none."""
        return self._bouts.get(secret)

    # -- what happens in the rooms --

    def began(self, room: Room) -> None:
        """See `RoomObserver`."""

    def played(self, room: Room, order: int) -> None:
        """See `RoomObserver`. Who has crashed will not come back: his game need not be played on."""
        for bout in self._tasks:
            if bout.room is room and room.crashed(room.seats[bout.order.seat]):
                bout.leave()

    def ended(self, room: Room) -> None:
        """See `RoomObserver`."""

    # -- the server --

    @contextlib.asynccontextmanager
    async def serving(self, host: str) -> AsyncIterator[EmbeddedServer]:
        """The server with the page, for as long as the context lasts; all games end with it."""
        settings = ServerSettings(host=host, port=self.settings.port, keys="registered")
        async with EmbeddedServer(settings, (self,), (self._add_routes,)) as self._server:
            try:
                yield self._server
            finally:
                for bout in self._bouts.values():
                    bout.decisions.end()
                tasks = list(self._tasks.values())
                for task in tasks:
                    task.cancel()
                await asyncio.gather(*tasks, return_exceptions=True)

    def _add_routes(self, app: FastAPI) -> None:
        add_routes(app, self)


def told(bout: Bout) -> str:
    """How a bout ended, in words for the terminal."""
    result, order = bout.result, bout.order
    if result is None:
        return f"{order.name} left" if bout.room is not None else f"{order.name} did not come"
    rivals = list(zip(result.names, result.gold, strict=True))
    _, gold = rivals.pop(order.seat)
    return f"game {result.game_id}: {result_text(order.name, gold, rivals)}"


async def _host(host: Host, address: str, shown: Callable[[EmbeddedServer], None]) -> None:
    """Serve until SIGINT or SIGTERM."""
    async with host.serving(address) as server:
        await server.until_signal(shown)


def challenge(settings: ChallengeSettings, bots: Sequence[str], console: Console, *, lan: bool, open_page: bool) -> None:
    """Host challenges until Ctrl-C. Raises `VindibotError` for what makes it impossible."""
    with log.configured(settings.log.level, settings.log.file, console):
        offers = Offers(bots, settings.map)
        warm(console)
        host = Host(settings, offers, lambda text: console.print(printable(text), markup=False, highlight=False, soft_wrap=True))

        def show(server: EmbeddedServer) -> None:
            url = server.url + PATH
            console.print(f"play at {url} (Ctrl-C ends it)", highlight=False, soft_wrap=True)
            if lan:
                there = f"http://{lan_address()}:{server.port}{PATH}"
                console.print(f"in this network: {there}", style="bold", highlight=False, soft_wrap=True)
                console.print("anybody who can reach this address may play, and see your bots decide", style="yellow")
            if open_page and not webbrowser.open(url):
                console.print("there is no browser that could be opened: open this address yourself", style="yellow")

        asyncio.run(_host(host, ALL_INTERFACES if lan else LOOPBACK, show))
