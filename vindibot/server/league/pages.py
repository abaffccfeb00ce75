"""What everybody may see of the leagues: a page, JSON and CSV of each one's standings."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from fastapi import FastAPI
from fastapi.responses import HTMLResponse, JSONResponse, Response

from vindibot.server import pages
from vindibot.server.league.director import Director
from vindibot.server.league.fixtures import Fixture
from vindibot.server.league.hall import Hall
from vindibot.server.league.standings import as_csv
from vindibot.server.site import html, missing

#: Seconds after which a browser asks for the page again.
REFRESH_SECONDS = 5
#: The columns of the table by field; # marks numbers.
HEADS = {
    "rank": "#",
    "name": "Bot",
    "points": "#Points",
    "games": "#Games",
    "wins": "#Won",
    "draws": "#Drawn",
    "losses": "#Lost",
    "buchholz": "#Opponents' points",
    "gold": "#Gold",
    "timeouts": "#Timed out",
    "absences": "#Absent",
}


def add_league_pages(app: FastAPI, hall: Hall) -> None:
    """Add the routes ``/leagues``, ``/leagues/NAME`` and below it ``standings.json`` and ``standings.csv``."""

    @app.get("/leagues", response_class=HTMLResponse)
    async def leagues() -> Response:
        """All leagues of this server."""
        rows = [(_link(name), pages.text(director.league.data.state)) for name, director in hall.directors.items()]
        return html(pages.page("Leagues", pages.table(("League", ""), rows, "No league is played here.")))

    @app.get("/leagues/{name}", response_class=HTMLResponse)
    async def league(name: str) -> Response:
        """The standings of a league, renewed every few seconds."""
        director = hall.directors.get(name)
        return missing() if director is None else html(league_page(director))

    @app.get("/leagues/{name}/standings.json", response_class=JSONResponse)
    async def as_json(name: str) -> Response:
        """The standings as JSON."""
        director = hall.directors.get(name)
        return missing() if director is None else JSONResponse(overview(director))

    @app.get("/leagues/{name}/standings.csv", response_class=Response)
    async def table(name: str) -> Response:
        """The standings as CSV."""
        director = hall.directors.get(name)
        return missing() if director is None else Response(as_csv(director.league.table()), media_type="text/csv")


def overview(director: Director) -> dict[str, Any]:
    """How a league stands, for programs."""
    league = director.league
    return {
        "name": league.name,
        "state": league.data.state,
        "table": league.settings.table,
        "system": league.settings.system,
        "games": len(league.fixtures),
        "played": len(league.fixtures) - len(league.pending()),
        "running": [room for fixture in league.fixtures if (room := director.room_of(fixture))],
        "waiting": director.waiting(),
        "missing": director.missing(),
        "standings": [asdict(row) for row in league.table()],
    }


def league_page(director: Director) -> str:
    """The page of a league: how it goes, the table, the games of the present day."""
    league = director.league
    pending = league.pending()
    day = pending[0].day if pending else max((fixture.day for fixture in league.fixtures), default=0)
    played = len(league.fixtures) - len(pending)
    kind = f"{league.settings.table}, {league.settings.system}"
    told = f"{kind}: {played} of {len(league.fixtures)} games decided, {_state(director)}."
    rows = [[_cell(value) for key, value in asdict(row).items() if key in HEADS] for row in league.table()]
    games = [(_sides(director, fixture), _standing(director, fixture)) for fixture in league.fixtures if fixture.day == day]
    link = f"/leagues/{league.name}/standings"
    body = (
        f"<p>{pages.text(told)}</p>\n{_missing(director)}"
        + pages.table(tuple(HEADS[key] for key in asdict(league.table()[0]) if key in HEADS), rows, "Nobody takes part.")
        + f"\n<h2>Day {day}</h2>\n"
        + pages.table(("Game", ""), games, "There are no games.")
        + f'\n<p>The standings as <a href="{link}.csv">CSV</a> and <a href="{link}.json">JSON</a></p>'
    )
    return pages.page(f"League {league.name}", body, refresh=None if league.over else REFRESH_SECONDS)


def _state(director: Director) -> str:
    return f"{len(director.running)} running" if director.league.data.state == "running" else director.league.data.state


def _missing(director: Director) -> str:
    names = [] if director.league.over else director.missing()
    return f"<p>Not connected: {', '.join(map(pages.name, names))}</p>\n" if names else ""


def _link(name: str) -> str:
    return f'<a href="/leagues/{pages.text(name)}">{pages.text(name)}</a>'


def _cell(value: object) -> str:
    return pages.name(value) if isinstance(value, str) else f"{value:g}" if isinstance(value, float) else str(value)


def _sides(director: Director, fixture: Fixture) -> str:
    return " – ".join(pages.name(director.league.names[number]) for number in fixture.entrants)


def _standing(director: Director, fixture: Fixture) -> str:
    names, result, room = director.league.names, fixture.result, director.room_of(fixture)
    if room:
        return f'<a href="/{room}">running</a>'
    if result is None:
        return "to be played again" if fixture.attempts else "to be played"
    if result.kind == "absent":
        return ", ".join(pages.name(names[number]) for number in result.absent) + " absent"
    if result.gold is None:
        return "rests"
    gold = [sum(result.gold[seat] for seat, owner in enumerate(fixture.seats) if owner == side) for side in fixture.entrants]
    return f'<a href="/{pages.text(result.game_id)}">{" : ".join(map(str, gold))}</a>'
