"""The routes for the pages that people read in a browser."""

from __future__ import annotations

import time
from itertools import islice
from typing import Any

from fastapi import FastAPI, Request
from fastapi.responses import HTMLResponse, Response

from vindibot.games import GameHistory, GameRecord, dumps
from vindibot.server.description import BEFORE, DAYS, NAME, PAGE, PLY, operation, queries
from vindibot.server.game_rows import find_record, list_games
from vindibot.server.lobby import Lobby
from vindibot.server.pages import HEADERS, LIST_HEADERS, RunningGame, find_asset, game_page, html, not_found, running_games
from vindibot.server.parameters import read_int, read_parameters
from vindibot.server.ratelimit import client_address
from vindibot.server.refusal import Refusal
from vindibot.server.room import Room
from vindibot.server.streams import Streams
from vindibot.server.users import RegistrationError
from vindibot.viewer import TYPES, empty_bundle, served_page, served_policy, static_files

#: Number of archived games on the home page, and the largest number of games in all other lists.
SHOWN, LISTED = 20, 50
BOTS_PER_PAGE = 200
#: The table of bots has a link to the bots that played within this number of days.
RECENT_DAYS = 7
DAY = 86_400


def _running(lobby: Lobby, user_id: str | None = None) -> list[RunningGame]:
    """Return the running games, newest first. With `user_id`, return only the games of this bot."""
    found = (room for room in reversed(lobby.rooms.values()) if not room.finished and (user_id is None or room.has_user(user_id)))
    return running_games(list(islice(found, LISTED)))


async def _archived(lobby: Lobby, limit: int, *, before: int | None = None, bot: str | None = None) -> dict[str, Any]:
    """Return two values for a template: `archived`, at most `limit` games, newest first, and `more`.

    `more` is the value of `before` for the next older games, None if there are none.
    """
    rows = await lobby.database.read(lambda connection: list_games(connection, bot=bot, before=before, limit=limit + 1))
    return {"archived": rows[:limit], "more": rows[limit - 1].number if len(rows) > limit else None}


async def _find_record(lobby: Lobby, game_id: str) -> GameRecord | None:
    return await lobby.database.read(lambda connection: find_record(connection, game_id))


def add_site(app: FastAPI, lobby: Lobby, streams: Streams) -> None:
    """Add the pages. Call this after all other routes are added, since any path of one word may be the id of a game."""
    _add_registration(app, lobby)
    _add_viewer_files(app)
    _add_bots(app, lobby)

    @app.get("/assets/{name}", response_class=Response)
    async def asset(name: str) -> Response:
        """The style sheet of the pages, and the script that refreshes their lists."""
        found = find_asset(name)
        return not_found() if found is None else _file(*found)

    @app.get("/", response_class=HTMLResponse)
    async def home() -> Response:
        """The running games and the latest archived ones."""
        return html("home.html", headers=LIST_HEADERS, running=_running(lobby), **await _archived(lobby, SHOWN))

    @app.get("/games", response_class=HTMLResponse, openapi_extra=queries(before=BEFORE))
    async def games(request: Request) -> Response:
        """Archived games, newest first. Parameter: before (only games with a number below this)."""
        return html("games.html", **await _archived(lobby, LISTED, before=_number(request, "before")))

    @app.get("/records/{game_id}", response_class=Response)
    async def record(game_id: str) -> Response:
        """The record of an archived game, as JSON."""
        found = await _find_record(lobby, game_id)
        return not_found() if found is None else Response(dumps(found), media_type="application/json")

    @app.get("/{game_id}", response_class=HTMLResponse, openapi_extra=queries(ply=PLY))
    async def game(request: Request, game_id: str) -> Response:
        """The page of a running or archived game. Parameter: ply (show the state after this number of plies as plain text)."""
        plain = "ply" in request.query_params
        if streams.feed(game_id) is not None and not plain:
            return viewer_page(lobby.rooms[game_id])
        room = lobby.rooms.get(game_id)
        if room is None or room.finished:
            found = await _find_record(lobby, game_id)
            if found is not None:
                return _archived_game(found, _number(request, "ply")) if plain else _viewer(GameHistory.before_first_ply(found))
        if room is None:
            return not_found()
        players, plies = room.history.players, len(room.history)
        return game_page(game_id, room.games, players, ply=plies, plies=plies, live=not room.finished)


