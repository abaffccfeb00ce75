"""The page of a league's organiser, with which the organiser starts and pauses the league and undoes absences.

The organiser logs in with the organiser's key of the league or with the administrator's key. Then a cookie stands for the key.
Each form of the page also has a secret that only this page contains, so that no other site can send a form in the organiser's
name. A program sends the key with each action (``vindibot league start``), and gets the state of the league as JSON.

The administrator also makes leagues, with the endpoints below ``/api/admin/leagues``, whose requests and answers are JSON.
"""

from __future__ import annotations

import hmac
import secrets
from collections import OrderedDict
from typing import Any, Literal

from fastapi import FastAPI, Request
from fastapi.responses import HTMLResponse, JSONResponse, RedirectResponse, Response
from pydantic import Field

from vindibot.base.errors import UsageError, VindibotError
from vindibot.league.director import Director
from vindibot.league.league import NAME, State
from vindibot.league.pages import league_values, overview
from vindibot.league.registry import LeagueRegistry
from vindibot.league.settings import LeagueSettings
from vindibot.server.admin.roster import roster_from_list
from vindibot.server.admin.routes import Administration, AdminRequest, body_of, keys_of, read_model
from vindibot.server.parameters import operation, read_parameters
from vindibot.server.refusal import Refusal
from vindibot.server.settings import ServerSettings
from vindibot.server.site.pages import html

#: The state of a league that each action sets. Two more actions change absences: "skip" and "undo".
STATES: dict[str, State] = {"start": "running", "pause": "paused", "resume": "running", "end": "over"}
SKIP, UNDO = "skip", "undo"
COOKIE = "organiser"
#: Largest number of browsers that are logged in. When there are more, the oldest login ends.
MAX_SESSIONS = 1000
#: Length of the secrets in cookies and forms, in random bytes.
SECRET_BYTES = 24
WRONG_KEY = "This is not the organiser's key of this league"
_PRIVATE = {"Cache-Control": "no-store"}
_WORD = {"type": "string"}


async def act(director: Director, action: str, bot: str | None = None) -> None:
    """Start, pause, resume or end a league ("start", ...), let it go on without the bots that it awaits ("skip"), or undo the
    absences of a bot ("undo"; None for all bots).

    Return when the new state is stored. Raises `UsageError` if this cannot be done now, `VindibotError` if it cannot be stored.
    """
    if action == UNDO:
        director.undo_absences(bot or None)
    elif action == SKIP:
        director.skip_absent()
    elif action in STATES:
        director.set_state(STATES[action])
    else:
        raise UsageError(f"there is no action {action[:40]!r}: choose {', '.join(STATES)}, {SKIP} or {UNDO}")
    await director.store()


def status_of(problem: VindibotError) -> int:
    """Return the status of an answer about a problem of `act`."""
    return 400 if isinstance(problem, UsageError) else 500


