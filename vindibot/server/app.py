"""The application (ASGI) of a server: the routes that players use, and the responses to errors."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Awaitable, Callable

import structlog
from fastapi import FastAPI, Request
from fastapi.responses import JSONResponse, PlainTextResponse, Response
from starlette.exceptions import HTTPException
from starlette.types import ASGIApp, Receive, Scope, Send

from vindibot.games.protocol import LIMIT_HEADER, encode_json, read_direction
from vindibot.server.limits import RequestLimits, client_address
from vindibot.server.lobby import Lobby
from vindibot.server.match import Claim
from vindibot.server.parameters import DIR, KEY, MAP, TURN, TURNS, operation, read_int, read_parameters
from vindibot.server.refusal import Refusal, game_error
from vindibot.server.room import Room, RoomSeat, Snapshot, Waiter
from vindibot.server.settings import ServerSettings
from vindibot.server.users import User

NO_KEY = "Did you forget the key parameter?"
#: HTTP status in the server's log if a client closed its connection before the answer. No client ever gets this status.
CLIENT_CLOSED = 499
MOVE_PATH = re.compile("/api/(?P<game_id>[^/]+)/(?P<token>[^/]+)/play")
Play = Callable[[Request], Awaitable[Response]]


def address_of(request: Request) -> str:
    """Return the address of this server as the sender of this request knows it, for example ``http://127.0.0.1:9000``."""
    return f"{request.scope['scheme']}://{request.headers.get('host') or request.url.netloc}"


class StateResponse(Response):
    """The response to a player: the newest state of the game, the player's hero, and the addresses for its next requests.

    Once the response is written to the connection, it calls `Room.sent`.
    """

    media_type = "application/json"

    def __init__(self, request: Request, room: Room, seat: RoomSeat, snapshot: Snapshot) -> None:
        host = request.headers.get("host") or request.url.netloc
        tail = encode_json(
            {
                "token": seat.token,
                "viewUrl": f"http://{host}/{room.id}",
                "playUrl": f"http://{host}/api/{room.id}/{seat.token}/play",
            }
        )
        body = b'{"game":%b,"hero":%b,%b' % (snapshot.game, snapshot.hero, tail[1:])
        limit = snapshot.limit_ms or room.time_limit_ms
        super().__init__(body, headers={LIMIT_HEADER: str(limit)})
        self._room, self._seat, self._snapshot = room, seat, snapshot

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send the response, then call `Room.sent`, even if sending fails."""
        try:
            await super().__call__(scope, receive, send)
        finally:
            self._room.sent(self._seat, self._snapshot)


def create_app(lobby: Lobby) -> FastAPI:
    """Return a FastAPI application with the routes for players. Use it in one event loop only."""
    settings = lobby.settings
    app = FastAPI(title="Vindinium", docs_url=None, redoc_url=None, redirect_slashes=False)
    app.add_middleware(MoveRoute, play=_add_game_routes(app, lobby), settings=settings)
    app.add_middleware(RequestLimits, settings=settings)

    @app.exception_handler(Refusal)
    async def refused(request: Request, refusal: Refusal) -> Response:
        return refusal.response(request.url.path, settings)

    @app.exception_handler(HTTPException)
    async def missing(request: Request, error: HTTPException) -> Response:
        return PlainTextResponse("This server has no such address", 404)

    @app.exception_handler(Exception)
    async def failed(request: Request, error: Exception) -> Response:
        structlog.get_logger("vindibot.server").error("request failed", error=type(error).__name__)
        return PlainTextResponse("Internal Server Error", 500)

    return app


class MoveRoute:
    """Middleware (ASGI) that answers moves by `play`. The application, which would need twice the time, answers all the rest."""

    def __init__(self, app: ASGIApp, play: Play, settings: ServerSettings) -> None:
        self._app, self._play, self._settings = app, play, settings

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request."""
        move = MOVE_PATH.fullmatch(scope["path"]) if scope["method"] == "POST" else None
        if move is None:
            await self._app(scope, receive, send)
            return
        scope["path_params"] = move.groupdict()
        try:
            response = await self._play(Request(scope, receive))
        except Refusal as refusal:
            response = refusal.response(scope["path"], self._settings)
        await response(scope, receive, send)


