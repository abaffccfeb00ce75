"""The administrator's endpoints under ``/api/admin``, for bots and private matches. Requests and answers are JSON.

Every request needs the header ``Authorization: Bearer KEY``, where KEY is the administrator's key. If the settings have no
administrator's key, the server does not have these endpoints. A request that creates bots is answered with the bots' new keys. No
later answer repeats these keys.
"""

from __future__ import annotations

import secrets
from collections import OrderedDict
from collections.abc import Sequence
from typing import Annotated, Any, Literal, TypeVar

from fastapi import Depends, FastAPI, Request
from fastapi.responses import JSONResponse, PlainTextResponse, Response
from fastapi.security import HTTPAuthorizationCredentials, HTTPBearer
from pydantic import BaseModel, ConfigDict, Field, SecretStr, ValidationError

from sim.game import SEATS
from vindibot.base.errors import UsageError, VindibotError
from vindibot.config.messages import dotted, explain
from vindibot.server.admin.roster import RosterEntry, roster_from_bytes
from vindibot.server.limits import client_address
from vindibot.server.lobby import RANDOM_BOT, Lobby
from vindibot.server.match import NO_LIMITS, Match
from vindibot.server.refusal import Refusal
from vindibot.server.settings import ServerSettings
from vindibot.server.users import RegistrationError, User

#: Largest number of private matches that are listed. When there are more matches, the oldest match is cancelled and dropped.
MAX_MATCHES = 1000
NO_ADMIN_KEY = "The administrator's key is missing or wrong: send it as  Authorization: Bearer KEY"

_BEARER = HTTPBearer(scheme_name="administrator", auto_error=False)
_Model = TypeVar("_Model", bound=BaseModel)


class AdminRequest(BaseModel):
    """The body of a request of the administrator."""

    model_config = ConfigDict(extra="forbid", hide_input_in_errors=True)


class MatchRequest(AdminRequest):
    """A request for a private match."""

    seats: tuple[str, ...] = Field(min_length=SEATS, max_length=SEATS, description='ids or names of bots, or "random"')
    map: str | None = Field(default=None, max_length=10_000, description="name or text of the map; generated if missing")
    seed: int | None = Field(default=None, ge=0, lt=2**63, description="seed of the map and of random bots")
    rounds: int | None = Field(default=None, ge=1, le=100_000, description="length of the game in rounds of four plies")
    time_limit_ms: int | None = Field(default=None, ge=1, le=86_400_000, description="time for a move in milliseconds")
    first_limit_ms: int | None = Field(
        default=None, ge=1, le=86_400_000, description="time for the first move of each hero in milliseconds, if it is longer"
    )
    seat_limits_ms: tuple[Annotated[int, Field(ge=1, le=86_400_000)] | None, ...] = Field(
        default=NO_LIMITS,
        min_length=SEATS,
        max_length=SEATS,
        description="for each seat, the time for a move in milliseconds, or null for the time limit of the match",
    )
    pace: Literal["none", "original"] | None = Field(default=None, description="shortest times of moves")
    training: bool = Field(default=False, description="whether the crash of any hero ends the game")
    rated: bool = Field(default=False, description="whether the game changes ratings")


class Administration:
    """Checks the administrator's key. `matches` has the private matches that the administrator has arranged, by number."""

    def __init__(self, key: SecretStr, lobby: Lobby) -> None:
        self._key = key
        self.lobby = lobby
        self.matches: OrderedDict[str, Match] = OrderedDict()
        #: The dependencies of a route that only the administrator may use.
        self.required = [Depends(self.check)]

    def allows(self, key: str) -> bool:
        """Return whether this is the administrator's key."""
        return secrets.compare_digest(key.encode(errors="surrogateescape"), self._key.get_secret_value().encode())

    async def check(self, request: Request, given: Annotated[HTTPAuthorizationCredentials | None, Depends(_BEARER)]) -> None:
        """Raise `Refusal` if the request does not have the administrator's key. Delay the answer to a wrong key."""
        if given is None:
            raise Refusal(401, NO_ADMIN_KEY)
        if not self.allows(given.credentials):
            await self.lobby.limits.delay_guess("keys", client_address(request))
            raise Refusal(401, NO_ADMIN_KEY)

    def arrange(self, request: MatchRequest) -> str:
        """Arrange a private match. Return the number of the match (a string). Raises `UsageError`."""
        seats = [seat if seat == RANDOM_BOT else self._user(seat) for seat in request.seats]
        match = self.lobby.arrange(seats=seats, **request.model_dump(exclude={"seats"}))
        number = secrets.token_hex(4)
        self.matches[number] = match
        if len(self.matches) > MAX_MATCHES:
            self.lobby.cancel(self.matches.popitem(last=False)[1])
        return number

    def _user(self, id_or_name: str) -> User:
        user = self.lobby.users.by_id(id_or_name) or self.lobby.users.by_name(id_or_name)
        if user is None:
            raise UsageError(f"there is no bot with the id or name {id_or_name[:40]!r}")
        return user

    def match(self, number: str) -> Match:
        """Return the match with this number. Raises `Refusal` if there is no such match."""
        if number not in self.matches:
            raise Refusal(404, "There is no such match")
        return self.matches[number]


