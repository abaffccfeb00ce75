"""The routes of the page of challenges: the page, its files and offers, and the game of a link.

The bearer token of a request is the token of a link (`vindibot.challenge.people`). If several people play, a request without a
token is from a spectator. The header `PAGE_ID` tells two pages with one link apart: only the first of them has the seat, until it
is closed.

The routes answer only requests from the page of challenges. They require JSON. The host in the address of the request must be an
IP address or a name of this machine. Without these checks, another page in the same browser could start bots or read votes. The
other page could even come from a foreign host whose name resolves to this machine.
"""

from __future__ import annotations

import ipaddress
import socket
from dataclasses import asdict
from typing import Any, TypeVar
from urllib.parse import urlsplit

from fastapi import Depends, FastAPI, Request
from fastapi.responses import HTMLResponse, JSONResponse, Response
from pydantic import BaseModel, ValidationError

from sim.game import DIRECTIONS
from sim.maps import Map, map_of
from vindibot.base.errors import UsageError, VindibotError
from vindibot.base.pages import qr_picture, render
from vindibot.challenge.game import ChallengeGame, Decision
from vindibot.challenge.host import Host
from vindibot.challenge.offers import TURN
from vindibot.challenge.people import People, Person
from vindibot.challenge.settings import LARGEST_SEED, LONGEST_NAME, GameRequest, PersonMove, PersonName
from vindibot.config.messages import dotted, explain
from vindibot.games.files.recorded_turn import Continuation
from vindibot.server.refusal import Refusal
from vindibot.viewer.bundle import StateWriter, VotesWriter
from vindibot.viewer.page import served_policy

#: The path of the page.
PATH = "/challenge"
#: Largest number of seconds that a request for votes waits for new votes.
WAIT_SECONDS = 20.0
#: The headers of the page.
PAGE_HEADERS = {"X-Content-Type-Options": "nosniff", "Referrer-Policy": "no-referrer", "Cache-Control": "no-cache"}
_TILES = ".#T-"
#: The answers have tokens, so no browser may keep them.
_UNKEPT = {"Cache-Control": "no-store"}
#: The header with the id of a page: any text.
PAGE_ID = "Page-Id"

_Model = TypeVar("_Model", bound=BaseModel)


# ---- Requests ----


def _trusted(request: Request) -> None:
    """Raise `Refusal` if a request comes from the page of another server, or if its host name is no name of this machine.

    An IP address in place of the host name is always accepted.
    """
    host = request.headers.get("host", "")
    try:
        name = urlsplit(f"//{host}").hostname or ""
        ipaddress.ip_address(name)
    except ValueError:
        own = socket.gethostname().lower()
        if name not in ("localhost", own, f"{own}.local"):
            raise Refusal(403, "Open this page under the address that the command printed") from None
    origin = request.headers.get("origin")
    if origin is not None and origin != f"http://{host}":
        raise Refusal(403, "This is for the page of this server")


#: The dependencies of a route that answers only requests from the page.
GUARDED = [Depends(_trusted)]


def bearer(request: Request) -> str:
    """Return the bearer token of a request, "" if it has none."""
    kind, _, token = request.headers.get("authorization", "").partition(" ")
    return token.strip() if kind.lower() == "bearer" else ""


async def read_json(request: Request, model: type[_Model]) -> _Model:
    """Return the body of a request, which must be JSON for this model.

    Raises `Refusal` for another media type, and `UsageError` for a wrong value.
    """
    if request.headers.get("content-type", "").partition(";")[0].strip().lower() != "application/json":
        raise Refusal(415, "Send the request as application/json")
    try:
        return model.model_validate_json(await request.body())
    except ValidationError as problem:
        first = problem.errors(include_url=False)[0]
        where, words = dotted(first["loc"]), explain(first, known=list(model.model_fields))
        raise UsageError(f"{where} {words}".strip()) from None


# ---- The page, and the choice of a person who plays alone ----


def _add_page(app: FastAPI, people: int) -> None:
    @app.get(PATH, dependencies=GUARDED, response_class=HTMLResponse)
    async def page() -> Response:
        """Return the page."""
        markup = render("challenge/page.html", people=people)
        return HTMLResponse(markup, headers=PAGE_HEADERS | {"Content-Security-Policy": served_policy()})


