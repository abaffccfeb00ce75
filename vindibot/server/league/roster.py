"""Rosters: lists of the bots of a league, read from CSV or JSON. Bots without a key get a new key."""

from __future__ import annotations

import csv
import io
from codecs import BOM_UTF16_BE, BOM_UTF16_LE
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from vindibot.base.errors import UsageError
from vindibot.base.output.text import decode_json
from vindibot.base.writing import create
from vindibot.server.users import KEY_LENGTH, name_problem, random_word

MAX_ENTRANTS = 500
MAX_BYTES = 1_000_000
#: Number of characters of an organiser's key: 103 random bits.
ORGANISER_KEY_LENGTH = 20


@dataclass(frozen=True)
class RosterEntry:
    """A bot of a roster with its key. `made` is true if the key is new: the bot's author does not know it yet."""

    name: str
    key: str = field(repr=False)
    made: bool = False


def read_roster(path: Path) -> list[RosterEntry]:
    """Return the roster in a file. The file is JSON if its name ends with ``.json``, else CSV.

    Raises `UsageError`. The message says which line or entry of the file is wrong.
    """
    try:
        with path.open("rb") as file:
            content = file.read(MAX_BYTES + 1)
    except OSError as error:
        raise UsageError(f"the roster {path} cannot be read: {error.strerror or error}") from None
    if len(content) > MAX_BYTES:
        raise UsageError(f"{path} is not a roster: it has more than {MAX_BYTES} bytes")
    try:
        text = content.decode("utf-16" if content.startswith((BOM_UTF16_LE, BOM_UTF16_BE)) else "utf-8-sig")
    except UnicodeDecodeError:
        raise UsageError(f"{path}: a roster is UTF-8 text; save it with this encoding") from None
    try:
        return roster_from_json(text) if path.suffix.lower() == ".json" else roster_from_csv(text)
    except UsageError as problem:
        raise UsageError(f"{path}, {problem.message}") from None


def roster_from_csv(text: str) -> list[RosterEntry]:
    """Return the roster in lines of ``name`` or ``name,key``, with or without a line of headings. Raises `UsageError`.

    The sign between name and key is the one of ``,``, ``;`` and the tab that is most frequent in the first line.
    """
    first = next((line for line in text.splitlines() if line.strip()), "")
    delimiter = max(",;\t", key=first.count)
    reader = csv.reader(io.StringIO("\n".join(text.splitlines())), delimiter=delimiter, strict=True)
    try:
        lines = [(f"line {reader.line_num}", [cell.strip() for cell in row]) for row in reader]
    except csv.Error as error:
        raise UsageError(f"line {reader.line_num}: this is not CSV: {error}") from None
    lines = [(where, cells) for where, cells in lines if any(cells)]
    name_column, key_column = 0, 1
    heading = [cell.lower() for cell in lines[0][1]] if lines else []
    if "name" in heading:
        del lines[0]
        name_column = heading.index("name")
        key_column = heading.index("key") if "key" in heading else len(heading)
    rows = [(where, [*cells, *[""] * (max(name_column, key_column) + 1)]) for where, cells in lines]
    return _entrants([(where, cells[name_column], cells[key_column]) for where, cells in rows])


def roster_from_json(text: str) -> list[RosterEntry]:
    """Return the roster in a JSON list of names, or of objects with a ``name`` and an optional ``key``. Raises `UsageError`."""
    try:
        value = decode_json(text)
    except ValueError as error:
        raise UsageError(f"the roster is not JSON: {error}") from None
    return roster_from_list(value)


def roster_from_list(value: Any) -> list[RosterEntry]:
    """Return the roster in a decoded JSON list (see `roster_from_json`). Raises `UsageError`."""
    if not isinstance(value, list):
        raise UsageError("the roster must be a list of names, or of objects with a name and an optional key")
    rows: list[tuple[str, str, str]] = []
    for number, item in enumerate(value, 1):
        name, key = (item.get("name"), item.get("key") or "") if isinstance(item, dict) else (item, "")
        if not isinstance(name, str) or not isinstance(key, str):
            raise UsageError(f"entry {number}: a name and a key must be strings")
        rows.append((f"entry {number}", name.strip(), key.strip()))
    return _entrants(rows)


def _entrants(rows: Sequence[tuple[str, str, str]]) -> list[RosterEntry]:
    """Return the roster entries for rows of (place, name, key). A row with an empty key gets a new key.

    The place is a line or an entry of the file, and appears in messages. Raises `UsageError`.
    """
    if not 1 <= len(rows) <= MAX_ENTRANTS:
        raise UsageError(f"the roster has {len(rows)} names; 1 to {MAX_ENTRANTS} are possible")
    names: dict[str, str] = {}
    keys: dict[str, str] = {}
    for where, name, key in rows:
        problem = name_problem(name, shortest=1)
        if problem is not None:
            raise UsageError(f"{where}: {problem}")
        if key and not (len(key) == KEY_LENGTH and key.isascii() and key.isprintable()):
            raise UsageError(f"{where}: a key has {KEY_LENGTH} visible characters, this one has {len(key)}")
        if names.setdefault(name, where) != where:
            raise UsageError(f"{where}: the name {name!r} is already at {names[name]}")
        if key and keys.setdefault(key, where) != where:
            raise UsageError(f"{where}: the key is already at {keys[key]}")
    return [RosterEntry(name, key or random_word(KEY_LENGTH), made=not key) for _, name, key in rows]


def write_keys(entrants: Sequence[RosterEntry], path: Path) -> None:
    """Write the names and keys of `entrants` to a new CSV file that only the owner of the file may read.

    Raises `UsageError` if the file exists or cannot be written.
    """
    text = io.StringIO()
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
