"""The routes for the pages that people read in a browser."""

from __future__ import annotations

import time
from collections.abc import AsyncGenerator, Callable, Sequence
from functools import partial
from heapq import nsmallest
from typing import Any

from fastapi import FastAPI, Request
from fastapi.responses import HTMLResponse, Response
from markupsafe import Markup
from starlette.exceptions import HTTPException

from sim.game import PLIES_PER_ROUND
from vindibot.base.pages import Curve, lines
from vindibot.games.game_record import GameRecord, dumps
from vindibot.games.history import GameHistory
from vindibot.server.app import address_of
from vindibot.server.limits import client_address
from vindibot.server.lobby import Lobby
from vindibot.server.parameters import BEFORE, BOT, DAYS, NAME, PAGE, TEXT, operation, queries, read_int, read_parameters
from vindibot.server.ratings import FIRST_ELO
from vindibot.server.refusal import Refusal
from vindibot.server.room import Room
from vindibot.server.site.boards import LISTED, FinalBoards, RunningGames
from vindibot.server.site.pages import HEADERS, game_page, html
from vindibot.server.site.streams import Streams
from vindibot.server.store.bot_results import LATEST, bot_results
from vindibot.server.store.database import Database
from vindibot.server.store.tables import find_record, list_games, records_after
from vindibot.server.users import RegistrationError, User
from vindibot.viewer.bundle import empty_bundle
from vindibot.viewer.page import file_response, served_page, served_policy

#: Number of archived games on the home page and on a page of a bot. Other lists have at most `LISTED` games.
SHOWN, SHOWN_OF_BOT = 12, 24
#: Largest number of points of a rating curve.
CURVE_POINTS = 240
#: Number of bots in the standings on the home page.
BEST_BOTS = 10
BOTS_PER_PAGE = 200
#: Number of records that are read at once, so that no other reader of the database waits long.
RECORDS_PER_READ = 20
#: The table of bots has a link to the bots that played within this number of days.
RECENT_DAYS = 7
DAY = 86_400


async def _archived(database: Database, limit: int, *, before: int | None = None, bot: str | None = None) -> dict[str, Any]:
    """Return a list of archived games as two values for a template.

    - `archived`: at most `limit` games, newest first.
    - `more`: the argument `before` for the next older games, None if there are no older games.

    With `before`, the list has only games with a number below it. With `bot` (an id), it has only games of this bot.
    """
    rows = await database.read(lambda connection: list_games(connection, bot=bot, before=before, limit=limit + 1))
    return {"archived": rows[:limit], "more": rows[limit - 1].number if len(rows) > limit else None}


async def _find_record(database: Database, game_id: str) -> GameRecord | None:
    return await database.read(lambda connection: find_record(connection, game_id))


async def _records(database: Database, bot: str) -> AsyncGenerator[bytes, None]:
    """Yield the records of a bot's archived games as lines of JSON, the oldest first."""
    number = 0
    while rows := await database.read(partial(records_after, bot=bot, after=number, limit=RECORDS_PER_READ)):
        number = rows[-1][0]
        yield "".join(f"{record}\n" for _, record in rows).encode()


#: Returns a section of the home page as HTML, "" for none.
Section = Callable[[], Markup | str]


#: Returns a section of the page of a bot as HTML, "" for none.
BotSection = Callable[[User], Markup | str]


class BotPages:
    """The pages of bots. `sections` are further sections of each page; other rooms add theirs."""

    def __init__(self, lobby: Lobby, database: Database) -> None:
        self._lobby, self._database = lobby, database
        self.running, self.boards = RunningGames(lobby), FinalBoards(database)
        self.sections: list[BotSection] = []

    async def page(self, request: Request, user: User) -> HTMLResponse:
        """Return the page of a bot. With the parameter `before`, its games have a number below this."""
        before = _number(request, "before")
        archived = await _archived(self._database, SHOWN_OF_BOT, before=before, bot=user.id)
        results = await self._database.read(lambda connection: bot_results(connection, user.id))
        rivals = [(row, rival) for row in results.rivals if (rival := self._lobby.users.by_id(row["rival"])) is not None]
        start = [(user.created, FIRST_ELO)] if 0 < user.games == len(results.ratings) else []
        return html(
            "bot.html",
            title=user.name,
            user=user,
            sections=[section(user) for section in self.sections],
            running=self.running.newest(user.id),
            **archived,
            boards=await self.boards.draw([game.id for game in archived["archived"]]),
            results=results,
            latest=LATEST,
            rivals=rivals,
            curve=_rating_curve([*start, *results.ratings]),
            older=before is not None,
        )

    def page_without_user(self, name: str, section: Markup) -> HTMLResponse:
        """Return the page of a bot that has never joined: its name, and one section."""
        return html("bot.html", title=name, user=None, sections=[section])


