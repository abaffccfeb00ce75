"""The plain pages of the server, which need no script: how they are sent, and what the templates (``templates/``) need besides.

The pages forbid all that they do not need (`HEADERS`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any

from fastapi.responses import HTMLResponse

from sim.board import draw
from sim.game import ALL_CRASHED, RUNNING, Games
from vindibot.base import render
from vindibot.games import Player, Reason
from vindibot.server.room import Room
from vindibot.server.thumbnail import thumbnail

#: Sent with every page unless it says more: no script, no frame, nothing from elsewhere.
HEADERS = {
    "Content-Security-Policy": (
        "default-src 'none'; style-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
    ),
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
}
#: What a page whose list keeps up by itself is sent with.
LIVELY = {
    "Content-Security-Policy": HEADERS["Content-Security-Policy"].replace(
        "style-src 'self'", "style-src 'self'; script-src 'self'; connect-src 'self'"
    )
}
#: The files of the pages, by what follows ``/assets/``.
ASSETS = {"style.css": ("site.css", "text/css"), "lists.js": ("lists.js", "text/javascript")}
#: Running games that are shown with their boards; more of them are lines of a table.
CARDS = 12
#: Seconds after which the page of a running game loads itself anew.
REFRESH_SECONDS = 3


def html(template: str, status: int = 200, headers: dict[str, str] | None = None, **values: Any) -> HTMLResponse:
    """Return a page of the server as an answer: what a template (``home.html``) makes of these values."""
    return HTMLResponse(render(f"server/{template}", **values), status, HEADERS | (headers or {}))


def missing() -> HTMLResponse:
    """Return the answer where there is nothing."""
    return html("missing.html", 404)


@cache
def asset(name: str) -> tuple[bytes, str] | None:
    """A file of the pages and its type; None if there is none of this name."""
    if name not in ASSETS:
        return None
    file, kind = ASSETS[name]
    return (files("vindibot.server") / file).read_bytes(), kind


@dataclass(frozen=True)
class RunningGame:
    """A running game as lists show it: on turn `turn` of `last`. `heroes` are as those of a `GameRow`. Only the first games of
    a list have gold and a picture of the `board` (SVG)."""

    id: str
    turn: int
    last: int
    heroes: Sequence[tuple[int, str, str | None, int | None]]
    board: str = ""


def running_games(rooms: Sequence[Room]) -> list[RunningGame]:
    """Return these games for a list."""
    return [_running_game(room, with_board=place < CARDS) for place, room in enumerate(rooms)]


def _running_game(room: Room, *, with_board: bool) -> RunningGame:
    games = room.games
    gold = games["hero"]["gold"][0].tolist() if with_board else [None] * len(room.seats)
    players = [seat.player for seat in room.seats]
    return RunningGame(
        id=room.id,
        turn=games["turn"].item(0),
        last=games["max_turns"].item(0),
        heroes=[(hero, who.name, who.user_id, gold[hero - 1]) for hero, who in enumerate(players, 1)],
        board=thumbnail(games) if with_board else "",
    )


def game_page(
    game_id: str, games: Games, players: Sequence[Player], *, ply: int, plies: int, live: bool, ending: Reason | None = None
) -> HTMLResponse:
    """Return the page of one game as text: as it stands if it is `live`, else after `ply` of its `plies`."""
    return html(
        "game.html",
        id=game_id,
        standing=_standing(games, ending),
        heroes=list(zip(games["hero"][0], players, strict=True)),
        ply=ply,
        plies=plies,
        live=live,
        board=draw(games),
        refresh=REFRESH_SECONDS,
    )


def _standing(games: Games, ending: Reason | None) -> str:
    turn, last = games["turn"].item(0), games["max_turns"].item(0)
    gold: list[int] = games["hero"]["gold"][0].tolist()
    status = games["status"].item(0)
    if status == RUNNING:
        return f"Turn {turn} of {last}." + (" The game was interrupted." if ending is Reason.INTERRUPTED else "")
    winner = f"Hero {gold.index(max(gold)) + 1} has won." if gold.count(max(gold)) == 1 else "No winner."
    return f"The game is over at turn {turn} of {last}{' by crashes' if status == ALL_CRASHED else ''}. {winner}"
