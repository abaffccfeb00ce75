"""The routes of the page of challenges: the page, the page's files, the offers, a new game, the votes of the bots.

For several people, other routes replace those of offers and games (`vindibot.challenge.people_routes`).
"""

from __future__ import annotations

from dataclasses import asdict
from pathlib import PurePath
from typing import Any

from fastapi import FastAPI, Request
from fastapi.responses import HTMLResponse, JSONResponse, Response

from sim.maps import Map, map_of
from vindibot.base.errors import VindibotError
from vindibot.base.output.pages import render
from vindibot.challenge.game import ChallengeGame, Decision
from vindibot.challenge.guard import GUARDED, bearer, read_json
from vindibot.challenge.host import Host
from vindibot.challenge.offers import TURN
from vindibot.challenge.people import People
from vindibot.challenge.people_routes import add_people_routes
from vindibot.challenge.request import LARGEST_SEED, GameRequest
from vindibot.challenge.settings import LONGEST_NAME
from vindibot.games.files.recorded_turn import Continuation
from vindibot.server.refusal import Refusal
from vindibot.viewer.page import TYPES, served_imports, served_policy, static_files
from vindibot.viewer.states import StateWriter
from vindibot.viewer.votes import VotesWriter

#: The path of the page.
PATH = "/challenge"
#: Largest number of seconds that a request for votes waits for new votes.
WAIT_SECONDS = 20.0
#: The headers of the page and of its files.
PAGE_HEADERS = {"X-Content-Type-Options": "nosniff", "Referrer-Policy": "no-referrer", "Cache-Control": "no-cache"}
_TILES = ".#T-"


def _add_page(app: FastAPI, people: int) -> None:
    @app.get(PATH, dependencies=GUARDED, response_class=HTMLResponse)
    async def page() -> Response:
        """Return the page."""
        markup = render("challenge/page.html", imports=served_imports(), people=people)
        return HTMLResponse(markup, headers=PAGE_HEADERS | {"Content-Security-Policy": served_policy()})

    @app.get("/challenge/files/{name}")
    async def file(name: str) -> Response:
        """Return a script or a style of the page."""
        content = static_files("challenge").get(name)
        if content is None:
            raise Refusal(404, "There is no such file")
        return Response(content, media_type=TYPES[PurePath(name).suffix], headers=PAGE_HEADERS)


def add_routes(app: FastAPI, host: Host, people: People | None = None) -> None:
    """Add the page of challenges and its routes to `app`. `host` plays the games. `people` are the people of one game, None if
    each person plays alone."""
    _add_page(app, host.settings.people)
    if people is not None:
        add_people_routes(app, people)
    else:
        _add_routes_for_one(app, host)

    @app.exception_handler(VindibotError)
    async def refused(request: Request, problem: VindibotError) -> Response:
        """Answer a request of the page that cannot be fulfilled. For other pages, this is an internal error."""
        if not request.url.path.startswith(f"{PATH}/"):
            raise problem
        return JSONResponse({"error": problem.message}, 400)


def _add_routes_for_one(app: FastAPI, host: Host) -> None:
    @app.get("/challenge/offers", dependencies=GUARDED)
    async def offers() -> Response:
        """Return the bots and maps that can be chosen, and the initial choice."""
        settings = host.settings
        bots = [{"id": bot.id, "name": bot.name, "where": bot.where, "problem": bot.problem} for bot in host.offers.bots()]
        maps = [asdict(one) for one in host.offers.maps()]
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
        """Begin a game. The body is a `GameRequest` in JSON.

        The answer comes when the bots are ready. It has a key for the game server, the secret of the game, and the game's bundle
        (docs/viewer-format.md) without id and plies.
        """
        game = await host.begin(await read_json(request, GameRequest))
        (hero,) = game.keys
        answer = {"secret": game.secret, "key": game.keys[hero].get_secret_value(), "bundle": game.bundle(hero)}
        return JSONResponse(answer, 201, {"Cache-Control": "no-store"})

    @app.get("/challenge/game/votes", dependencies=GUARDED)
    async def votes(request: Request, after: int = 0) -> Response:
        """Return all decisions of the bots except the first `after`, and whether the game is over.

        Each decision has the form of a turn in a bundle (docs/viewer-format.md), with the bot and its hero (0..3) in addition. If
        there is no such decision yet, wait for the next one. The bearer token is the secret of the game.
        """
        decisions = _game(host, request).decisions
        made = await decisions.after(max(0, after), WAIT_SECONDS)
        return JSONResponse({"turns": [_turn(decision) for decision in made], "over": decisions.over})

    @app.delete("/challenge/game", dependencies=GUARDED)
    async def leave(request: Request) -> Response:
        """End the game, because the person leaves. The bearer token is the secret of the game."""
        _game(host, request).leave()
        return Response(status_code=204)


def _game(host: Host, request: Request) -> ChallengeGame:
    """Return the game whose secret is the bearer token of a request. Raises `Refusal`."""
    game = host.game(bearer(request))
    if game is None:
        raise Refusal(404, "There is no such game")
    return game


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


def _map_data(found: Map) -> dict[str, Any]:
    """Return a map as JSON values. The board uses the letters of a bundle (docs/viewer-format.md)."""
    spawns = [-1 if spawn is None else spawn[0] * found.size + spawn[1] for spawn in found.spawns]
    tiles = "".join(_TILES[tile] for tile in found.tiles.ravel())
    return {"name": found.name, "size": found.size, "tiles": tiles, "spawns": spawns}
