"""The whole server: the core, a database, pages, streams for spectators, and leagues. It is also a program of its own."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from contextlib import AbstractAsyncContextManager, nullcontext
from types import TracebackType
from typing import Self

from fastapi import FastAPI

from sim.kernels import warm
from vindibot.base.errors import VindibotError
from vindibot.base.output.pages import compile_templates
from vindibot.server.admin.routes import add_administration
from vindibot.server.game_server import GameServer
from vindibot.server.league.admin import add_league_orders
from vindibot.server.league.organiser import add_organiser
from vindibot.server.league.pages import add_league_pages
from vindibot.server.league.registry import LeagueRegistry
from vindibot.server.room import RoomObserver
from vindibot.server.settings import ServerSettings
from vindibot.server.site.original_pages import add_original_pages
from vindibot.server.site.pictures import Pictures, add_pictures
from vindibot.server.site.reviews import Reviews
from vindibot.server.site.routes import add_pages
from vindibot.server.site.streams import Streams, add_streams
from vindibot.server.store.archive import Archive
from vindibot.server.store.database import Database
from vindibot.server.store.user_table import UserTable

#: A function that adds routes to the application.
AddRoutes = Callable[[FastAPI], None]


class EmbeddedServer(GameServer):
    """A `GameServer` that also has pages, streams for spectators, leagues, and a database with its bots and games.

    Each function in `routes` adds further routes to the server. The path of such a route has at least two parts, or one part that
    cannot be the id of a game.
    """

    def __init__(
        self,
        settings: ServerSettings | None = None,
        observers: Sequence[RoomObserver] = (),
        routes: Sequence[AddRoutes] = (),
    ) -> None:
        settings = settings or ServerSettings()
        self.database = Database(settings.db)
        super().__init__(settings, users=UserTable(self.database))
        self.archive = Archive(self.database, self.lobby.users, settings.seed)
        self.streams = Streams(settings, self.lobby.limits)
        self.reviews = Reviews(self.database)
        self.pictures = Pictures(self.database)
        self.leagues = LeagueRegistry(self.lobby, settings.league)
        self.lobby.observe(self.archive, self.streams, *observers)
        self._add_routes(routes)

    def _add_routes(self, routes: Sequence[AddRoutes]) -> None:
        app, lobby, leagues = self.app, self.lobby, self.leagues
        administration = add_administration(app, lobby, self.settings)
        if administration is not None:
            add_league_orders(app, administration, leagues, self.settings)
        add_league_pages(app, leagues, self.reviews, self.settings)
        add_organiser(app, leagues, self.settings, administration.allows if administration is not None else lambda key: False)
        add_streams(app, self.streams, self.database)
        for add_routes in routes:
            add_routes(app)
        add_original_pages(app, lobby, self.streams)
        add_pictures(app, lobby, self.pictures)
        add_pages(app, lobby, self.database, self.streams, leagues.states)

    def end_games(self) -> None:
        """Stop all games immediately, and answer all open requests. Games without results are stored as interrupted."""
        super().end_games()
        self.archive.close()

    async def __aenter__(self) -> Self:
        warm()  # before the leagues, because their clocks run as soon as they are open
        try:
            self.leagues.open()
            return await super().__aenter__()
        except VindibotError:
            await self.leagues.close()
            await self.database.close()
            raise

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        await self.reviews.close()
        await self.pictures.close()
        await self.leagues.close()
        self.streams.close()
        await super().__aexit__(kind, error, traceback)
        await self.database.close()


#: A function that returns a context manager for the time in which a server listens.
Beside = Callable[[EmbeddedServer], AbstractAsyncContextManager[None]]


def run_server(
    settings: ServerSettings, ready: Callable[[EmbeddedServer], None] | None = None, beside: Beside | None = None
) -> None:
    """Serve in a new event loop until SIGINT, SIGTERM or SIGHUP. Call `ready` with the server once it listens.

    While the server listens, the context of `beside` is open. Raises `ServerError`.
    """

    async def serve() -> None:
        compile_templates("base", "viewer", "server.site")  # slow: done here so that no game has to wait for it
        async with EmbeddedServer(settings) as server, beside(server) if beside is not None else nullcontext():
            await server.until_signal(ready)

    asyncio.run(serve())
