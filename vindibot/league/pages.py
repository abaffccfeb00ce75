"""The public pages of the leagues, and their standings as JSON and CSV."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from fastapi import FastAPI, Request
from fastapi.responses import HTMLResponse, JSONResponse, RedirectResponse, Response
from markupsafe import Markup
from starlette.exceptions import HTTPException

from sim.game import PLIES_PER_ROUND
from vindibot.base.pages import moment, qr_code, render
from vindibot.games.files.review import PHASES, Losses
from vindibot.league.director import Director
from vindibot.league.league import League
from vindibot.league.registry import LeagueRegistry
from vindibot.league.settings import play_command, time_left
from vindibot.league.standings import Fixture, as_csv
from vindibot.server.app import address_of
from vindibot.server.parameters import operation, read_parameters
from vindibot.server.refusal import Refusal
from vindibot.server.site.boards import RunningGames
from vindibot.server.site.pages import add_link, html
from vindibot.server.site.reviews import HeroReview, Reviews
from vindibot.server.site.routes import BotPages
from vindibot.server.users import User

#: Seconds after which a browser without scripts loads the page again. With scripts, pages are refreshed in place.
REFRESH_SECONDS = 5
#: Number of boards of running games, and number of results, on the page for a projector. Without boards the page shows twice as
#: many results.
PROJECTOR_BOARDS, PROJECTOR_RESULTS = 2, 3
#: Largest number of rows of the table on the page for a projector: in one column, in two columns, and in two columns of smaller
#: type. Further rows are left out.
FEW_ROWS, MANY_ROWS, MOST_ROWS = 14, 28, 44
#: Number of bad moves on the page of a bot.
WORST_MOVES = 10


def add_league_pages(app: FastAPI, leagues: LeagueRegistry, reviews: Reviews, bots: BotPages) -> None:
    """Add the routes for the pages of the leagues.

    The routes are ``/leagues`` and, for each league, ``/leagues/NAME``, ``/leagues/NAME/projector``, ``/leagues/NAME/games``,
    ``/leagues/NAME/bots/NUMBER``, ``/leagues/NAME/standings.json`` and ``/leagues/NAME/standings.csv``.
    """
    add_link(app, "/leagues", "Leagues")
    _add_bot_page(app, leagues, reviews, bots)
    running = RunningGames(leagues.lobby)

    @app.get("/leagues", response_class=HTMLResponse)
    async def all_leagues() -> Response:
        """All leagues of this server."""
        return html("league/leagues.html", leagues={name: director.league for name, director in leagues.directors.items()})

    @app.get("/leagues/{name}", response_class=HTMLResponse)
    async def league(request: Request, name: str) -> Response:
        """The standings of a league. The page refreshes itself every few seconds."""
        return html("league/league.html", **league_values(leagues.find(name), request))

    @app.get("/leagues/{name}/projector", response_class=HTMLResponse)
    async def projector(request: Request, name: str) -> Response:
        """The standings and the running games of a league in large type, for a projector. The page refreshes itself."""
        director = leagues.find(name)
        return html("league/projector.html", **league_values(director, request), **_for_projector(director, running, request))

    @app.get("/leagues/{name}/games", response_class=HTMLResponse)
    async def games(request: Request, name: str) -> Response:
        """The games of all days of a league, the newest day first."""
        director = leagues.find(name)
        fixtures = director.league.fixtures
        days = sorted({fixture.day for fixture in fixtures}, reverse=True)
        by_day = {day: [(fixture, director.room_id(fixture)) for fixture in fixtures if fixture.day == day] for day in days}
        return html("league/games.html", league=director.league, days=by_day, gold=_gold)

    @app.get("/leagues/{name}/standings.json", response_class=JSONResponse)
    async def as_json(name: str) -> Response:
        """The standings as JSON."""
        return JSONResponse(overview(leagues.find(name)))

    @app.get("/leagues/{name}/standings.csv", response_class=Response)
    async def table(name: str) -> Response:
        """The standings as CSV."""
        return Response(as_csv(leagues.find(name).league.table()), media_type="text/csv")


def overview(director: Director) -> dict[str, Any]:
    """Return the state and the standings of a league as a dict for JSON."""
    league = director.league
    return {
        "name": league.name,
        "state": league.state,
        "table": league.settings.table,
        "system": league.settings.system,
        "progress": league.progress(),
        "day": league.day,
        "days": league.days,
        "games": len(league.fixtures),
        "played": len(league.fixtures) - len(league.pending()),
        "running": [room for fixture in league.fixtures if (room := director.room_id(fixture))],
        "waiting": director.waiting(),
        "present": director.present(),
        "missing": director.missing(),
        "awaited": director.awaited(),
        "absences": director.reversible(),
        "standings": [asdict(row) for row in league.table()],
        "final": [
            {
                "name": final_round.name,
                "heats": [[asdict(row) | {"name": league.names[row.entrant]} for row in heat] for heat in final_round.heats],
            }
            for final_round in league.final()
        ],
        "winner": league.winner(),
    }


def league_values(director: Director, request: Request) -> dict[str, Any]:
    """Return the values for the templates of a league's pages: its state, its bots, its table, and the games of the day."""
    league, address = director.league, address_of(request)
    return {
        "league": league,
        "table": league.table(),
        "numbers": {name: number for number, name in enumerate(league.names, 1)},
        "final": league.final(),
        "winner": league.winner(),
        "state": _state(director),
        "waiting": league.state == "waiting",
        "present": director.present(),
        "missing": [] if league.over else director.missing(),
        "awaited": director.awaited(),
        "reversible": director.reversible(),
        "address": address,
        "join": play_command(league.settings, address),
        "games": [(fixture, director.room_id(fixture)) for fixture in league.fixtures if fixture.day == league.day],
        "gold": _gold,
        "refresh": REFRESH_SECONDS,
    }


