"""Pages that the original server also had, at the same addresses: rules, starter kits, live game, random map."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from secrets import randbits

from fastapi import FastAPI, Request
from fastapi.responses import HTMLResponse, PlainTextResponse, Response
from starlette.exceptions import HTTPException

from sim.generator import generate
from vindibot.config.files import shipped
from vindibot.server.lobby import Lobby
from vindibot.server.parameters import read_int
from vindibot.server.room import Room
from vindibot.server.site.pages import REFRESH_SECONDS, html
from vindibot.server.site.routes import on_air_page
from vindibot.server.site.streams import Streams

#: The longest and the shortest time in seconds for which ``/map/DELAY`` shows a map.
LONGEST_DELAY, SHORTEST_DELAY = 86_400, 1
#: The starters in ``config/starters``, and their languages.
STARTERS = {"python/bot.py": "Python", "javascript/bot.js": "JavaScript", "java/Bot.java": "Java"}
#: Size of a step of mean ratings, in Elo points. Among games in the same step, the game with the closest amounts of gold is
#: chosen.
RATING_STEP = 50


def add_original_pages(app: FastAPI, lobby: Lobby, streams: Streams) -> None:
    """Add the routes ``/doc``, ``/starters`` with the starters, ``/tv`` and ``/map/DELAY``.

    Call this function before you add routes that match any word.
    """

    @app.get("/doc", response_class=HTMLResponse)
    async def doc() -> Response:
        """The rules of the game, and how to play with a program."""
        return html("doc.html")

    @app.get("/starters", response_class=HTMLResponse)
    async def starters() -> Response:
        """The page about starter kits (example clients in many languages)."""
        return html("starters.html", starters=[(language, path) for path, language in STARTERS.items()])

    @app.get("/starters/{folder}/{name}", response_class=PlainTextResponse)
    async def starter(folder: str, name: str) -> Response:
        """A starter: the source of a whole bot."""
        path = f"{folder}/{name}"
        if path not in STARTERS:
            raise HTTPException(404)
        return PlainTextResponse(shipped(f"starters/{path}").read_text(encoding="utf-8"))

    @app.get("/tv", response_class=HTMLResponse)
    async def tv(request: Request) -> Response:
        """The most interesting running arena game. When this game ends, the page shows the next one."""
        room = most_interesting(room for room in reversed(lobby.rooms.values()) if streams.feed(room.id) is not None)
        if room is None:
            return html("off_air.html", refresh=REFRESH_SECONDS)
        return on_air_page(request, room, "/tv")

    @app.get("/map/{delay}", response_class=HTMLResponse)
    async def fresh_map(delay: str) -> Response:
        """A new random map, made like the maps of arena games. The page shows another map after `delay` seconds."""
        seconds = read_int(delay)
        if seconds is None:
            raise HTTPException(404)
        return html("map.html", map=generate(randbits(32)).text(), refresh=min(max(seconds, SHORTEST_DELAY), LONGEST_DELAY))


def interest(ratings: Sequence[int | None], gold: Sequence[int]) -> tuple[int, int]:
    """Return two numbers that say how interesting a game is. A larger tuple is more interesting.

    The first number is the mean rating, divided by `RATING_STEP` and rounded. The second number is the second largest amount of
    gold minus the largest amount. `ratings` has the Elo of each hero; None stands for a random bot of the server and counts as 0.
    `gold` has the gold of each hero.
    """
    mean = sum(rating or 0 for rating in ratings) / len(ratings)
    second, first = sorted(gold)[-2:]
    return round(mean / RATING_STEP), second - first


def most_interesting(rooms: Iterable[Room]) -> Room | None:
    """Return the most interesting room with a running arena game, None if there is none (see `interest`).

    Games of leagues and private matches count as arena games. If rooms are equally interesting, return the first of them.
    """
    running = [room for room in rooms if not room.training and not room.finished]
    return max(running, key=_interest, default=None)


def _interest(room: Room) -> tuple[int, int]:
    gold: list[int] = room.games["hero"]["gold"][0].tolist()
    return interest([player.elo for player in room.history.players], gold)
