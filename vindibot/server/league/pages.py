"""The public pages of the leagues, and their standings as JSON and CSV."""

from __future__ import annotations

from dataclasses import asdict
from datetime import datetime
from typing import Any

from fastapi import FastAPI, Request
from fastapi.responses import HTMLResponse, JSONResponse, Response

from vindibot.server.app import address_of
from vindibot.server.league.director import Director
from vindibot.server.league.fixtures import Fixture
from vindibot.server.league.registry import LeagueRegistry
from vindibot.server.league.settings import play_command
from vindibot.server.league.standings import as_csv
from vindibot.server.site.pages import html, not_found
from vindibot.server.site.running_games import RunningGames

#: Seconds after which a browser without scripts loads the page again. With scripts, pages are refreshed in place.
REFRESH_SECONDS = 5
#: Number of boards of running games, and number of results, on the page for a projector. Without boards the page shows twice as
#: many results.
PROJECTOR_BOARDS, PROJECTOR_RESULTS = 2, 3
#: Largest number of rows of the table on the page for a projector: in one column, in two columns, and in two columns of smaller
#: type. Further rows are left out.
FEW_ROWS, MANY_ROWS, MOST_ROWS = 14, 28, 44


def add_league_pages(app: FastAPI, leagues: LeagueRegistry) -> None:
    """Add the routes for the pages of the leagues.

    The routes are ``/leagues`` and, for each league, ``/leagues/NAME``, ``/leagues/NAME/projector``,
    ``/leagues/NAME/standings.json`` and ``/leagues/NAME/standings.csv``.
    """
    running = RunningGames(leagues.lobby)

    @app.get("/leagues", response_class=HTMLResponse)
    async def all_leagues() -> Response:
        """All leagues of this server."""
        return html("leagues.html", leagues={name: director.league for name, director in leagues.directors.items()})

    @app.get("/leagues/{name}", response_class=HTMLResponse)
    async def league(request: Request, name: str) -> Response:
        """The standings of a league. The page refreshes itself every few seconds."""
        director = leagues.directors.get(name)
        if director is None:
            return not_found()
        return html("league.html", **league_values(director, request))

    @app.get("/leagues/{name}/projector", response_class=HTMLResponse)
    async def projector(request: Request, name: str) -> Response:
        """The standings and the running games of a league in large type, for a projector. The page refreshes itself."""
        director = leagues.directors.get(name)
        if director is None:
            return not_found()
        return html("projector.html", **league_values(director, request), **_for_projector(director, running))

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
    """Return the state and the standings of a league as a dict for JSON."""
    league = director.league
    return {
        "name": league.name,
        "state": league.state,
        "table": league.settings.table,
        "system": league.settings.system,
        "day": league.day,
        "days": league.days,
        "games": len(league.fixtures),
        "played": len(league.fixtures) - len(league.pending()),
        "running": [room for fixture in league.fixtures if (room := director.room_id(fixture))],
        "waiting": director.waiting(),
        "missing": director.missing(),
        "absences": director.reversible(),
        "standings": [asdict(row) for row in league.table()],
    }


def league_values(director: Director, request: Request) -> dict[str, Any]:
    """Return the values for the templates of a league's pages: its state, its bots, its table, and the games of the day."""
    league, address = director.league, address_of(request)
    return {
        "league": league,
        "table": league.table(),
        "state": _state(director),
        "waiting": league.state == "waiting",
        "present": director.present(),
        "missing": [] if league.over else director.missing(),
        "reversible": director.reversible(),
        "address": address,
        "join": play_command(league.settings, address),
        "games": [(fixture, director.room_id(fixture)) for fixture in league.fixtures if fixture.day == league.day],
        "gold": _gold,
        "refresh": REFRESH_SECONDS,
    }


def _state(director: Director) -> str:
    """Return the state of a league in words. A start is in the server's time zone."""
    league = director.league
    if league.state == "running":
        return f"{len(director.running)} running"
    if league.state != "waiting" or league.settings.start is None:
        return "not started" if league.state == "waiting" else league.state
    start = league.settings.start.astimezone()
    today = start.date() == datetime.now(start.tzinfo).date()
    return f"starts at {start:%H:%M}" if today else f"starts at {start:%Y-%m-%d %H:%M}"


def _for_projector(director: Director, running: RunningGames) -> dict[str, Any]:
    """Return the values that only the template for a projector needs: columns of the table, its size, boards, results."""
    table = director.league.table()
    shown = table[:MOST_ROWS]
    rows = len(shown) if len(shown) <= FEW_ROWS else -(-len(shown) // 2)
    rooms = [match.room for match in director.running.values() if match.room is not None and not match.room.finished]
    decided = [fixture for fixture in director.league.fixtures if fixture.result is not None and fixture.result.gold is not None]
    return {
        "columns": [shown[:rows], shown[rows:]] if len(shown) > rows else [shown],
        "size": "few" if len(shown) <= FEW_ROWS else "many" if len(shown) <= MANY_ROWS else "most",
        "others": len(table) - len(shown),
        "boards": running.of(rooms[:PROJECTOR_BOARDS]),
        "unseen": len(rooms[PROJECTOR_BOARDS:]),
        "results": decided[-PROJECTOR_RESULTS * (1 if rooms else 2) :][::-1],
    }


def _gold(fixture: Fixture) -> list[int]:
    """Return the gold of each entrant in a fixture, summed over the entrant's heroes. It is 0 if the fixture was not played."""
    gold = fixture.result.gold if fixture.result is not None and fixture.result.gold is not None else ()
    return [sum(amount for amount, owner in zip(gold, fixture.seats, strict=True) if owner == side) for side in fixture.entrants]
