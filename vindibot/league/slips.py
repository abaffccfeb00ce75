"""The files with keys of a league: those of its bots, the one of its organiser, and a page of slips to print."""

from __future__ import annotations

import csv
import io
import shlex
from collections.abc import Sequence
from pathlib import Path

from vindibot.base.address import ServerAddress
from vindibot.base.errors import UsageError
from vindibot.base.output.pages import qr_code, render
from vindibot.base.writing import Output, create
from vindibot.league.league import League
from vindibot.league.settings import play_command
from vindibot.league.standings import BOM
from vindibot.server.admin.roster import RosterEntry
from vindibot.server.users import random_word

#: The place of a key in the command of `play_command`.
_PLACE = "YOUR-KEY"
#: Number of characters of an organiser's key: 103 random bits.
ORGANISER_KEY_LENGTH = 20


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
    slips = [(name, keys.get(name), command.replace(_PLACE, shlex.quote(keys.get(name, _PLACE)))) for name in league.names]
    return render(
        "league/slips.html",
        league=league.name,
        slips=slips,
        address=address,
        page=page,
        starters=address.url("/starters"),
        code=qr_code(page),
    )


def write_slips(page: str, league: str, path: Path) -> None:
    """Write the page to a file that only its owner may read. An older page with slips of this league is replaced.

    Raises `UsageError` if there is another file, and `VindibotError` if the disk refuses the page.
    """
    command = "vindibot league slips"
    made_by = f"{command} {league}"
    Output(path, f'<meta name="generator" content="{made_by}">', made_by, "--out names another file", mode=0o600).write(page)


def write_keys(entrants: Sequence[RosterEntry], path: Path) -> None:
    """Write the names and keys of `entrants` to a new CSV file that only the owner of the file may read.

    Raises `UsageError` if the file exists or cannot be written.
    """
    text = io.StringIO()
    text.write(BOM)
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(["name", "key"])
    writer.writerows([entrant.name, entrant.key] for entrant in entrants)
    _write(path, text.getvalue())


def new_organiser_key() -> str:
    """Return a new key for the organiser of a league: a random word with more than 100 random bits."""
    return random_word(ORGANISER_KEY_LENGTH)


def write_organiser_key(key: str, path: Path) -> None:
    """Write the key of a league's organiser to a new file that only the owner of the file may read.

    Raises `UsageError` if the file exists or cannot be written.
    """
    _write(path, f"{key}\n")


def _write(path: Path, text: str) -> None:
    try:
        create(path, text.encode(), mode=0o600)
    except FileExistsError:
        raise UsageError(f"{path} exists: it may have keys that are in use; move it away first") from None
    except OSError as error:
        raise UsageError(f"the keys cannot be written to {path}: {error.strerror or error}") from None