def _state(director: Director) -> str:
    """Return the state of a league in words."""
    league, start = director.league, director.league.settings.start
    if league.state == "running":
        return f"{len(director.running)} running"
    if league.state != "waiting" or start is None:
        return "not started" if league.state == "waiting" else "break" if league.after_break else league.state
    return Markup("starts at {}, {}").format(moment(start.timestamp()), time_left(start))


def _for_projector(director: Director, running: RunningGames, request: Request) -> dict[str, Any]:
    """Return the values that only the template for a projector needs: columns of the table, its size, boards, results, code."""
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
        "code": qr_code(f"{address_of(request)}/leagues/{director.league.name}") if director.league.state == "waiting" else "",
        "unseen": len(rooms[PROJECTOR_BOARDS:]),
        "results": decided[-PROJECTOR_RESULTS * (1 if rooms else 2) :][::-1],
    }


@dataclass(frozen=True)
class _BotGame:
    """A game of a bot: its day in words, its fixture, the id of its running game or "", and the reviews of the bot's heroes.

    `heroes` are the bot's heroes (0..3). `reviews` has a review or None for each of them.
    """

    day: str
    fixture: Fixture
    room: str
    heroes: Sequence[int]
    reviews: Sequence[HeroReview | None]

    @property
    def state(self) -> str:
        """The state of the reviews in one word; "" if nobody has asked for them."""
        states = {played.state if played is not None else "" for played in self.reviews}
        return next((state for state in ("failed", "running", "waiting", "") if state in states), "ready")


