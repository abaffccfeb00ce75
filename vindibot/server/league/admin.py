"""The administrator's endpoints for leagues, below ``/api/admin/leagues``. Requests and answers are JSON."""

from __future__ import annotations

from typing import Any, Literal

from fastapi import FastAPI, Request
from fastapi.responses import JSONResponse, Response
from pydantic import Field

from vindibot.server.admin.roster import roster_from_list
from vindibot.server.admin.routes import Administration, AdminRequest, body_of, keys_of, read_model
from vindibot.server.league.director import Director
from vindibot.server.league.league import NAME
from vindibot.server.league.organiser import act
from vindibot.server.league.pages import overview
from vindibot.server.league.registry import LeagueRegistry
from vindibot.server.league.settings import LeagueSettings
from vindibot.server.refusal import Refusal
from vindibot.server.settings import ServerSettings


class LeagueRequest(AdminRequest):
    """A request for a new league."""

    name: str = Field(pattern=f"^{NAME}$", description="the name of the league, as in its address")
    settings: LeagueSettings = LeagueSettings()
    roster: list[Any] = Field(description="names, or objects with a name and an optional key of 8 characters")


def add_league_orders(app: FastAPI, administration: Administration, leagues: LeagueRegistry, settings: ServerSettings) -> None:
    """Add the routes with which the administrator makes and changes leagues."""
    allowed = administration.required

    @app.get("/api/admin/leagues", dependencies=allowed)
    async def all_leagues() -> Response:
        """The states and the standings of all leagues."""
        return JSONResponse([overview(director) for director in leagues.directors.values()])

    @app.post("/api/admin/leagues", dependencies=allowed, openapi_extra=body_of(LeagueRequest))
    async def create(request: Request) -> Response:
        """Make a league, which waits for its start. The answer has the bots' new keys. No later answer repeats these keys."""
        wanted = await read_model(request, settings, LeagueRequest)
        roster = roster_from_list(wanted.roster)
        director = await leagues.create(wanted.name, wanted.settings, roster)
        return JSONResponse(overview(director) | {"bots": keys_of(roster)}, 201, {"Cache-Control": "no-store"})

    @app.get("/api/admin/leagues/{name}", dependencies=allowed)
    async def league(name: str) -> Response:
        """The state and the standings of a league, and all its games."""
        director = _director(leagues, name)
        fixtures = [fixture.model_dump(mode="json") for fixture in director.league.fixtures]
        return JSONResponse(overview(director) | {"bots": director.league.names, "fixtures": fixtures})

    @app.post("/api/admin/leagues/{name}/{action}", dependencies=allowed)
    async def organise(name: str, action: Literal["start", "pause", "resume", "end", "undo"], bot: str | None = None) -> Response:
        """Start, pause, resume or end a league, or undo absences. Running games are played to their end.

        The answer comes once this is stored.

        With undo, the parameter bot is the name of a bot. Without it, the absences of all bots are undone.
        """
        director = _director(leagues, name)
        await act(director, action, bot)
        return JSONResponse(overview(director))


def _director(leagues: LeagueRegistry, name: str) -> Director:
    if name not in leagues.directors:
        raise Refusal(404, "There is no such league")
    return leagues.directors[name]