def add_routes(app: FastAPI, host: Host) -> None:
    """Add the page of challenges and its routes to `app`. `host` plays the games."""
    _add_page(app, host.settings.people)
    _add_choice(app, host)
    _add_game(app, host)

    @app.exception_handler(VindibotError)
    async def refused(request: Request, problem: VindibotError) -> Response:
        """Answer a request of the page that cannot be fulfilled. For other pages, this is an internal error."""
        if not request.url.path.startswith(f"{PATH}/"):
            raise problem
        return JSONResponse({"error": problem.message}, 400)


def _add_choice(app: FastAPI, host: Host) -> None:
    @app.get("/challenge/offers", dependencies=GUARDED)
    async def offers() -> Response:
        """Return the bots and maps that can be chosen, and the initial choice."""
        settings = host.settings
        bots = [{"id": bot.id, "name": bot.name, "where": bot.where, "problem": bot.problem} for bot in host.offers.bots()]
        maps = [asdict(offer) for offer in host.offers.maps()]
        first = {
            "bots": host.offers.chosen,
            "map": host.offers.first_map,
            "rounds": settings.rounds,
            "limit_ms": settings.limit_ms,
            "named": host.offers.named,
            "hero": None if host.offers.start is None else host.offers.start.hero + 1,
        }
        shown = {"bots": bots, "maps": maps, "first": first, "longest_name": LONGEST_NAME, "largest_seed": LARGEST_SEED}
        return JSONResponse(shown | {"your_limit_s": settings.your_limit_s, "margin_ms": settings.margin_ms})

    @app.get("/challenge/maps/{offer_id}", dependencies=GUARDED)
    async def map_of(offer_id: str, seed: int = 0, size: int | None = None) -> Response:
        """Return a map as it is before the game. `seed` and `size` (8..28, even) apply to a random map."""
        if offer_id == TURN and host.offers.start is not None:
            return JSONResponse(_turn_data(host.offers.start))
        return JSONResponse(_map_data(host.offers.map(offer_id, seed=seed, size=size)))

    @app.post("/challenge/games", dependencies=GUARDED)
    async def begin(request: Request) -> Response:
        """Begin the game of a person who plays alone. The body is a `GameRequest` in JSON.

        The answer comes when the bots are ready. It has the token of the person's link.
        """
        people = await host.begin(await read_json(request, GameRequest))
        return JSONResponse({"token": people.token}, 201, _UNKEPT)


def _turn(decision: Decision) -> dict[str, Any]:
    header, games = decision.header, decision.games
    turn = VotesWriter(header).turn(games["turn"].item(0), games, decision.ballot)
    return turn | {"hero": header.hero - 1, "bot": header.bot}


def _turn_data(start: Continuation) -> dict[str, Any]:
    """Return the board of the turn from which games go on: its map, the owners of its mines (0 for none, else 1..4), and the
    squares and the life of its heroes."""
    games = start.first()
    writer = StateWriter(games)
    owners = [int(letter) if letter in "1234" else 0 for letter in writer.tiles()]
    heroes = [
        {"square": writer.at(pos), "life": life, "crashed": bool(crashed)}
        for pos, life, crashed in zip(*(games["hero"][name][0].tolist() for name in ("pos", "life", "crashed")), strict=True)
    ]
    name = f"turn {start.turn} of game {start.history.id}"
    return _map_data(map_of(games)) | {"name": name, "heroes": heroes, "owners": owners, "rounds": start.rounds}


def _map_data(board: Map) -> dict[str, Any]:
    """Return a map as JSON values. The board uses the letters of a bundle (docs/viewer-format.md)."""
    spawns = [-1 if spawn is None else spawn[0] * board.size + spawn[1] for spawn in board.spawns]
    tiles = "".join(_TILES[tile] for tile in board.tiles.ravel())
    return {"name": board.name, "size": board.size, "tiles": tiles, "spawns": spawns}


# ---- The game of a link ----


