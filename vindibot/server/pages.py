"""The plain pages of the server, which need no script. Names and boards are data: everything that comes from elsewhere is
escaped (`text`, `name`), and the pages forbid all that they do not need (`HEADERS`)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from functools import cache
from html import escape
from importlib.resources import files
from urllib.parse import quote

from sim.board import draw
from sim.game import ALL_CRASHED, RUNNING, Games
from vindibot.games import Player, Reason
from vindibot.server.game_rows import GameRow
from vindibot.server.thumbnail import thumbnail
from vindibot.server.users import User

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


#: Where every page leads.
_LINKS = [
    ("/", "Vindinium"),
    ("/games", "Games"),
    ("/ai", "Bots"),
    ("/leagues", "Leagues"),
    ("/tv", "On air"),
    ("/doc", "How to play"),
    ("/register", "Register a bot"),
]


def text(value: object) -> str:
    """Anything as text in a page."""
    return escape(str(value))


def name(value: str, user_id: str | None = None) -> str:
    """A name as text in a page, set apart from the direction in which the rest is written; of a bot, with a link."""
    shown = f"<bdi>{escape(value)}</bdi>"
    return shown if user_id is None else f'<a href="/ai/{quote(user_id, safe="")}">{shown}</a>'


@cache
def asset(name: str) -> tuple[bytes, str] | None:
    """A file of the pages and its type; None if there is none of this name."""
    if name not in ASSETS:
        return None
    file, kind = ASSETS[name]
    return (files("vindibot.server") / file).read_bytes(), kind


def page(title: str, body: str, refresh: int | None = None, *, lively: bool = False) -> str:
    """A whole page; `title` is plain text, `body` is markup. `refresh` are seconds after which it loads itself anew; a
    `lively` one (send it with `LIVELY`) keeps its list of running games up to date."""
    head = (
        '<meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">'
        f'<link rel="stylesheet" href="/assets/style.css"><title>{text(title)} - Vindinium</title>'
    )
    if refresh is not None:
        head += f'<meta http-equiv="refresh" content="{refresh}">'
    if lively:
        head += '<script type="module" src="/assets/lists.js"></script>'
    links = "".join(f'<a href="{address}">{word}</a>' for address, word in _LINKS)
    return (
        f'<!DOCTYPE html>\n<html lang="en"><head>{head}</head><body>\n<nav>{links}</nav>\n'
        f"<h1>{text(title)}</h1>\n{body}\n</body></html>\n"
    )


def table(heads: Sequence[str], rows: Iterable[Sequence[str]], nothing: str) -> str:
    """A table of markup; `nothing` (plain text) where there are no rows. A head that begins with # is one of numbers."""
    classes = [' class="number"' if head.startswith("#") else ' class="time"' if head.endswith("(UTC)") else "" for head in heads]
    lines = [
        "<tr>" + "".join(f"<td{kind}>{cell}</td>" for kind, cell in zip(classes, row, strict=True)) + "</tr>" for row in rows
    ]
    if not lines:
        return f"<p>{text(nothing)}</p>"
    top = "".join(f"<th{kind}>{text(head.removeprefix('#'))}</th>" for kind, head in zip(classes, heads, strict=True))
    return f'<div class="wide"><table><tr>{top}</tr>\n' + "\n".join(lines) + "\n</table></div>"


def when(seconds: float | None) -> str:
    """A time, in UTC."""
    return "never" if seconds is None else datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%d %H:%M")


# ---- Games ----


def running_list(games: Sequence[tuple[str, Games, Sequence[Player]]]) -> str:
    """The games that run: id, state and players of each. The first ones are shown with their boards."""
    if not games:
        return "<p>No game is running.</p>"
    cards = f'<ul class="cards">{"".join(_card(*game) for game in games[:CARDS])}</ul>'
    rows = [(_link(game_id), _names(players), _turn(games)) for game_id, games, players in games[CARDS:]]
    return cards + (table(("Game", "Players", "#Turn"), rows, "") if rows else "")


