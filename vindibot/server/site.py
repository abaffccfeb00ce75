"""The routes of the pages for people."""

from __future__ import annotations

import time
from itertools import islice

from fastapi import FastAPI, Request
from fastapi.responses import HTMLResponse, Response

from vindibot.games import GameHistory, GameRecord, dumps
from vindibot.server.description import BEFORE, DAYS, NAME, PAGE, PLY, operation, queries
from vindibot.server.game_rows import GameRow, find_record, list_games, played
from vindibot.server.lobby import Lobby
from vindibot.server.pages import HEADERS, LIVELY, RunningGame, asset as page_asset, game_page, html, missing, running_games
from vindibot.server.parameters import read_int, read_parameters
from vindibot.server.ratelimit import client_address
from vindibot.server.refusal import Refusal
from vindibot.server.room import Room
from vindibot.server.streams import Streams
from vindibot.server.users import RegistrationError
from vindibot.viewer import TYPES, Bundle, head, served_page, served_policy, static_files

#: Running and kept games on the first page, and in longer lists.
SHOWN, LISTED = 20, 50
BOTS_PER_PAGE = 200
#: Who played "lately".
LATELY_DAYS = 7
DAY = 86_400


def _running(lobby: Lobby, user_id: str | None = None) -> list[RunningGame]:
    """The games that run, newest first; with `user_id` those of this bot."""
    found = (
        room
        for room in reversed(lobby.rooms.values())
        if not room.finished and (user_id is None or any(seat.player.user_id == user_id for seat in room.seats))
    )
    return running_games(list(islice(found, LISTED)))


async def _kept(
    lobby: Lobby, limit: int, *, before: int | None = None, bot: str | None = None
) -> tuple[list[GameRow], int | None]:
    """Kept games and, if there are more, from where."""
    rows = await lobby.store.read(lambda connection: list_games(connection, bot=bot, before=before, limit=limit + 1))
    return rows[:limit], rows[limit - 1].number if len(rows) > limit else None


def add_site(app: FastAPI, lobby: Lobby, streams: Streams) -> None:
    """The pages. To be added last: any path of one word may be a game."""
    _add_registration(app, lobby)
    _add_viewer_files(app)
    _add_bots(app, lobby)

    @app.get("/assets/{name}", response_class=Response)
    async def asset(name: str) -> Response:
        """The style sheet of the pages, and the script of those that keep up by themselves."""
        found = page_asset(name)
        return missing() if found is None else _file(*found)

    @app.get("/", response_class=HTMLResponse)
    async def home() -> Response:
        """The games that run and those played last."""
        kept, more = await _kept(lobby, SHOWN)
        return html("home.html", headers=LIVELY, running=_running(lobby), kept=kept, more=more)

    @app.get("/games", response_class=HTMLResponse, openapi_extra=queries(before=BEFORE))
    async def games(request: Request) -> Response:
        """Kept games, newest first. Parameter: before (only those with a smaller number)."""
        kept, more = await _kept(lobby, LISTED, before=_number(request, "before"))
        return html("games.html", kept=kept, more=more)

    @app.get("/records/{game_id}", response_class=Response)
    async def record(game_id: str) -> Response:
        """The record of a kept game, as JSON."""
        found = await lobby.store.read(lambda connection: find_record(connection, game_id))
        return missing() if found is None else Response(dumps(found), media_type="application/json")

    @app.get("/{game_id}", response_class=HTMLResponse, openapi_extra=queries(ply=PLY))
    async def game(request: Request, game_id: str) -> Response:
        """The page of a running or kept game. Parameter: ply (the game as plain text after so many plies)."""
        plain = "ply" in request.query_params
        if streams.page_feed(game_id) is not None and not plain:
            return viewer_page(lobby.rooms[game_id])
        room = lobby.rooms.get(game_id)
        if room is None or room.finished:
            kept = await lobby.store.read(lambda connection: find_record(connection, game_id))
            if kept is not None:
                return _kept_game(kept, _number(request, "ply")) if plain else _kept_viewer(kept)
        if room is None:
            return missing()
        players, plies = room.history.players, len(room.history)
        return game_page(game_id, room.games, players, ply=plies, plies=plies, live=not room.finished)


