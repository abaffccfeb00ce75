"""The whole server: the core, a database, pages, and streams for spectators. Rooms above add routes and sections of pages."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from types import TracebackType
from typing import Self

from fastapi import FastAPI

from vindibot.base.errors import VindibotError
from vindibot.server.admin.routes import add_administration
from vindibot.server.game_server import GameServer
from vindibot.server.room import RoomObserver
from vindibot.server.settings import ServerSettings
from vindibot.server.site.original_pages import add_original_pages
from vindibot.server.site.pages import prepare_pages
from vindibot.server.site.pictures import Pictures, add_pictures
from vindibot.server.site.reviews import Reviews
from vindibot.server.site.routes import BotPages, Section, add_pages
from vindibot.server.site.streams import Streams, add_streams
from vindibot.server.store.archive import Archive
from vindibot.server.store.database import Database
from vindibot.server.store.tables import UserTable

#: A function that adds routes to the application.
AddRoutes = Callable[[FastAPI], None]


class EmbeddedServer(GameServer):
    """A `GameServer` that also has pages, streams for spectators, and a database with its bots and games.

    Each function in `routes` adds further routes to the server. The path of such a route has at least two parts, or one part that
    cannot be the id of a game. `sections` are further sections of the home page, and `bot_pages.sections` those of bots' pages.
    `administration` checks the administrator's key, None if the settings have no such key.
    """

    def __init__(
        self,
        settings: ServerSettings | None = None,
        observers: Sequence[RoomObserver] = (),
        routes: Sequence[AddRoutes] = (),
        sections: Sequence[Section] = (),
    ) -> None:
        settings = settings or ServerSettings()
        self.database = Database(settings.db)
        super().__init__(settings, users=UserTable(self.database))
        self.archive = Archive(self.database, self.lobby.users, settings.seed)
        self.streams = Streams(settings, self.lobby.limits)
        self.reviews = Reviews(self.database)
        self.bot_pages = BotPages(self.lobby, self.database)
        self.pictures = Pictures(self.database)
        self.lobby.observe(self.archive, self.streams, *observers)
        self.administration = add_administration(self.app, self.lobby, settings)
        self._add_routes(routes, sections)

    def _add_routes(self, routes: Sequence[AddRoutes], sections: Sequence[Section]) -> None:
        app, lobby = self.app, self.lobby
        prepare_pages(app, lobby.settings)
        add_streams(app, self.streams, self.database)
        for add_routes in routes:
            add_routes(app)
        add_original_pages(app, lobby, self.streams)
        add_pictures(app, lobby, self.pictures)
        add_pages(app, lobby, self.database, self.streams, self.bot_pages, sections)

    def end_games(self) -> None:
        """Stop all games immediately, and answer all open requests. Games without results are stored as interrupted."""
        super().end_games()
        self.archive.close()

    async def __aenter__(self) -> Self:
        try:
            return await super().__aenter__()
        except VindibotError:
            await self.database.close()
            raise

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        await self.reviews.close()
        self.streams.close()
        await super().__aexit__(kind, error, traceback)
        await self.database.close()