def _card(game_id: str, games: Games, players: Sequence[Player]) -> str:
    """A running game as a picture with those who play it."""
    gold: list[int] = games["hero"]["gold"][0].tolist()
    heroes = "".join(_hero(hero, player.name, player.user_id, gold[hero]) for hero, player in enumerate(players))
    turn, last = games["turn"].item(0), games["max_turns"].item(0)
    top = f'<span class="turn">{_turn(games)}</span>{text(game_id)}'
    bar = f'<progress value="{turn}" max="{max(1, last)}"></progress>'
    return f'<li><a class="open" href="/{quote(game_id, safe="")}">{top}{bar}{thumbnail(games)}</a>{heroes}</li>\n'


def _turn(games: Games) -> str:
    return f"turn {games['turn'].item(0)} of {games['max_turns'].item(0)}"


def _hero(hero: int, who: str, user: str | None, gold: int | None = None) -> str:
    """A hero 0..3 by colour and name, with his gold if it is known."""
    told = "" if gold is None else f' <span class="gold">{gold}</span>'
    return f'<span class="hero h{hero + 1}">{name(who, user)}{told}</span>'


def kept_table(rows: Sequence[GameRow]) -> str:
    """Kept games: who played, with gold, and how it ended."""
    return table(
        ("Game", "Players and gold", "Ended (UTC)", ""),
        [(_link(row.id), _golds(row), when(row.finished), text(_kind(row))) for row in rows],
        "No game has been kept.",
    )


def _kind(row: GameRow) -> str:
    return ", ".join(word for word, holds in (("training", row.training), (row.state, row.state != "finished")) if holds)


def _golds(row: GameRow) -> str:
    best = max(row.gold, default=0)
    winner = row.gold.index(best) if row.gold.count(best) == 1 and row.state == "finished" else None
    shown = []
    for seat, (who, user) in enumerate(zip(row.names, row.who, strict=True)):
        one = _hero(seat, who, user, row.gold[seat] if row.gold else None)
        shown.append(f"<strong>{one}</strong>" if seat == winner else one)
    return " ".join(shown)


def _link(game_id: str) -> str:
    return f'<a href="/{quote(game_id, safe="")}">{text(game_id)}</a>'


def _names(players: Iterable[Player]) -> str:
    return " ".join(_hero(hero, player.name, player.user_id) for hero, player in enumerate(players))


def home_page(running: Sequence[tuple[str, Games, Sequence[Player]]], kept: Sequence[GameRow], more: int | None) -> str:
    """What this is, the games that run, and those played last; `more` is from where older ones are listed."""
    older = f'<p><a href="/games?before={more}">older games</a></p>' if more is not None else ""
    return page(
        "Games",
        "<p>A game server for bots. Post <code>key</code> to <code>/api/training</code> or <code>/api/arena</code>, "
        "then directions to the <code>playUrl</code> of each answer.</p>\n"
        f"{_running(running)}\n<h2>Played last</h2>\n{kept_table(kept)}\n{older}",
        lively=True,
    )


def _running(games: Sequence[tuple[str, Games, Sequence[Player]]]) -> str:
    return f'<h2>Running</h2>\n<section id="running">{running_list(games)}</section>'


def games_page(kept: Sequence[GameRow], more: int | None) -> str:
    """Kept games, newest first."""
    older = f'<p><a href="/games?before={more}">older games</a></p>' if more is not None else ""
    return page("Games played", f"{kept_table(kept)}\n{older}")


def game_page(
    game_id: str, games: Games, players: Sequence[Player], *, ply: int, plies: int, live: bool, ending: Reason | None = None
) -> str:
    """One game: as it stands if it is `live`, else after `ply` of its `plies`."""
    rows = []
    for number, (hero, player) in enumerate(zip(games["hero"][0], players, strict=True), 1):
        numbers = (str(hero["gold"]), str(hero["mines"]), str(hero["life"]))
        elo = "" if player.elo is None else str(player.elo)
        crashed = "crashed" if hero["crashed"] else ""
        rows.append((f"@{number}", name(player.name, player.user_id), elo, *numbers, crashed))
    heroes = table(("", "Name", "#Elo", "#Gold", "#Mines", "#Life", ""), rows, "")
    body = (
        f"<p>{text(_standing(games, ending))}</p>\n{heroes}\n{_steps(game_id, ply, plies, live)}\n<pre>{text(draw(games))}</pre>"
    )
    body += f'\n<p><a href="/events/{quote(game_id, safe="")}">events</a>'
    body += "</p>" if live else f' <a href="/records/{quote(game_id, safe="")}">record</a></p>'
    return page(f"Game {game_id}", body, REFRESH_SECONDS if live else None)