def add_pages(
    app: FastAPI, lobby: Lobby, database: Database, streams: Streams, bots: BotPages, sections: Sequence[Section]
) -> None:
    """Add the routes of the pages. Call this after all other routes are added: any path of one word may be the id of a game.

    `sections` are further sections of the home page.
    """
    app.add_exception_handler(HTTPException, _missing)
    _add_registration(app, lobby)
    _add_files(app)
    _add_lists(app, lobby, database, bots, sections)
    _add_bots(app, lobby, bots)

    @app.get("/records.jsonl", response_class=Response, openapi_extra=queries(bot=BOT))
    async def records(request: Request) -> Response:
        """The records of all archived games of a bot, the oldest first, as lines of JSON. Parameter: bot (the id of the bot)."""
        user = lobby.users.by_id(request.query_params.get("bot"))
        if user is None:
            raise Refusal(404, "Name a bot of this server by its id, as in the address of its page: /records.jsonl?bot=ID")
        headers = {"Content-Disposition": f'attachment; filename="{user.id}.games.jsonl"', "X-Content-Type-Options": "nosniff"}
        return streams.response(request, _records(database, user.id), media_type="application/jsonl", headers=headers)

    @app.get("/records/{game_id}", response_class=Response)
    async def record(game_id: str) -> Response:
        """The record of an archived game, as JSON."""
        stored = await _find_record(database, game_id)
        if stored is None:
            raise HTTPException(404)
        return Response(dumps(stored), media_type="application/json")

    @app.get("/{game_id}", response_class=HTMLResponse, openapi_extra=queries(text=TEXT))
    async def game(request: Request, game_id: str) -> Response:
        """The page of a running or archived game.

        With the parameter text, the page shows the newest state as text.
        """
        plain = "text" in request.query_params
        if streams.feed(game_id) is not None and not plain:
            return _viewer(request, lobby.rooms[game_id].history, live=True, framed=True)
        room = lobby.rooms.get(game_id)
        if room is None or room.finished:
            stored = await _find_record(database, game_id)
            if stored is not None:
                if plain:
                    history = GameHistory.of(stored)
                    return game_page(stored.id, history.last, history.players, live=False, ending=stored.ending)
                history = GameHistory.before_first_ply(stored)
                shown = history.turn(0) + len(stored.moves) // 2
                return _viewer(request, history, framed=True, shown=shown, record=f"/records/{game_id}")
        if room is None:
            raise HTTPException(404)
        return game_page(game_id, room.games, room.history.players, live=not room.finished)


async def _missing(request: Request, error: Exception) -> Response:
    """Return the page for an unknown address."""
    return html("missing.html", 404)


def on_air_page(request: Request, room: Room, following: str) -> HTMLResponse:
    """Return the page of a running game. After the game, the browser goes to the address `following`."""
    return _viewer(request, room.history, f"on air: game {room.id}", live=True, next=following)


def _viewer(
    request: Request,
    history: GameHistory,
    title: str = "",
    *,
    live: bool = False,
    framed: bool = False,
    shown: int = -1,
    **addresses: str,
) -> HTMLResponse:
    """Return the page that follows a running game (`live`) or replays an archived game.

    The page loads the plies as events. If `framed`, other pages may show it in a frame. The picture in the page's preview shows
    the turn `shown`, -1 for the newest one. `addresses` are further addresses that the page uses.
    """
    bundle = empty_bundle(history, title=title or f"game {history.id}", source="server", live=live)
    markup = served_page(
        bundle,
        f"/plies/{history.id}",
        plain=f"/{history.id}?text",
        preview=_preview(request, history, bundle["title"], shown),
        home="/",
        **addresses,
    )
    policy = {"Content-Security-Policy": served_policy(framed=framed)}
    return HTMLResponse(markup, headers=HEADERS | policy | {"Cache-Control": "no-cache"})


