"""``vindibot league``: new leagues with the keys of their bots and organiser, orders to a server, slips to print, standings."""

from __future__ import annotations

import asyncio
import csv
import io
import json
import shlex
import webbrowser
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any, Literal

from pydantic import SecretStr
from rich.console import Console

from vindibot.base import log
from vindibot.base.address import ServerAddress, lan_address
from vindibot.base.console import plain_table, say
from vindibot.base.errors import UsageError, VindibotError
from vindibot.base.pages import qr_code, render
from vindibot.base.text import Redactor, counted, printable
from vindibot.base.writing import Output, create
from vindibot.client.keys import read_key_file
from vindibot.client.transport import Transport, Within
from vindibot.config.maps import map_text
from vindibot.league.league import ORGANISER_SUFFIX, SUFFIX, League
from vindibot.league.settings import LeagueSettings, play_command, start_text
from vindibot.league.standings import BOM, as_csv
from vindibot.server.admin.roster import RosterEntry, read_roster
from vindibot.server.settings import COMMAND_DEFAULTS
from vindibot.server.users import random_word

#: The place of a key in the command of `play_command`.
_PLACE = "YOUR-KEY"
#: Number of characters of an organiser's key: 99 random bits.
ORGANISER_KEY_LENGTH = 20
#: The end of the name of the file with the new keys of the bots.
KEYS_SUFFIX = "-keys.csv"


def make_league(console: Console, name: str, roster: Path, folder: Path, settings: LeagueSettings) -> None:
    """Make a league from a roster: its file, the file of its organiser's key and, if bots got new keys, the file of these keys.

    Print what to do next. Raises `UsageError` if one of the files exists, or for a wrong roster or map.
    """
    settings = settings.model_copy(update={"maps": tuple(map_text(choice) or choice for choice in settings.maps)})
    entrants = _read_roster(roster, console)
    path, keys, organiser = (folder / f"{name}{suffix}" for suffix in (SUFFIX, KEYS_SUFFIX, ORGANISER_SUFFIX))
    organiser_key = random_word(ORGANISER_KEY_LENGTH)
    league = League.create(name, settings, entrants, path, organiser_key)
    files = {organiser: f"{organiser_key}\n"} | ({keys: keys_table(entrants)} if any(bot.made for bot in entrants) else {})
    for file in (path, league.secret_path, *files):
        if file.exists():
            raise UsageError(f"{file} already exists: choose another name, or move the file away")
    written: list[Path] = []
    try:
        for file, text in files.items():
            _write(file, text)
            written.append(file)
        league.save(new=True)
    except VindibotError:
        for file in written:  # without the league, the keys in these files are useless
            file.unlink(missing_ok=True)
        raise
    when = f"on day 1 of {league.days}" if settings.system == "swiss" else f"on {counted(league.days, 'day')}"
    say(console, f"{path}: {counted(len(entrants), 'bot')}, {counted(len(league.fixtures), 'game')} {when}")
    if keys in files:
        say(console, f"{keys}: the keys for the bots; this is the only copy")
    say(console, f"{organiser}: the key of the organiser; this is the only copy")
    say(console, f"to print a slip with all of this for each bot: {_typed('league', 'slips', path)}")
    say(console, f"now: {_typed('serve', '--lan', '--league', path)}")
    if settings.start is None:
        say(console, f"then, when the bots are there: {_typed('league', 'start', path)}")
    else:
        say(console, f"the games begin at {start_text(settings.start)}; to begin earlier: {_typed('league', 'start', path)}")


def _read_roster(path: Path, console: Console) -> list[RosterEntry]:
    """Return the bots of a roster. Tell the user what was assumed when it was read."""
    return read_roster(path, lambda text: say(console, text, "yellow"))


def _typed(*words: str | Path) -> str:
    return shlex.join(["vindibot", *map(str, words)])


def organise(
    console: Console, file: Path, action: str, *, server: str, key_file: Path | None = None, bot: str | None = None
) -> None:
    """Send an action of the organiser to the server that plays the league in `file`, and print the state of the league."""
    league = League.load(file)
    key = read_key_file(key_file or file.parent / f"{league.name}{ORGANISER_SUFFIX}")
    log.add_secret(key)
    state = asyncio.run(_send(ServerAddress.parse(server), league.name, key, action, bot))
    present, bots = len(state["present"]), len(league.names)
    say(console, f"{league.name}: {state['state']}, {state['progress']}; {present} of {bots} bots are here")
    if state["missing"]:
        say(console, printable(f"not connected: {', '.join(state['missing'])}"))