def viewer_page(room: Room, following: str = "") -> HTMLResponse:
    """The page of a running game; `following` is the address where to go after its end."""
    return _viewer(head(room.history, title=f"game {room.id}", source="server", live=True), room.id, following)


def _kept_viewer(record: GameRecord) -> HTMLResponse:
    """The page of a kept game; its plies come as events."""
    return _viewer(head(GameHistory.begun(record), title=f"game {record.id}", source="server"), record.id)


def _viewer(bundle: Bundle, game_id: str, following: str = "") -> HTMLResponse:
    addresses = {"home": "/"}
    if following:
        addresses["next"] = following
    if not bundle["live"]:
        addresses["record"] = f"/records/{game_id}"
    markup = served_page(bundle, f"/plies/{game_id}", plain=f"/{game_id}?ply", **addresses)
    return HTMLResponse(markup, headers=HEADERS | {"Content-Security-Policy": served_policy(), "Cache-Control": "no-cache"})


def _add_viewer_files(app: FastAPI) -> None:
    @app.get("/viewer/{name}", response_class=Response)
    async def viewer_file(name: str) -> Response:
        """A script or the style sheet of the page of a game."""
        found = static_files().get(name)
        return missing() if found is None else _file(found, TYPES[f".{name.rpartition('.')[2]}"])


def _file(content: bytes, kind: str) -> Response:
    return Response(content, media_type=kind, headers={"X-Content-Type-Options": "nosniff", "Cache-Control": "no-cache"})


def _kept_game(record: GameRecord, ply: int | None) -> HTMLResponse:
    history = played(record)
    plies = len(history)
    ply = plies if ply is None else min(max(ply, 0), plies)
    games = history.state(ply)
    return game_page(record.id, games, history.players, ply=ply, plies=plies, live=False, ending=record.ending)


def _number(request: Request, parameter: str) -> int | None:
    return read_int(request.query_params.get(parameter, ""))


def _add_bots(app: FastAPI, lobby: Lobby) -> None:
    @app.get("/ai", response_class=HTMLResponse, openapi_extra=queries(days=DAYS, page=PAGE))
    async def bots(request: Request) -> Response:
        """The table of bots, best first. Parameters: days (only who played in the last so many days), page."""
        days = _number(request, "days")
        if days is not None:
            days = max(0, days)
        since = 0.0 if days is None else time.time() - days * DAY
        users = [user for user in lobby.users if days is None or (user.played or 0.0) > since]
        users.sort(key=lambda user: (-user.elo, user.name, user.id))
        page = max(1, _number(request, "page") or 1)
        first, beyond = (page - 1) * BOTS_PER_PAGE, page * BOTS_PER_PAGE
        return html(
            "bots.html",
            users=users[first:beyond],
            first=first + 1,
            days=days,
            lately=LATELY_DAYS,
            before=page - 1 if page > 1 else None,
            after=page + 1 if beyond < len(users) else None,
        )

    @app.get("/ai/{user_id}", response_class=HTMLResponse, openapi_extra=queries(before=BEFORE))
    async def bot(request: Request, user_id: str) -> Response:
        """A bot and its games. Parameter: before (only games with a smaller number)."""
        user = lobby.users.by_id(user_id)
        if user is None:
            return missing()
        kept, more = await _kept(lobby, LISTED, before=_number(request, "before"), bot=user_id)
        return html("bot.html", headers=LIVELY, user=user, running=_running(lobby, user_id), kept=kept, more=more)


def _add_registration(app: FastAPI, lobby: Lobby) -> None:
    @app.get("/register", response_class=HTMLResponse)
    async def register_form() -> Response:
        """The form of the registration."""
        return html("register.html", message="", given="")

    @app.post("/register", response_class=HTMLResponse, openapi_extra=operation(name=NAME, required=("name",)))
    async def register(request: Request) -> Response:
        """Register a bot. Parameter: name (3 to 20 characters). The page shows the key, this once."""
        given = (await read_parameters(request, lobby.settings)).get("name", "")
        try:
            key = await lobby.registrations.sign_up(given, client_address(request))
        except RegistrationError as error:
            return html("register.html", 400, message=error.message, given=given)
        except Refusal as refusal:
            later = {"Retry-After": str(refusal.retry_after)}
            return html("register.html", refusal.status, later, message=refusal.text, given=given)
        return html("registered.html", headers={"Cache-Control": "no-store"}, given=given, key=key)