def match_state(number: str, match: Match) -> dict[str, Any]:
    """Return the state of the private match with this number, as a dict for JSON."""
    result = match.result()
    state = "cancelled" if match.cancelled else "finished" if result else "running" if match.room else "waiting"
    shown: dict[str, Any] = {"id": number, "state": state, "missing": match.missing() if state == "waiting" else []}
    shown["game"] = match.room.id if match.room else None
    if result is not None:
        shown["result"] = {name: getattr(result, name) for name in ("names", "gold", "crashed", "turn", "ending")}
        shown["result"]["winner"] = None if result.winner is None else result.winner + 1
    return shown


async def read_model(request: Request, model: type[_Model]) -> _Model:
    """Return the body of a request, which must be JSON for this model. Raises `Refusal`."""
    try:
        return model.model_validate_json(await request.body())
    except ValidationError as error:
        slip = error.errors(include_url=False)[0]
    raise Refusal(400, f"{dotted(slip['loc'])} {explain(slip, secret=True, known=list(model.model_fields))}".strip())


def body_of(model: type[BaseModel]) -> dict[str, Any]:
    """Return the OpenAPI description of a body with this model in JSON."""
    schema = model.model_json_schema()
    definitions = schema.pop("$defs", {})
    for name, field in schema["properties"].items():
        if "$ref" in field:  # this reference would be invalid within the OpenAPI description of the whole server
            schema["properties"][name] = definitions[field["$ref"].rpartition("/")[2]]
    return {"requestBody": {"required": True, "content": {"application/json": {"schema": schema}}}}


def keys_of(roster: Sequence[RosterEntry]) -> list[dict[str, str]]:
    """Return the bots of a roster as dicts for JSON: the name of each bot, and its key if the key is new."""
    return [{"name": entrant.name} | ({"key": entrant.key} if entrant.made else {}) for entrant in roster]


def add_administration(app: FastAPI, lobby: Lobby, settings: ServerSettings) -> Administration | None:
    """Add the administrator's routes, if the settings have an administrator's key. Return the check of this key."""
    if settings.admin_key is None:
        return None
    administration = Administration(settings.admin_key, lobby)
    allowed = administration.required

    @app.exception_handler(VindibotError)
    async def refused(request: Request, problem: VindibotError) -> Response:
        if request.url.path.startswith("/api/admin/"):
            return JSONResponse({"error": problem.message}, 400)
        return PlainTextResponse("Internal Server Error", 500)

    @app.post("/api/admin/bots", dependencies=allowed, openapi_extra=_roster_body())
    async def add_bots(request: Request) -> Response:
        """Register the bots of a roster. The answer has the names of the bots, and their new keys.

        The roster is JSON (a list of names, or of objects with name and key) or CSV (a heading name,key and a line per bot).
        """
        is_csv = request.headers.get("content-type", "").partition(";")[0].strip().lower() == "text/csv"
        roster = roster_from_bytes(await request.body(), is_csv=is_csv)
        for entrant in roster:
            if lobby.users.find(entrant.key) is not None:
                raise RegistrationError(f"the key of {entrant.name} is already in use; no bot was registered")
        await lobby.users.add_all([(entrant.name, entrant.key, entrant.made) for entrant in roster])
        return JSONResponse(keys_of(roster), 201, {"Cache-Control": "no-store"})

    @app.get("/api/admin/matches", dependencies=allowed)
    async def matches() -> Response:
        """The states of all private matches."""
        return JSONResponse([match_state(number, match) for number, match in administration.matches.items()])

    @app.post("/api/admin/matches", dependencies=allowed, openapi_extra=body_of(MatchRequest))
    async def arrange(request: Request) -> Response:
        """Arrange a private match. It begins when all its bots have asked for an arena game."""
        number = administration.arrange(await read_model(request, MatchRequest))
        return JSONResponse(match_state(number, administration.matches[number]), 201)

    @app.get("/api/admin/matches/{number}", dependencies=allowed)
    async def match(number: str) -> Response:
        """The state of a private match."""
        return JSONResponse(match_state(number, administration.match(number)))

    @app.delete("/api/admin/matches/{number}", dependencies=allowed)
    async def cancel(number: str) -> Response:
        """Cancel a match that has not begun."""
        lobby.cancel(administration.match(number))
        return JSONResponse(match_state(number, administration.match(number)))

    return administration


def _roster_body() -> dict[str, Any]:
    item = {
        "anyOf": [{"type": "string"}, {"type": "object", "properties": {"name": {"type": "string"}, "key": {"type": "string"}}}]
    }
    content = {
        "application/json": {"schema": {"type": "array", "items": item, "minItems": 1}},
        "text/csv": {"schema": {"type": "string"}},
    }
    return {"requestBody": {"required": True, "content": content}}