async def _send(address: ServerAddress, name: str, key: SecretStr, action: str, bot: str | None) -> dict[str, Any]:
    """Send an action to a server, and return the state of the league. Raises `VindibotError`."""
    redact = Redactor(key.get_secret_value())
    transport = Transport(address, redact)
    form = {"key": key.get_secret_value(), "action": action} | ({} if bot is None else {"bot": bot})
    try:
        reply = await transport.post(address.url(f"/leagues/{name}/organiser"), form, Within())
    finally:
        await transport.aclose()
    text = redact.excerpt(reply.body, 300)
    if reply.status == 404:
        raise VindibotError(f"{address} has no league named {name}: name the right server with --server")
    if reply.status != 200:
        raise VindibotError(f"{address} says: {text}")
    try:
        state = json.loads(reply.body)
        return {key: state[key] for key in ("state", "progress", "present", "missing")}
    except (ValueError, KeyError, TypeError):
        raise VindibotError(f"{address} is not a server of a league; its answer begins {text[:80]!r}") from None


def show_standings(console: Console, file: Path, form: Literal["table", "csv", "json"]) -> None:
    """Print the standings of the league in `file`."""
    league = League.load(file)
    rows = league.table()
    if form == "csv":
        print(as_csv(rows), end="")
    elif form == "json":
        print(json.dumps([asdict(row) for row in rows], ensure_ascii=False, indent=1))
    else:
        title = f"{league.name}: {league.progress()}"
        heads = ("", "bot", "points", "games", "opponents beaten", "drawn", "lost to", "gold")
        table = plain_table(*heads, left=("bot",), title=title)
        for row in rows:
            numbers = (row.games, row.opponents_beaten, row.opponents_drawn, row.opponents_lost_to, row.gold)
            table.add_row(str(row.rank), row.name, f"{row.points:.2f}", *map(str, numbers))
        console.print(table, markup=False)


# ---- Keys and slips ----


def make_slips(console: Console, file: Path, *, server: str | None, keys: Path | None, out: Path | None, show: bool) -> None:
    """Write the page with the slips of the league in `file`. With `show`, open it in the browser. Raises `VindibotError`.

    Without `server`, it is this machine. Without `keys` and `out`, the files lie beside `file`.
    """
    league = League.load(file)
    address = ServerAddress.parse(server or f"http://{lan_address()}:{COMMAND_DEFAULTS['port']}")
    page = slips_page(league, _read_roster(keys or file.parent / f"{league.name}{KEYS_SUFFIX}", console), address)
    path, made_by = out or file.parent / f"{league.name}-slips.html", f"vindibot league slips {league.name}"
    Output(path, f'<meta name="generator" content="{made_by}">', made_by, "--out names another file", mode=0o600).write(page)
    say(console, f"{path}: {counted(len(league.names), 'slip')} for the server {address}; the keys on them are secret")
    if show and not webbrowser.open(path.resolve().as_uri()):
        say(console, "found no browser: open this file yourself")


def slips_page(league: League, roster: Sequence[RosterEntry], address: ServerAddress) -> str:
    """Return the page with the slips of all bots of a league, in the order of the league.

    A slip has the name of the bot, its key, the address of the server, the command that joins, and the address of the league's
    page as a QR code. The QR code has no key. A bot whose key is not in `roster` gets a slip with a gap for the key. Raises
    `UsageError` if a bot of the roster does not belong to the league, or has another key there.
    """
    keys = {entrant.name: entrant.key for entrant in roster if not entrant.made}
    for name, key in keys.items():
        if name not in league.names:
            raise UsageError(f"the league {league.name} has no bot {name!r:.60}: name the file of its keys with --keys")
        if league.member(key) != league.names.index(name):
            raise UsageError(f"the key of {name!r:.60} is not its key in the league {league.name}: take the file of its keys")
    page = address.url(f"/leagues/{league.name}")
    command = play_command(league.settings, str(address))
    words = {name: shlex.quote(keys.get(name, _PLACE)) for name in league.names}
    slips = [(name, keys.get(name), command.replace(_PLACE, word), word) for name, word in words.items()]
    return render(
        "league/slips.html",
        league=league.name,
        slips=slips,
        address=address,
        page=page,
        starters=address.url("/starters"),
        code=qr_code(page),
    )


def keys_table(entrants: Sequence[RosterEntry]) -> str:
    """Return the names and keys of `entrants` as CSV with a heading, which begins with `BOM`."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(["name", "key"])
    writer.writerows([entrant.name, entrant.key] for entrant in entrants)
    return BOM + text.getvalue()


def _write(path: Path, text: str) -> None:
    """Write keys to a new file that only its owner may read. Raises `UsageError` if the file exists or cannot be written."""
    try:
        create(path, text.encode(), mode=0o600)
    except OSError as error:
        raise UsageError(f"the keys cannot be written to {path}: {error.strerror or error}") from None