def _add_game_routes(app: FastAPI, lobby: Lobby) -> Play:
    """Add the routes for players. Return the function that answers moves."""

    @app.post("/api/training", response_class=Response, openapi_extra=operation(key=KEY, turns=TURNS, map=MAP, required=("key",)))
    async def training(request: Request) -> Response:
        """Play a training game against three random bots.

        Parameters: key, turns (number of rounds, at most 600), map (name or text of a map).
        """
        parameters = await read_parameters(request)
        turns = read_int(parameters.get("turns", ""))
        if turns is None and parameters.get("turns"):
            raise Refusal(400, NO_KEY)
        map_text = parameters.get("map") or None
        return await _join(request, lobby, parameters, lambda user: lobby.join_training(user, turns, map_text))

    @app.post("/api/arena", response_class=Response, openapi_extra=operation(key=KEY, required=("key",)))
    async def arena(request: Request) -> Response:
        """Play against three other bots. The answer comes once four bots have joined and it is your turn. Parameters: key."""
        parameters = await read_parameters(request)
        return await _join(request, lobby, parameters, lobby.join_arena)

    @app.post("/api/waiting", response_class=JSONResponse, openapi_extra=operation(key=KEY, required=("key",)))
    async def waiting(request: Request) -> Response:
        """How many clients are missing in the game that your bot waits for, and the page of your bot, as JSON. Parameters: key.

        `missing` is null if your bot waits for no game, or for a game of a league. Then `waitingFor` says in words what it waits
        for. `botUrl` is null before your bot's first game.
        """
        parameters = await read_parameters(request)
        user = lobby.known_user(_key(parameters), client_address(request))
        if user is None:
            return JSONResponse({"missing": None, "waitingFor": None, "botUrl": None})
        page = f"{address_of(request)}/ai/{user.id}"
        return JSONResponse({"missing": lobby.missing(user), "waitingFor": lobby.waits_for(user), "botUrl": page})

    @app.post(
        "/api/{game_id}/{token}/play",
        response_class=Response,
        openapi_extra=operation("game_id", "token", dir=DIR, turn=TURN, required=("dir",)),
    )
    async def play(request: Request) -> Response:
        """Make a move. The answer comes at your next turn.

        Parameters: dir (North, South, East, West or Stay), turn (optional: the turn that the move is for). A second request for
        the same turn gets the same answer.
        """
        parameters = await read_parameters(request)
        if not parameters.get("dir", "").strip():
            raise Refusal(400, "")
        room = lobby.room(request.path_params["game_id"])
        try:
            seat = room.find_seat(request.path_params["token"])
        except Refusal:
            await lobby.limits.delay_guess("tokens", client_address(request))
            raise
        turn = read_int(parameters.get("turn", ""))
        outcome = await room.move(seat, read_direction(parameters["dir"]), turn)
        return _answer(request, room, seat, outcome)

    return play


def _key(parameters: dict[str, str]) -> str:
    key = parameters.get("key", "").strip()
    if not key:
        raise Refusal(400, NO_KEY)
    return key


def _answer(request: Request, room: Room, seat: RoomSeat, outcome: Snapshot | Refusal) -> Response:
    if isinstance(outcome, Refusal):
        raise outcome
    return StateResponse(request, room, seat, outcome)


async def _join(request: Request, lobby: Lobby, parameters: dict[str, str], join: Callable[[User], Claim]) -> Response:
    """Let the bot with the key in `parameters` join a game by `join`, and return the answer with its first state."""
    address = client_address(request)
    user = await lobby.user(_key(parameters), address)
    with lobby.limits.hero(user.id, address) as places:
        claim = join(user)
        claim.places = places.pop_all()
    return await _await_game(request, lobby, claim)


async def _await_game(request: Request, lobby: Lobby, claim: Claim) -> Response:
    """Wait until the client's game has begun and its hero is to move, then return the answer with the state.

    `claim` is the client's place in the queue for a game. If the client disconnects first, it loses this place.
    """
    try:
        if not await _done_before_disconnect(request.receive, claim.waiter):
            claim.waiter.cancel()  # so that the room does not wait until this answer is sent
            return Response(status_code=CLIENT_CLOSED)
        outcome = await claim.waiter
    finally:
        lobby.leave(claim)
    if claim.room is None:
        raise outcome if isinstance(outcome, Refusal) else game_error("The game could not begin")
    return _answer(request, claim.room, claim.room.seats[claim.seat], outcome)


async def _done_before_disconnect(receive: Receive, waiter: Waiter) -> bool:
    """Wait until `waiter` is done or the client disconnects. Return whether `waiter` is done.

    Read the body of the request to its end before this call.
    """
    if not waiter.done():
        disconnect = asyncio.ensure_future(receive())
        try:
            await asyncio.wait((waiter, disconnect), return_when=asyncio.FIRST_COMPLETED)
        finally:
            disconnect.cancel()
    return waiter.done()
