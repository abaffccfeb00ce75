"""The public pages of the leagues, and their standings as JSON and CSV."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from fastapi import FastAPI
from fastapi.responses import HTMLResponse, JSONResponse, Response

from vindibot.server.league.director import Director
from vindibot.server.league.fixtures import Fixture
from vindibot.server.league.registry import LeagueRegistry
from vindibot.server.league.standings import as_csv
from vindibot.server.pages import html, not_found

#: Seconds after which a browser loads the page again.
REFRESH_SECONDS = 5


def add_league_pages(app: FastAPI, leagues: LeagueRegistry) -> None:
    """Add the routes ``/leagues``, ``/leagues/NAME``, ``/leagues/NAME/standings.json`` and ``/leagues/NAME/standings.csv``."""

    @app.get("/leagues", response_class=HTMLResponse)
    async def all_leagues() -> Response:
        """All leagues of this server."""
        return html("leagues.html", leagues={name: director.league.state for name, director in leagues.directors.items()})

    @app.get("/leagues/{name}", response_class=HTMLResponse)
    async def league(name: str) -> Response:
        """The standings of a league. The browser loads the page again every few seconds."""
        director = leagues.directors.get(name)
        return not_found() if director is None else _page(director)

    @app.get("/leagues/{name}/standings.json", response_class=JSONResponse)
    async def as_json(name: str) -> Response:
        """The standings as JSON."""
        director = leagues.directors.get(name)
        return not_found() if director is None else JSONResponse(overview(director))

    @app.get("/leagues/{name}/standings.csv", response_class=Response)
    async def table(name: str) -> Response:
        """The standings as CSV."""
        director = leagues.directors.get(name)
        return not_found() if director is None else Response(as_csv(director.league.table()), media_type="text/csv")


def overview(director: Director) -> dict[str, Any]:
    """Return the state and the standings of a league as JSON values."""
    league = director.league
    return {
        "name": league.name,
        "state": league.state,
        "table": league.settings.table,
        "system": league.settings.system,
        "games": len(league.fixtures),
        "played": len(league.fixtures) - len(league.pending()),
        "running": [room for fixture in league.fixtures if (room := director.room_id(fixture))],
        "waiting": director.waiting(),
        "missing": director.missing(),
        "standings": [asdict(row) for row in league.table()],
    }


def _page(director: Director) -> HTMLResponse:
    """Return the page of a league: its state, its table, and the games of the current day."""
    league = director.league
    pending = league.pending()
    day = pending[0].day if pending else max((fixture.day for fixture in league.fixtures), default=0)
    running = league.state == "running"
    return html(
        "league.html",
        league=league,
        state=f"{len(director.running)} running" if running else league.state,
        missing=[] if league.over else director.missing(),
        played=len(league.fixtures) - len(pending),
        day=day,
        games=[(fixture, director.room_id(fixture)) for fixture in league.fixtures if fixture.day == day],
        gold=_gold,
        refresh=REFRESH_SECONDS,
    )


def _gold(fixture: Fixture) -> list[int]:
    """Return the gold of each entrant in a fixture, summed over the entrant's heroes. It is 0 if the fixture was not played."""
    gold = fixture.result.gold if fixture.result is not None and fixture.result.gold is not None else ()
    return [sum(amount for amount, owner in zip(gold, fixture.seats, strict=True) if owner == side) for side in fixture.entrants]
