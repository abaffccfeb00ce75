"""A server with leagues: the whole server, the leagues in files, and their fillers. It is also a program of its own."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from types import TracebackType
from typing import Self

from fastapi import FastAPI
from markupsafe import Markup

from sim.kernels import warm
from vindibot.base.errors import VindibotError
from vindibot.base.output.pages import compile_templates, render
from vindibot.league.filling import filling
from vindibot.league.organiser import add_league_routes, add_organiser
from vindibot.league.pages import add_league_pages
from vindibot.league.registry import LeagueRegistry
from vindibot.server.embedded import AddRoutes, EmbeddedServer
from vindibot.server.room import RoomObserver
from vindibot.server.settings import ServerSettings


class LeagueServer(EmbeddedServer):
    """An `EmbeddedServer` that plays the leagues of the setting `league`, and those that the administrator makes."""

    def __init__(
        self,
        settings: ServerSettings | None = None,
        observers: Sequence[RoomObserver] = (),
        routes: Sequence[AddRoutes] = (),
    ) -> None:
        super().__init__(settings, observers, [self._add_leagues, *routes], [self._section])

    def _add_leagues(self, app: FastAPI) -> None:
        self.leagues = LeagueRegistry(self.lobby, self.settings.league)
        if self.administration is not None:
            add_league_routes(app, self.administration, self.leagues, self.settings)
        add_league_pages(app, self.leagues, self.reviews, self.settings)
        add_organiser(app, self.leagues, self.settings, self.administration)

    def _section(self) -> Markup:
        return render("league/section.html", leagues=self.leagues.states())

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
        await self.leagues.close()
        await super().__aexit__(kind, error, traceback)


def run_server(settings: ServerSettings, ready: Callable[[LeagueServer], None] | None = None) -> None:
    """Serve in a new event loop until SIGINT, SIGTERM or SIGHUP. Call `ready` with the server once it listens.

    While the server listens, fillers play in its leagues. Raises `ServerError`.
    """

    async def serve() -> None:
        compile_templates("base", "viewer", "server.site", "league")  # slow: done here so that no game has to wait for it
        async with LeagueServer(settings) as server, filling(server, server.leagues):
            await server.until_signal(ready)

    asyncio.run(serve())
