"""The server's plain pages: their headers, and the values for their templates (``templates/``). They work without scripts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any

from fastapi.responses import HTMLResponse

from sim.board import draw
from sim.game import ALL_CRASHED, RUNNING, SEATS, Games
from vindibot.base import render
from vindibot.games import Player, Reason
from vindibot.server.ratings import winner_of
from vindibot.server.room import Room
from vindibot.server.thumbnail import thumbnail

#: The headers of every page. They forbid scripts, frames, and anything from another address.
HEADERS = {
    "Content-Security-Policy": (
        "default-src 'none'; style-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
    ),
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
}
#: The headers of a page with a list that a script refreshes.
LIST_HEADERS = {
    "Content-Security-Policy": HEADERS["Content-Security-Policy"].replace(
        "style-src 'self'", "style-src 'self'; script-src 'self'; connect-src 'self'"
    )
}
#: The files of the pages and their types, by their name below ``/assets/``.
ASSETS = {"style.css": ("site.css", "text/css"), "lists.js": ("lists.js", "text/javascript")}
#: Number of running games that are shown with their boards. Further games are rows of a table.
CARDS = 12
#: Seconds after which the page of a running game loads itself again.
REFRESH_SECONDS = 3


def html(template: str, status: int = 200, headers: dict[str, str] | None = None, **values: Any) -> HTMLResponse:
    """Return the page that a template renders from `values`. `template` is a name such as ``home.html``."""
    return HTMLResponse(render(f"server/{template}", **values), status, HEADERS | (headers or {}))


def not_found() -> HTMLResponse:
    """Return the page for an unknown address (404)."""
    return html("missing.html", 404)


@cache
def find_asset(name: str) -> tuple[bytes, str] | None:
    """Return the file with this name below ``/assets/`` and its content type, or None if there is no such file."""
    if name not in ASSETS:
        return None
    file, kind = ASSETS[name]
    return (files("vindibot.server") / file).read_bytes(), kind


@dataclass(frozen=True)
class RunningGame:
    """A running game as lists show it. It is at turn `turn` of `last` turns. `heroes` has the format of `GameRow.heroes`.

    Only the first `CARDS` games in a list have gold and a picture of the `board` (SVG).
    """

    id: str
    turn: int
    last: int
    heroes: Sequence[tuple[int, str, str | None, int | None]]
    board: str = ""


def running_games(rooms: Sequence[Room]) -> list[RunningGame]:
    """Return the games in these rooms as lists show them."""
    return [_running_game(room, with_board=place < CARDS) for place, room in enumerate(rooms)]


def _running_game(room: Room, *, with_board: bool) -> RunningGame:
    games = room.games
    gold = games["hero"]["gold"][0].tolist() if with_board else [None] * SEATS
    players = room.history.players
    return RunningGame(
        id=room.id,
        turn=games["turn"].item(0),
        last=games["max_turns"].item(0),
        heroes=[(index + 1, player.name, player.user_id, gold[index]) for index, player in enumerate(players)],
        board=thumbnail(games) if with_board else "",
    )


def game_page(
    game_id: str, games: Games, players: Sequence[Player], *, ply: int, plies: int, live: bool, ending: Reason | None = None
) -> HTMLResponse:
    """Return the page that shows one state of a game as plain text.

    `games` is this state: the newest state of a `live` game, else the state after `ply` of the game's `plies` plies.
    """
    return html(
        "game.html",
        id=game_id,
        summary=_summary(games, ending),
        heroes=list(zip(games["hero"][0], players, strict=True)),
        ply=ply,
        plies=plies,
        live=live,
        board=draw(games),
        refresh=REFRESH_SECONDS,
    )


def _summary(games: Games, ending: Reason | None) -> str:
    turn, last = games["turn"].item(0), games["max_turns"].item(0)
    status = games["status"].item(0)
    if status == RUNNING:
        return f"Turn {turn} of {last}." + (" The game was interrupted." if ending is Reason.INTERRUPTED else "")
    winner = winner_of(games["hero"]["gold"][0].tolist())
    crashes = " by crashes" if status == ALL_CRASHED else ""
    won = "No winner." if winner is None else f"Hero {winner + 1} has won."
    return f"The game is over at turn {turn} of {last}{crashes}. {won}"
