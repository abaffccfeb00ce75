"""The other pages of the original server, for those who have its addresses in their fingers."""

from __future__ import annotations

from secrets import randbits

from fastapi import FastAPI
from fastapi.responses import HTMLResponse, Response

from sim.generator import generate
from vindibot.server import pages
from vindibot.server.lobby import Lobby
from vindibot.server.parameters import read_int
from vindibot.server.site import html, missing, viewer_page
from vindibot.server.streams import Streams

#: Longest and shortest time between two maps, in seconds.
LONGEST_DELAY, SHORTEST_DELAY = 86_400, 1

_DOC = """\
<p>Post <code>key</code> to <code>/api/training</code> (with <code>turns</code> and <code>map</code> if you like) or to
<code>/api/arena</code>. The answer has the game, your hero, and a <code>playUrl</code>: post <code>dir</code> there, one of
North, South, East, West and Stay; the answer is the game at your next turn. Go on until <code>game.finished</code> is true.</p>
<p>You have a second for each move. Walk into a mine to take it (20 life), into a tavern for a beer (2 gold, up to 50 life). Each
mine pays 1 gold a turn. At the end of your move everybody beside you loses 20 life. The most gold wins.</p>
<p><a href="/openapi.json">All endpoints, for programs</a></p>"""
_STARTERS = """\
<p>Every starter kit that was written for the game plays here: give it the address of this server.
<a href="/register">Register a bot</a> to get a key.</p>"""


def add_old_pages(app: FastAPI, lobby: Lobby, streams: Streams) -> None:
    """Add ``/doc``, ``/starters``, ``/tv`` and ``/map/DELAY``; before the routes that take any word."""

    @app.get("/doc", response_class=HTMLResponse)
    async def doc() -> Response:
        """How to play, in short."""
        return html(pages.page("How to play", _DOC))

    @app.get("/starters", response_class=HTMLResponse)
    async def starters() -> Response:
        """Where to begin."""
        return html(pages.page("Starter kits", _STARTERS))

    @app.get("/tv", response_class=HTMLResponse)
    async def tv() -> Response:
        """The newest running arena game."""
        room = next((room for room in reversed(lobby.rooms.values()) if not room.training and not room.finished), None)
        if room is None or streams.page_feed(room.id) is None:
            return html(pages.page("Nothing on", "<p>No arena game is running.</p>", refresh=pages.REFRESH_SECONDS))
        return viewer_page(room, "/tv")

    @app.get("/map/{delay}", response_class=HTMLResponse)
    async def fresh_map(delay: str) -> Response:
        """A fresh map as the arena draws them, and another one after `delay` seconds."""
        seconds = read_int(delay)
        if seconds is None:
            return missing()
        text = generate(randbits(32)).text()
        return html(pages.page("A map", f"<pre>{pages.text(text)}</pre>", min(max(seconds, SHORTEST_DELAY), LONGEST_DELAY)))
