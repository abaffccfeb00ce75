"""The routes of the page of a game of several people: the state, the links, a name, moves, the start and the end, the game.

The bearer token of a request is the token of a link (`vindibot.challenge.people`). A request without a token is from a spectator.
The header `PAGE_ID` tells two pages with one link apart: only the first of them has the seat, until it is closed.
"""

from __future__ import annotations

from fastapi import FastAPI, Request
from fastapi.responses import JSONResponse, Response

from sim.game import DIRECTIONS
from vindibot.base.output.pages import qr_picture
from vindibot.challenge.guard import GUARDED, bearer, read_json
from vindibot.challenge.people import People, Person
from vindibot.challenge.request import PersonMove, PersonName
from vindibot.server.refusal import Refusal

#: The answers have tokens, so no browser may keep them.
_UNKEPT = {"Cache-Control": "no-store"}
#: The header with the id of a page: any text.
PAGE_ID = "Page-Id"


def add_people_routes(app: FastAPI, people: People) -> None:
    """Add the routes of a game of `people` to `app`."""

    @app.get("/challenge/people", dependencies=GUARDED)
    async def state(request: Request) -> Response:
        """Return the state, and who asks: the organiser, a person (with its hero 0..3), or a spectator."""
        person = _person(people, request)
        if person is not None:
            people.seen(person)
        role = "person" if person is not None else "organiser" if bearer(request) else "spectator"
        return JSONResponse(people.view() | {"role": role, "me": None if person is None else person.hero}, headers=_UNKEPT)

    @app.get("/challenge/people/links", dependencies=GUARDED)
    async def links(request: Request) -> Response:
        """Return the link of each person and its QR code (a data URL), in the order of the heroes. Only for the organiser."""
        _require_organiser(people, request)
        found = [people.link(person) for person in people.people]
        return JSONResponse([{"link": link, "code": qr_picture(link)} for link in found], headers=_UNKEPT)

    @app.post("/challenge/people/name", dependencies=GUARDED)
    async def come(request: Request) -> Response:
        """Note that a person has come. The body is a `PersonName` in JSON."""
        person = _require_person(people, request)
        people.come(person, (await read_json(request, PersonName)).name)
        return Response(status_code=204)

    @app.post("/challenge/people/closed", dependencies=GUARDED)
    async def closed(request: Request) -> Response:
        """Note that the page of a person was closed."""
        _require_person(people, request).closed()
        return Response(status_code=204)

    @app.post("/challenge/people/move", dependencies=GUARDED)
    async def move(request: Request) -> Response:
        """Move the hero of a person. The body is a `PersonMove` in JSON. A repeat of a move has no effect."""
        person = _require_person(people, request)
        made = await read_json(request, PersonMove)
        people.move(person, DIRECTIONS.index(made.dir), made.turn)
        return Response(status_code=204)

    @app.post("/challenge/people/start", dependencies=GUARDED)
    async def start(request: Request) -> Response:
        """Begin a game with the people who are there. Only for the organiser."""
        _require_organiser(people, request)
        people.start()
        return Response(status_code=204)

    @app.get("/challenge/people/game", dependencies=GUARDED)
    async def game(request: Request) -> Response:
        """Return the bundle (docs/viewer-format.md) of the newest game, without its plies.

        Its hero `me` is the hero of the person, null if the person does not play in this game.
        """
        person, game = _person(people, request), people.game
        if game is None:
            raise Refusal(404, "There is no game yet")
        playing = person is not None and person.hero in game.setup.people
        return JSONResponse(game.bundle(person.hero if person is not None and playing else None), headers=_UNKEPT)

    @app.delete("/challenge/people/game", dependencies=GUARDED)
    async def end(request: Request) -> Response:
        """End the game that runs. Only for the organiser."""
        _require_organiser(people, request)
        people.end_game()
        return Response(status_code=204)


def _person(people: People, request: Request) -> Person | None:
    """Return the person whose token a request has. Return None for the organiser and for a spectator.

    Raises `Refusal` for a wrong token, and if another page has the seat of the person.
    """
    token = bearer(request)
    person = people.person(token)
    if token and person is None and not people.is_organiser(token):
        raise Refusal(404, "This link is not valid: ask for a new one")
    if person is not None and not person.take(request.headers.get(PAGE_ID, "")):
        raise Refusal(
            409, f"Another page plays hero {person.hero + 1}. Ask for a link of your own. If that page is yours, close it"
        )
    return person


def _require_person(people: People, request: Request) -> Person:
    person = _person(people, request)
    if person is None:
        raise Refusal(403, "Open the link of a hero")
    return person


def _require_organiser(people: People, request: Request) -> None:
    if not people.is_organiser(bearer(request)):
        raise Refusal(403, "Only the start page can do this")