def _standing(games: Games, ending: Reason | None) -> str:
    turn, last = games["turn"].item(0), games["max_turns"].item(0)
    gold: list[int] = games["hero"]["gold"][0].tolist()
    status = games["status"].item(0)
    if status == RUNNING:
        return f"Turn {turn} of {last}." + (" The game was interrupted." if ending is Reason.INTERRUPTED else "")
    winner = f"Hero {gold.index(max(gold)) + 1} has won." if gold.count(max(gold)) == 1 else "No winner."
    return f"The game is over at turn {turn} of {last}{' by crashes' if status == ALL_CRASHED else ''}. {winner}"


def _steps(game_id: str, ply: int, plies: int, live: bool) -> str:
    if live:
        return ""
    steps = [("first", 0), ("-4", ply - 4), ("-1", ply - 1), ("+1", ply + 1), ("+4", ply + 4), ("last", plies)]
    links = [
        f'<a href="/{quote(game_id, safe="")}?ply={min(max(to, 0), plies)}">{word}</a>'
        if 0 <= to <= plies and to != ply
        else word
        for word, to in steps
    ]
    return f"<p>Ply {ply} of {plies}: {' '.join(links)}</p>"


# ---- Bots ----


def bots_page(users: Sequence[User], *, first: int, total: int, per_page: int, days: int | None, lately: int) -> str:
    """The table of bots, best first: `users` from place `first` on, of `total`; only those of the last `days` if given."""
    rows = [
        (
            str(place),
            name(user.name, user.id),
            str(user.elo),
            f"{user.mu - 3 * user.sigma:z.1f}",
            str(user.games),
            when(user.played),
        )
        for place, user in enumerate(users, first)
    ]
    chosen = "" if days is None else f"&amp;days={days}"
    number = (first - 1) // per_page + 1
    turns = [("before", number - 1, first > 1), ("next", number + 1, first - 1 + per_page < total)]
    links = " ".join(f'<a href="/ai?page={to}{chosen}">{word}</a>' for word, to, there in turns if there)
    either = (
        f'all, <a href="/ai?days={lately}">who played in the last {lately} days</a>'
        if days is None
        else f'<a href="/ai">all</a>, who played in the last {days} days'
    )
    shown = table(("#", "Name", "#Elo", "#Skill", "#Rated games", "Played last (UTC)"), rows, "No bot is here.")
    return page("Bots", f"<p>{either}</p>\n{shown}\n<p>{links}</p>")


def bot_page(
    user: User, running: Sequence[tuple[str, Games, Sequence[Player]]], kept: Sequence[GameRow], more: int | None
) -> str:
    """One bot and its games; `more` is from where older ones are listed."""
    older = f'<p><a href="/ai/{quote(user.id, safe="")}?before={more}">older games</a></p>' if more is not None else ""
    told = (
        f"Elo {user.elo}, skill {user.mu:.1f} &plusmn; {user.sigma:.1f}, {user.games} rated games, "
        f"here since {when(user.created)}, played last {when(user.played)} (UTC)."
    )
    return page(
        user.name,
        f"<p>{told}</p>\n{_running(running)}\n<h2>Played</h2>\n{kept_table(kept)}\n{older}",
        lively=True,
    )


def register_page(message: str = "", given: str = "") -> str:
    """The form of the registration, with what was wrong with the last one."""
    told = f'<p class="error">{text(message)}</p>\n' if message else ""
    field = f'<input name="name" value="{text(given)}" minlength="3" maxlength="20" required>'
    return page(
        "Register a bot",
        f'{told}<form method="post" action="/register"><label>Name {field}</label> <button>Register</button></form>',
    )


def key_page(given: str, key: str) -> str:
    """The key, shown this once."""
    return page("Registered", f'<p>The key of {name(given)}, shown only now:</p>\n<pre id="user-key">{text(key)}</pre>')


def missing_page() -> str:
    """There is nothing here."""
    return page("Not found", "<p>There is nothing here.</p>")
