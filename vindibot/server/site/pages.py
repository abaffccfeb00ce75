"""The server's pages: their headers, and the values for their templates (``templates/``).

The pages work without scripts. Scripts refresh the pages in place. They add buttons that copy commands, and a switch between dark
and light colours.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from fastapi import FastAPI, Request
from fastapi.responses import HTMLResponse
from starlette.types import Receive, Scope, Send

from sim.board import draw
from sim.game import ALL_CRASHED, RUNNING, Games
from vindibot.base.pages import render
from vindibot.games.outcome import Reason
from vindibot.games.protocol import Player
from vindibot.server.app import address_of
from vindibot.server.ratings import winner_of
from vindibot.server.settings import ServerSettings

#: The headers of every page. They forbid inline scripts and styles, frames, and anything from another address.
HEADERS = {
    "Content-Security-Policy": (
        "default-src 'none'; style-src 'self'; script-src 'self'; connect-src 'self'; img-src data:; form-action 'self'; "
        "base-uri 'none'; frame-ancestors 'none'"
    ),
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
}
#: The links at the top of each page: addresses and texts.
_LINKS = (("/games", "Games"), ("/ai", "Bots"), ("/tv", "On air"), ("/doc", "How to play"), ("/register", "Register a bot"))
#: Seconds after which a page that waits for a game loads itself again.
REFRESH_SECONDS = 3


class Page(HTMLResponse):
    """A page that a template renders from its values, and from `links`, `any_key` and `address`.

    `links` are the links at the top of the pages of this application, `any_key` says whether any key may play, and `address` is
    the address of this server.
    """

    def __init__(self, template: str, status: int, headers: dict[str, str], values: dict[str, Any]) -> None:
        super().__init__("", status, HEADERS | headers)
        self._template, self._values = template, values

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Render the page, and send it."""
        values = scope["app"].state.page | {"address": address_of(Request(scope))} | self._values
        self.body = render(self._template, **values).encode()
        self.headers["Content-Length"] = str(len(self.body))
        await super().__call__(scope, receive, send)


def html(template: str, status: int = 200, headers: dict[str, str] | None = None, **values: Any) -> Page:
    """Return the page that a template renders from `values`.

    `template` is a name such as ``home.html``. A template of another room has the name of its room before: ``league/bot.html``.
    """
    return Page(template if "/" in template else f"server.site/{template}", status, headers or {}, values)


def prepare_pages(app: FastAPI, settings: ServerSettings) -> None:
    """Give an application the values that all its pages have."""
    app.state.page = {"links": list(_LINKS), "any_key": settings.keys == "any"}


def add_link(app: FastAPI, address: str, text: str) -> None:
    """Add a link to the top of each page of an application, for the pages of another room."""
    app.state.page["links"].insert(2, (address, text))


def game_page(game_id: str, games: Games, players: Sequence[Player], *, live: bool, ending: Reason | None = None) -> Page:
    """Return the page that shows the newest state of a game as plain text.

    `games` is an array with this state. If `live`, the game runs. `ending` is the reason why the game ended, None if it is not
    known.
    """
    return html(
        "game.html",
        id=game_id,
        summary=_summary(games, ending),
        heroes=list(zip(games["hero"][0], players, strict=True)),
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
