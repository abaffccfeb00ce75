"""What the page of challenges speaks with, beside the game's own protocol: what can be chosen, a new game, the bots' votes.

Only the page itself gets an answer: these routes ask for JSON and for a host that is an address or a name of this machine, so
that no other page that is open in the same browser can start bots or read votes, whatever it makes its name mean.
"""

from __future__ import annotations

import ipaddress
import socket
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from fastapi import Depends, FastAPI, Request
from fastapi.responses import HTMLResponse, JSONResponse, Response
from pydantic import ValidationError

from sim.maps import Map
from vindibot.base import VindibotError, render
from vindibot.challenge.order import LARGEST_SEED, GameRequest
from vindibot.challenge.settings import LONGEST_NAME
from vindibot.config import dotted, explain
from vindibot.games import GameHistory, Player
from vindibot.server import Refusal, ServerSettings, read_body
from vindibot.viewer import TYPES, Bundle, Reasons, head, served_imports, served_policy

if TYPE_CHECKING:
    from vindibot.challenge.bout import Bout, BoutRequest, Decision
    from vindibot.challenge.host import Host

#: Where the page is.
PATH = "/challenge"
#: Seconds that a request for votes waits for the next ones.
WAIT_SECONDS = 20.0
#: Sent with the page and its files.
PAGE_HEADERS = {"X-Content-Type-Options": "nosniff", "Referrer-Policy": "no-referrer", "Cache-Control": "no-cache"}
_TILES = ".#T-"


def _trusted(request: Request) -> None:
    """Refuse a request that came under a foreign name, or from the page of another server."""
    host = request.headers.get("host", "")
    try:
        name = urlsplit(f"//{host}").hostname or ""
        ipaddress.ip_address(name)
    except ValueError:
        own = socket.gethostname().lower()
        if name not in ("localhost", own, f"{own}.local"):
            raise Refusal(403, "Open this page under the address that the command has told") from None
    origin = request.headers.get("origin")
    if origin is not None and origin != f"http://{host}":
        raise Refusal(403, "This is for the page of this server")


def _failed(problem: VindibotError) -> Response:
    return JSONResponse({"error": problem.message}, 400)


@cache
def _files() -> dict[str, bytes]:
    """The page's own scripts and style by name."""
    folder = files("vindibot.challenge") / "static"
    return {file.name: file.read_bytes() for file in folder.iterdir() if any(file.name.endswith(suffix) for suffix in TYPES)}


def _add_page(app: FastAPI, guarded: list[Any]) -> None:
    @app.get(PATH, dependencies=guarded, response_class=HTMLResponse)
    async def page() -> Response:
        """The page in which one plays."""
        markup = render("challenge/page.html", imports=served_imports())
        return HTMLResponse(markup, headers=PAGE_HEADERS | {"Content-Security-Policy": served_policy()})

    @app.get("/challenge/files/{name}")
    async def file(name: str) -> Response:
        """A script or style of the page."""
        if name not in _files():
            raise Refusal(404, "There is no such file")
        kind = next(kind for suffix, kind in TYPES.items() if name.endswith(suffix))
        return Response(_files()[name], media_type=kind, headers=PAGE_HEADERS)


