"""The plain pages of the server. Names and boards are data: everything is escaped."""

from __future__ import annotations

from html import escape

from sim.board import draw
from vindibot.server.room import Room


def page(title: str, body: str) -> str:
    """A whole page; `title` is plain text, `body` is markup."""
    head = f'<meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>{escape(title)}</title>'
    return f'<!DOCTYPE html>\n<html lang="en"><head>{head}</head><body>\n<h1>{escape(title)}</h1>\n{body}\n</body></html>\n'


def home_page() -> str:
    """What this is and how to begin."""
    return page(
        "Vindinium",
        "<p>A game server for bots. Post <code>key</code> to <code>/api/training</code> or <code>/api/arena</code>, "
        'then directions to the <code>playUrl</code> of each answer.</p>\n<p><a href="/register">Register a bot</a></p>',
    )


def register_page(message: str = "", name: str = "") -> str:
    """The form of the registration, with what was wrong with the last one."""
    told = f'<p class="error">{escape(message)}</p>\n' if message else ""
    field = f'<input name="name" value="{escape(name)}" minlength="3" maxlength="20" required>'
    return page("Register a bot", f'{told}<form method="post"><label>Name {field}</label> <button>Register</button></form>')


def key_page(name: str, key: str) -> str:
    """The key, shown this once."""
    return page(
        "Registered",
        f'<p>The key of {escape(name)}, shown only now:</p>\n<pre id="user-key">{escape(key)}</pre>',
    )


def game_page(room: Room) -> str:
    """One game as it stands."""
    names = "\n".join(f"@{seat.index + 1} {seat.player.name}" for seat in room.seats)
    return page(f"Game {room.id}", f"<pre>{escape(names)}\n\n{escape(draw(room.games))}</pre>")


def missing_page() -> str:
    """There is nothing here."""
    return page("Not found", "<p>There is nothing here.</p>")