def _add_bot_page(app: FastAPI, leagues: LeagueRegistry, reviews: Reviews, bots: BotPages) -> None:
    """Add a section to the page of a bot, and the route ``/leagues/NAME/bots/NUMBER`` of this page.

    NUMBER is the place of a bot in the roster, from 1. A bot that has never joined has a page too.
    """

    def director_of(name: str, number: int) -> Director:
        director = leagues.find(name)
        if not 1 <= number <= len(director.league.names):
            raise HTTPException(404)
        return director

    def section(director: Director, number: int) -> Markup:
        league, games = director.league, _games_of(director, number - 1, reviews)
        return render(
            "league/bot.html",
            league=league,
            number=number,
            row=next(row for row in league.table() if row.name == league.names[number - 1]),
            games=games,
            gold=_gold,
            busy=any(game.state in ("waiting", "running") for game in games),
            **_profile(league, games),
        )

    def sections(user: User) -> Markup:
        numbers = [(director, director.number_of(user)) for director in leagues.directors.values()]
        return Markup().join(section(director, number + 1) for director, number in numbers if number is not None)

    bots.sections.append(sections)

    @app.get("/leagues/{name}/bots/{number}", response_class=HTMLResponse)
    async def bot(request: Request, name: str, number: int) -> Response:
        """The page of a bot of a league, with its rank, its games, and the reviews of its games."""
        director = director_of(name, number)
        user = next((user for user in leagues.lobby.users if director.number_of(user) == number - 1), None)
        if user is not None:
            return await bots.page(request, user)
        return bots.page_without_user(director.league.names[number - 1], section(director, number))

    @app.post("/leagues/{name}/bots/{number}", response_class=Response, openapi_extra=operation(game={"type": "string"}))
    async def review(request: Request, name: str, number: int) -> Response:
        """Review the heroes of this bot in a game. Parameter: game (the id of the game)."""
        game_id = (await read_parameters(request)).get("game", "")
        director = director_of(name, number)
        for game in _games_of(director, number - 1, reviews):
            played = game.fixture.result is not None and game.fixture.result.game_id == game_id != ""
            if played and not all(reviews.ask(game_id, hero) for hero in game.heroes):
                raise Refusal(503, "Too many reviews wait already: try again later")
        return RedirectResponse(request.url.path, 303)


def _games_of(director: Director, number: int, reviews: Reviews) -> list[_BotGame]:
    """Return the games of the bot with this index, the newest game first."""
    games = []
    for fixture in director.league.fixtures:
        if number in fixture.entrants:
            absent = fixture.result is not None and number in fixture.result.absent
            heroes = [] if absent else [seat for seat, owner in enumerate(fixture.seats) if owner == number]
            game_id = fixture.result.game_id if fixture.result is not None else ""
            known = [reviews.find(game_id, hero) for hero in heroes]
            games.append(_BotGame(director.league.day_name(fixture.day), fixture, director.room_id(fixture), heroes, known))
    return games[::-1]


def _profile(league: League, games: Sequence[_BotGame]) -> dict[str, Any]:
    """Return the profile of a bot, and its worst moves: from the reviews that are ready, as values for the page of the bot."""
    losses, worst = Losses(), []
    for game in games:
        for played in game.reviews:
            if played is not None and played.review is not None:
                losses.add(Losses.of(played.review.of(played.hero), PLIES_PER_ROUND * league.settings.rounds))
                worst += [(played.game_id, turn) for turn in played.review.worst(WORST_MOVES, played.hero)]
    worst.sort(key=lambda pair: -pair[1].loss)
    phases = [(phase, gold / moves) for phase, (moves, gold) in zip(PHASES, losses.phases, strict=True) if moves]
    kinds = sorted(((kind, losses.per_move(kind)) for kind, gold in losses.kinds.items() if gold), key=lambda pair: -pair[1])
    return {"losses": losses, "phases": phases, "kinds": kinds, "worst": worst[:WORST_MOVES]}


def _gold(fixture: Fixture) -> list[int]:
    """Return the gold of each entrant in a fixture, summed over the entrant's heroes. It is 0 if the fixture was not played."""
    gold = fixture.result.gold if fixture.result is not None and fixture.result.gold is not None else ()
    return [sum(amount for amount, owner in zip(gold, fixture.seats, strict=True) if owner == side) for side in fixture.entrants]
