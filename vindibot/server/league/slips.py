"""``vindibot league slips``: a page to print, with a slip per bot that has all that its author needs."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from pathlib import Path

from vindibot.base.address import ServerAddress
from vindibot.base.errors import UsageError
from vindibot.base.output.pages import qr_code, render
from vindibot.base.writing import Output
from vindibot.server.admin.roster import RosterEntry
from vindibot.server.league.league import League
from vindibot.server.league.settings import play_command

#: The place of a key in the command of `play_command`.
_PLACE = "YOUR-KEY"


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
        "server.league/slips.html",
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
    mark = f'<meta name="generator" content="vindibot league slips {league}">'
    Output(path, mark, f"vindibot league slips {league}", "--out names another file", mode=0o600).write(page)