def viewer_page(room: Room, following: str = "") -> HTMLResponse:
    """Return the page of a running game. If `following` is not empty, the browser goes to this address after the game."""
    return _viewer(room.history, live=True, **{"next": following} if following else {})


def _viewer(history: GameHistory, *, live: bool = False, **addresses: str) -> HTMLResponse:
    """Return the page of a game. The page gets the plies as events. `addresses` are further addresses that the page uses."""
    if not live:
        addresses["record"] = f"/records/{history.id}"
    bundle = empty_bundle(history, title=f"game {history.id}", source="server", live=live)
    markup = served_page(bundle, f"/plies/{history.id}", plain=f"/{history.id}?ply", home="/", **addresses)
    return HTMLResponse(markup, headers=HEADERS | {"Content-Security-Policy": served_policy(), "Cache-Control": "no-cache"})


def _add_viewer_files(app: FastAPI) -> None:
    @app.get("/viewer/{name}", response_class=Response)
    async def viewer_file(name: str) -> Response:
        """A script or the style sheet of the page of a game."""
        found = static_files().get(name)
        return not_found() if found is None else _file(found, TYPES[f".{name.rpartition('.')[2]}"])


def _file(content: bytes, kind: str) -> Response:
    return Response(content, media_type=kind, headers={"X-Content-Type-Options": "nosniff", "Cache-Control": "no-cache"})


def _archived_game(record: GameRecord, ply: int | None) -> HTMLResponse:
    history = GameHistory.of(record)
    plies = len(history)
    ply = plies if ply is None else min(max(ply, 0), plies)
    games = history.state(ply)
    return game_page(record.id, games, history.players, ply=ply, plies=plies, live=False, ending=record.ending)


def _number(request: Request, parameter: str) -> int | None:
    return read_int(request.query_params.get(parameter, ""))


def _add_bots(app: FastAPI, lobby: Lobby) -> None:
    @app.get("/ai", response_class=HTMLResponse, openapi_extra=queries(days=DAYS, page=PAGE))
    async def bots(request: Request) -> Response:
        """The table of bots, best first. Parameters: days (only bots whose last game ended within this number of days), page."""
        days = _number(request, "days")
        if days is not None:
            days = max(0, days)
        since = -1.0 if days is None else time.time() - days * DAY
        users = [user for user in lobby.users if (user.played or 0.0) > since]
        users.sort(key=lambda user: (-user.elo, user.name, user.id))
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
        """A bot and its games. Parameter: before (only games with a number below this)."""
        user = lobby.users.by_id(user_id)
        if user is None:
            return not_found()
        games = await _archived(lobby, LISTED, before=_number(request, "before"), bot=user_id)
        return html("bot.html", headers=LIST_HEADERS, user=user, running=_running(lobby, user_id), **games)


def _add_registration(app: FastAPI, lobby: Lobby) -> None:
    @app.get("/register", response_class=HTMLResponse)
    async def register_form() -> Response:
        """The form for registering a bot."""
        return html("register.html", message="", given="")

    @app.post("/register", response_class=HTMLResponse, openapi_extra=operation(name=NAME, required=("name",)))
    async def register(request: Request) -> Response:
        """Register a bot and show its key. No other page shows the key. Parameter: name (3 to 20 characters)."""
        given = (await read_parameters(request, lobby.settings)).get("name", "")
        try:
            key = await lobby.registrations.sign_up(given, client_address(request))
        except RegistrationError as error:
            return html("register.html", 400, message=error.message, given=given)
        except Refusal as refusal:
            later = {"Retry-After": str(refusal.retry_after)}
            return html("register.html", refusal.status, later, message=refusal.text, given=given)
        address = f"{request.scope['scheme']}://{request.headers.get('host') or request.url.netloc}"
        return html("registered.html", headers={"Cache-Control": "no-store"}, given=given, key=key, address=address)