def _preview(request: Request, history: GameHistory, title: str, shown: int) -> dict[str, str]:
    """Return the Open Graph properties of the page of a game. They do not reveal the result.

    The picture shows the turn `shown`, -1 for the newest one.
    """
    size = history.first["size"].item(0)
    rounds = -(-history.first["max_turns"].item(0) // PLIES_PER_ROUND)
    address = f"{address_of(request)}/{history.id}"
    return {
        "og:type": "website",
        "og:site_name": "Vindinium",
        "og:title": title,
        "og:description": f"{', '.join(history.names)}: {rounds} round{'s' if rounds != 1 else ''} on {size} x {size} squares",
        "og:url": address,
        "og:image": f"{address}.png" + (f"?turn={shown}" if shown >= 0 else ""),
        "og:image:type": "image/png",
    }


def _number(request: Request, parameter: str) -> int | None:
    return read_int(request.query_params.get(parameter, ""))


def _add_files(app: FastAPI) -> None:
    @app.get("/viewer/{name:path}", response_class=Response)
    async def file(request: Request, name: str) -> Response:
        """A script or a style sheet of a page."""
        response = file_response(request, name)
        if response is None:
            raise HTTPException(404)
        return response


def _add_lists(app: FastAPI, lobby: Lobby, database: Database, bots: BotPages, sections: Sequence[Section]) -> None:
    running, boards = bots.running, bots.boards

    @app.get("/", response_class=HTMLResponse)
    async def home(request: Request) -> Response:
        """The home page: the running games, the latest archived games, the best bots, and sections of other rooms."""
        archived = await _archived(database, SHOWN)
        return html(
            "home.html",
            running=running.newest(),
            **archived,
            boards=await boards.draw([game.id for game in archived["archived"]]),
            best=nsmallest(BEST_BOTS, (user for user in lobby.users if user.games), key=_place),
            sections=[section() for section in sections],
        )

    @app.get("/running", response_class=HTMLResponse, openapi_extra=queries(ai=BOT))
    async def running_now(request: Request) -> Response:
        """The running games with their boards, newest first. Other pages load their lists of running games from this page.

        Parameter: ai (the id of a bot; only its games are listed).
        """
        user_id = request.query_params.get("ai")
        user = lobby.users.by_id(user_id)
        if user_id is not None and user is None:
            raise HTTPException(404)
        return html("running.html", running=running.newest(user_id), user=user)

    @app.get("/games", response_class=HTMLResponse, openapi_extra=queries(before=BEFORE))
    async def games(request: Request) -> Response:
        """Archived games, newest first. Parameter: before (only games with a number below this)."""
        archived = await _archived(database, LISTED, before=_number(request, "before"))
        return html("games.html", **archived)


def _place(user: User) -> tuple[int, str, str]:
    """Return the key that sorts bots, best first: by Elo, then by name and id."""
    return -user.elo, user.name, user.id


def _add_bots(app: FastAPI, lobby: Lobby, pages: BotPages) -> None:
    @app.get("/ai", response_class=HTMLResponse, openapi_extra=queries(days=DAYS, page=PAGE))
    async def bots(request: Request) -> Response:
        """The table of bots, best first. Parameters: days (only bots whose last game ended within this number of days), page."""
        days = _number(request, "days")
        if days is not None:
            days = max(0, days)
        since = -1.0 if days is None else time.time() - days * DAY
        users = [user for user in lobby.users if (user.played or 0.0) > since]
        users.sort(key=_place)
        page = max(1, _number(request, "page") or 1)
        first, beyond = (page - 1) * BOTS_PER_PAGE, page * BOTS_PER_PAGE
        return html(
            "bots.html",
            users=users[first:beyond],
            first=first + 1,
            days=days,
            recent=RECENT_DAYS,
            before=page - 1 if page > 1 else None,
            after=page + 1 if beyond < len(users) else None,
        )

    @app.get("/ai/{user_id}", response_class=HTMLResponse, openapi_extra=queries(before=BEFORE))
    async def bot(request: Request, user_id: str) -> Response:
        """A bot: its rating over time, its results, and its games. Parameter: before (only games with a number below this)."""
        user = lobby.users.by_id(user_id)
        if user is None:
            raise HTTPException(404)
        return await pages.page(request, user)


def _rating_curve(ratings: Sequence[tuple[float, int]]) -> Markup | str:
    """Return a chart (SVG) of a bot's Elo after each rated game, "" if there are fewer than two. `ratings` are times and Elo."""
    if len(ratings) < 2:
        return ""
    elos = [elo for _, elo in ratings]
    numbers = sorted({*range(0, len(elos), -(-len(elos) // CURVE_POINTS)), len(elos) - 1})
    title = f"Elo over {len(elos)} rated games: from {elos[0]} to {elos[-1]}, lowest {min(elos)}, highest {max(elos)}"
    curve = Curve(str(elos[-1]), 0, [float(elos[number]) for number in numbers], [float(number) for number in numbers])
    return Markup(lines([curve], title, "rated games", "Elo", zero=False))  # noqa: S704 - made by our template


def _add_registration(app: FastAPI, lobby: Lobby) -> None:
    @app.get("/register", response_class=HTMLResponse)
    async def register_form() -> Response:
        """The form for registering a bot."""
        return html("register.html", message="", given="")

    @app.post("/register", response_class=HTMLResponse, openapi_extra=operation(name=NAME, required=("name",)))
    async def register(request: Request) -> Response:
        """Register a bot and show its key. No other page shows the key. Parameter: name (3 to 20 characters)."""
        name = (await read_parameters(request)).get("name", "")
        try:
            key = await lobby.sign_up(name, client_address(request))
        except RegistrationError as error:
            return html("register.html", 400, message=error.message, given=name)
        except Refusal as refusal:
            later = {"Retry-After": str(refusal.retry_after)}
            return html("register.html", refusal.status, later, message=refusal.text, given=name)
        headers = {"Cache-Control": "no-store"}
        return html("registered.html", headers=headers, given=name, key=key)
