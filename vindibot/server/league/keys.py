"""The files of the keys of a league: those of its bots, and the one of its organiser."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from pathlib import Path

from vindibot.base.errors import UsageError
from vindibot.base.writing import create
from vindibot.server.admin.roster import RosterEntry
from vindibot.server.league.standings import BOM
from vindibot.server.users import random_word

#: Number of characters of an organiser's key: 103 random bits.
ORGANISER_KEY_LENGTH = 20


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