def _add_game(app: FastAPI, host: Host) -> None:
    @app.get("/challenge/game", dependencies=GUARDED)
    async def state(request: Request) -> Response:
        """Return the state, the hero (0..3) of the person who asks, and whether the organiser asks."""
        people, person = _visitor(host, request)
        if person is not None:
            people.seen(person)
        about = {"me": None if person is None else person.hero, "organises": people.is_organiser(bearer(request))}
        return JSONResponse(people.view() | about, headers=_UNKEPT)

    @app.get("/challenge/game/links", dependencies=GUARDED)
    async def links(request: Request) -> Response:
        """Return the link of each person and its QR code (a data URL), in the order of the heroes. Only for the organiser."""
        people = _organised(host, request)
        addresses = [people.link(person) for person in people.people]
        return JSONResponse([{"link": link, "code": qr_picture(link)} for link in addresses], headers=_UNKEPT)

    @app.post("/challenge/game/name", dependencies=GUARDED)
    async def come(request: Request) -> Response:
        """Note that a person has come. The body is a `PersonName` in JSON."""
        people, person = _player(host, request)
        people.come(person, (await read_json(request, PersonName)).name)
        return Response(status_code=204)

    @app.post("/challenge/game/closed", dependencies=GUARDED)
    async def closed(request: Request) -> Response:
        """Note that the page of a person was closed."""
        people, person = _player(host, request)
        people.closed(person)
        return Response(status_code=204)

    @app.post("/challenge/game/move", dependencies=GUARDED)
    async def move(request: Request) -> Response:
        """Move the hero of a person. The body is a `PersonMove` in JSON. A repeat of a move has no effect."""
        people, person = _player(host, request)
        made = await read_json(request, PersonMove)
        people.move(person, DIRECTIONS.index(made.dir), made.turn)
        return Response(status_code=204)

    @app.post("/challenge/game/start", dependencies=GUARDED)
    async def start(request: Request) -> Response:
        """Begin a game with the people who are there. Only for the organiser."""
        _organised(host, request).start()
        return Response(status_code=204)

    @app.delete("/challenge/game", dependencies=GUARDED)
    async def end(request: Request) -> Response:
        """End the game that runs. Only for the organiser."""
        _organised(host, request).end_game()
        return Response(status_code=204)

    @app.get("/challenge/game/bundle", dependencies=GUARDED)
    async def bundle(request: Request) -> Response:
        """Return the bundle (docs/viewer-format.md) of the newest game, without its plies.

        Its hero `me` is the hero of the person, null if the person does not play in this game.
        """
        people, person = _visitor(host, request)
        game = _newest(people)
        playing = person is not None and person.hero in game.setup.people
        return JSONResponse(game.bundle(person.hero if person is not None and playing else None), headers=_UNKEPT)

    @app.get("/challenge/game/votes", dependencies=GUARDED)
    async def votes(request: Request, after: int = 0) -> Response:
        """Return all decisions of the bots except the first `after`, and whether the game is over.

        Only for a person who plays alone. Each decision has the form of a turn in a bundle (docs/viewer-format.md), with the bot
        and its hero (0..3) in addition. If there is no such decision yet, wait for the next one.
        """
        people = _organised(host, request)
        if not people.alone:
            raise Refusal(403, "The votes of the bots would help one of several people")
        decisions = _newest(people).decisions
        made = await decisions.after(max(0, after), WAIT_SECONDS)
        return JSONResponse({"turns": [_turn(decision) for decision in made], "over": decisions.over})


def _visitor(host: Host, request: Request) -> tuple[People, Person | None]:
    """Return the people of a request, and the person whose token it has: None for the organiser and for a spectator.

    Raises `Refusal` for a wrong token, and if another page has the seat of the person.
    """
    token = bearer(request)
    people = host.people_of(token)
    person = None if people is None else people.person(token)
    if people is None or (token and person is None and not people.is_organiser(token)):
        raise Refusal(404, "This link is not valid: ask for a new one")
    if person is not None and not person.take(request.headers.get(PAGE_ID, "")):
        raise Refusal(
            409, f"Another page plays hero {person.hero + 1}. Ask for a link of your own. If that page is yours, close it"
        )
    return people, person


def _player(host: Host, request: Request) -> tuple[People, Person]:
    people, person = _visitor(host, request)
    if person is None:
        raise Refusal(403, "Open the link of a hero")
    return people, person


def _organised(host: Host, request: Request) -> People:
    people, token = host.people_of(bearer(request)), bearer(request)
    if people is None or not people.is_organiser(token):
        raise Refusal(403, "Only the start page can do this")
    return people


def _newest(people: People) -> ChallengeGame:
    if people.game is None:
        raise Refusal(404, "There is no game yet")
    return people.game