def add_routes(app: FastAPI, host: Host) -> None:
    """Add the page and what it speaks with."""
    guarded = [Depends(_trusted)]
    reading = ServerSettings()
    _add_page(app, guarded)

    @app.get("/challenge/offers", dependencies=guarded)
    async def offers() -> Response:
        """The bots and maps that can be chosen, and what is chosen first."""
        settings = host.settings
        bots = [{"id": bot.id, "name": bot.name, "where": bot.where, "problem": bot.problem} for bot in host.offers.bots()]
        maps = [{"id": one.id, "name": one.name, "group": one.group, "size": one.size} for one in host.offers.maps()]
        first = {
            "bots": host.offers.chosen,
            "map": host.offers.first_map,
            "rounds": settings.rounds,
            "limit_ms": settings.limit_ms,
            "named": host.offers.named,
        }
        shown = {"bots": bots, "maps": maps, "first": first, "longest_name": LONGEST_NAME, "largest_seed": LARGEST_SEED}
        return JSONResponse(shown | {"your_limit_s": settings.your_limit_s, "margin_ms": settings.margin_ms})

    @app.get("/challenge/maps/{offer_id}", dependencies=guarded)
    async def map_of(offer_id: str, seed: int = 0, size: int | None = None) -> Response:
        """A map as it is before the game. Parameters, for a random one: seed, size (8..28, even)."""
        try:
            return JSONResponse(_drawn(host.offers.map(offer_id, seed=seed, size=size)))
        except VindibotError as problem:
            return _failed(problem)

    @app.post("/challenge/games", dependencies=guarded)
    async def begin(request: Request) -> Response:
        """A new game: an order in JSON (`GameRequest`). Answered once the bots are ready, with a key to join the arena with, the
        secret of this game, and a bundle of it (docs/viewer-format.md) without id or plies."""
        if request.headers.get("content-type", "").partition(";")[0].strip().lower() != "application/json":
            raise Refusal(415, "Send the order as application/json")
        try:
            order = GameRequest.model_validate_json(await read_body(request, reading))
        except ValidationError as error:
            slip = error.errors(include_url=False)[0]
            said = f"{dotted(slip['loc'])} {explain(slip, known=list(GameRequest.model_fields))}"
            return JSONResponse({"error": said.strip()}, 400)
        try:
            secret, bout = await host.begin(order)
        except VindibotError as problem:
            return _failed(problem)
        shown = {"secret": secret, "key": bout.key.get_secret_value(), "bundle": _bundle(bout.order)}
        return JSONResponse(shown, 201, {"Cache-Control": "no-store"})

    @app.get("/challenge/game/votes", dependencies=guarded)
    async def votes(request: Request, after: int = 0) -> Response:
        """How the bots decided their moves (a bundle's turns, with the hero): those after the first `after`, as soon as there
        are any. The game's secret is the bearer's token."""
        decisions = _bout(host, request).decisions
        made = await decisions.after(max(0, after), WAIT_SECONDS)
        return JSONResponse({"turns": [_turn(decision) for decision in made], "over": decisions.over})

    @app.delete("/challenge/game", dependencies=guarded)
    async def leave(request: Request) -> Response:
        """The person goes: his game ends. The game's secret is the bearer's token."""
        _bout(host, request).leave()
        return Response(status_code=204)


def _bout(host: Host, request: Request) -> Bout:
    kind, _, secret = request.headers.get("authorization", "").partition(" ")
    bout = host.bout(secret.strip()) if kind.lower() == "bearer" else None
    if bout is None:
        raise Refusal(404, "There is no such game")
    return bout


def _bundle(order: BoutRequest) -> Bundle:
    """The game before its first ply."""
    players, first = [Player(name) for name in order.names()], order.map.new_game(4 * order.rounds)
    history = GameHistory("", players, order.seat, first=first, limit_ms=order.limit_ms)
    return head(history, title=f"{order.name} against {', '.join(bot.name for bot in order.bots)}", source="server", live=True)


def _turn(decision: Decision) -> dict[str, Any]:
    header, games = decision.header, decision.games
    turn = Reasons(header).turn(games["turn"].item(0), games, decision.ballot)
    return turn | {"hero": header.hero - 1, "bot": header.bot}


def _drawn(found: Map) -> dict[str, Any]:
    """A map in the letters of a bundle (docs/viewer-format.md)."""
    spawns = [-1 if spawn is None else spawn[0] * found.size + spawn[1] for spawn in found.spawns]
    tiles = "".join(_TILES[tile] for tile in found.tiles.ravel())
    return {"name": found.name, "size": found.size, "tiles": tiles, "spawns": spawns}
