"""The other pages of the original server, for those who have its addresses in their fingers."""

from __future__ import annotations

from secrets import randbits

from fastapi import FastAPI
from fastapi.responses import HTMLResponse, Response

from sim.generator import generate
from vindibot.server.lobby import Lobby
from vindibot.server.pages import REFRESH_SECONDS, html, missing
from vindibot.server.parameters import read_int
from vindibot.server.site import viewer_page
from vindibot.server.streams import Streams

#: Longest and shortest time between two maps, in seconds.
LONGEST_DELAY, SHORTEST_DELAY = 86_400, 1


def add_old_pages(app: FastAPI, lobby: Lobby, streams: Streams) -> None:
    """Add ``/doc``, ``/starters``, ``/tv`` and ``/map/DELAY``; before the routes that take any word."""

    @app.get("/doc", response_class=HTMLResponse)
    async def doc() -> Response:
        """How to play, in short."""
        return html("doc.html")

    @app.get("/starters", response_class=HTMLResponse)
    async def starters() -> Response:
        """Where to begin."""
        return html("starters.html")

    @app.get("/tv", response_class=HTMLResponse)
    async def tv() -> Response:
        """The newest running arena game."""
        room = next((room for room in reversed(lobby.rooms.values()) if not room.training and not room.finished), None)
        if room is None or streams.page_feed(room.id) is None:
            return html("off_air.html", refresh=REFRESH_SECONDS)
        return viewer_page(room, "/tv")

    @app.get("/map/{delay}", response_class=HTMLResponse)
    async def fresh_map(delay: str) -> Response:
        """A fresh map as the arena draws them, and another one after `delay` seconds."""
        seconds = read_int(delay)
        if seconds is None:
            return missing()
        return html("map.html", map=generate(randbits(32)).text(), refresh=min(max(seconds, SHORTEST_DELAY), LONGEST_DELAY))