def add_organiser(app: FastAPI, leagues: LeagueRegistry, settings: ServerSettings, administration: Administration | None) -> None:
    """Add the route ``/leagues/NAME/organiser``. `administration` checks the administrator's key."""
    sessions: OrderedDict[tuple[str, str], str] = (
        OrderedDict()
    )  # the secret for forms, by the league and the secret in the cookie

    def form_of(request: Request, name: str) -> str | None:
        """Return the secret for the forms of the browser that sends this request, None if it is not logged in."""
        return sessions.get((name, request.cookies.get(COOKIE, "")))

    def log_in(request: Request, name: str) -> Response:
        cookie, path, secure = secrets.token_urlsafe(SECRET_BYTES), request.url.path, request.url.scheme == "https"
        sessions[name, cookie] = secrets.token_urlsafe(SECRET_BYTES)
        if len(sessions) > MAX_SESSIONS:
            sessions.popitem(last=False)
        answer = RedirectResponse(path, 303, _PRIVATE)
        answer.set_cookie(COOKIE, cookie, path=path, secure=secure, httponly=True, samesite="strict")
        return answer

    def page(request: Request, director: Director, status: int = 200, message: str = "") -> Response:
        form = form_of(request, director.league.name)
        if form is None:
            keyless = director.league.organiser is None and settings.admin_key is None
            return html("league/organiser_login.html", status, _PRIVATE, league=director.league, message=message, keyless=keyless)
        return html("league/organiser.html", status, _PRIVATE, **league_values(director, request), form=form, message=message)

    @app.get("/leagues/{name}/organiser", response_class=HTMLResponse)
    async def organiser(request: Request, name: str) -> Response:
        """The page of the league's organiser: the bots that are there, and buttons that start and pause the league."""
        return page(request, leagues.find(name))

    @app.post(
        "/leagues/{name}/organiser",
        response_class=HTMLResponse,
        openapi_extra=operation(key=_WORD, action=_WORD, bot=_WORD, form=_WORD),
    )
    async def organise(request: Request, name: str) -> Response:
        """Log in with the key, or start, pause, resume or end the league, go on without absent bots, or undo absences.

        Parameters: key (the organiser's or the administrator's key), action (start, pause, resume, end, skip or undo), bot (with
        undo: the name of a bot; without it, the absences of all bots are undone), form (instead of the key: the secret of the
        page).
        """
        parameters = await read_parameters(request)
        director = leagues.find(name)
        key, action = parameters.get("key", "").strip(), parameters.get("action", "")
        if key:
            if not (director.league.is_organiser(key) or (administration is not None and administration.allows(key))):
                if action:
                    raise Refusal(401, WRONG_KEY)
                return page(request, director, 401, WRONG_KEY)
            if action:
                try:
                    await act(director, action, parameters.get("bot"))
                except VindibotError as problem:
                    raise Refusal(status_of(problem), problem.message) from None
                return JSONResponse(overview(director), headers=_PRIVATE)
            return log_in(request, name)
        form = form_of(request, name)
        if form is None or not hmac.compare_digest(form.encode(), parameters.get("form", "").encode()):
            return page(request, director, 401, "Send the form of this page, or log in again")
        try:
            await act(director, action, parameters.get("bot"))
        except VindibotError as problem:
            return page(request, director, status_of(problem), problem.message)
        return RedirectResponse(request.url.path, 303, _PRIVATE)


# ---- The administrator ----


class LeagueRequest(AdminRequest):
    """A request for a new league."""

    name: str = Field(pattern=f"^{NAME}$", description="the name of the league, as in its address")
    settings: LeagueSettings = LeagueSettings()
    roster: list[Any] = Field(description="names, or objects with a name and an optional key of 8 characters")


def add_league_routes(app: FastAPI, administration: Administration, leagues: LeagueRegistry, settings: ServerSettings) -> None:
    """Add the routes with which the administrator makes and changes leagues."""
    allowed = administration.required

    @app.get("/api/admin/leagues", dependencies=allowed)
    async def all_leagues() -> Response:
        """The states and the standings of all leagues."""
        return JSONResponse([overview(director) for director in leagues.directors.values()])

    @app.post("/api/admin/leagues", dependencies=allowed, openapi_extra=body_of(LeagueRequest))
    async def create(request: Request) -> Response:
        """Make a league, which waits for its start. The answer has the bots' new keys. No later answer repeats these keys."""
        wanted = await read_model(request, LeagueRequest)
        roster = roster_from_list(wanted.roster)
        director = leagues.create(wanted.name, wanted.settings, roster)
        return JSONResponse(overview(director) | {"bots": keys_of(roster)}, 201, {"Cache-Control": "no-store"})

    @app.get("/api/admin/leagues/{name}", dependencies=allowed)
    async def league(name: str) -> Response:
        """The state and the standings of a league, and all its games."""
        director = leagues.find(name)
        fixtures = [fixture.model_dump(mode="json") for fixture in director.league.fixtures]
        return JSONResponse(overview(director) | {"bots": director.league.names, "fixtures": fixtures})

    @app.post("/api/admin/leagues/{name}/{action}", dependencies=allowed)
    async def organise(
        name: str, action: Literal["start", "pause", "resume", "end", "skip", "undo"], bot: str | None = None
    ) -> Response:
        """Start, pause, resume or end a league, go on without the bots that it awaits ("skip"), or undo absences.

        Running games are played to their end. The answer comes once this is stored.

        With undo, the parameter bot is the name of a bot. Without it, the absences of all bots are undone.
        """
        director = leagues.find(name)
        await act(director, action, bot)
        return JSONResponse(overview(director))
