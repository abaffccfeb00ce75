"""Rosters: lists of bots, read from CSV or JSON. Bots without a key get a new key."""

from __future__ import annotations

import csv
import re
from codecs import BOM_UTF16_BE, BOM_UTF16_LE
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from vindibot.base.errors import UsageError
from vindibot.base.text import decode_json
from vindibot.server.users import KEY_LENGTH, name_problem, random_word

MAX_ENTRANTS = 500
MAX_BYTES = 1_000_000
#: Number of lines at the beginning of CSV of which one may be the heading.
TITLE_LINES = 10
_SEPARATOR = re.compile(r"sep=(.)", re.IGNORECASE)


@dataclass(frozen=True)
class RosterEntry:
    """A bot of a roster with its key. `made` is true if the key is new: the bot's author does not know it yet."""

    name: str
    key: str = field(repr=False)
    made: bool = False


def _tell_nobody(text: str) -> None:
    """Do nothing with a notice."""


def read_roster(path: Path, notify: Callable[[str], None] = _tell_nobody) -> list[RosterEntry]:
    """Return the roster in a file. The file is JSON if its name ends with ``.json``, else CSV.

    `notify` gets a text about each thing that was assumed. Raises `UsageError`. The message says which line or entry of the file
    is wrong.
    """
    try:
        with path.open("rb") as file:
            content = file.read(MAX_BYTES + 1)
    except OSError as error:
        raise UsageError(f"the roster {path} cannot be read: {error.strerror or error}") from None
    if len(content) > MAX_BYTES:
        raise UsageError(f"{path} is not a roster: it has more than {MAX_BYTES} bytes")
    try:
        return roster_from_bytes(content, is_csv=path.suffix.lower() != ".json", notify=lambda text: notify(f"{path}: {text}"))
    except UsageError as problem:
        raise UsageError(f"{path}, {problem.message}") from None


def roster_from_bytes(content: bytes, *, is_csv: bool, notify: Callable[[str], None] = _tell_nobody) -> list[RosterEntry]:
    """Return the roster in CSV or JSON. `notify` gets a text about each thing that was assumed. Raises `UsageError`.

    The text is UTF-8, or UTF-16 with a byte order mark, or else Windows-1252, as Excel writes it in western Europe.
    """
    western = False
    try:
        text = content.decode("utf-16" if content.startswith((BOM_UTF16_LE, BOM_UTF16_BE)) else "utf-8-sig")
    except UnicodeDecodeError:
        western = True
        try:
            text = content.decode("cp1252")
        except UnicodeDecodeError:
            raise UsageError("a roster is UTF-8 text; save it with this encoding") from None
    roster = roster_from_csv(text, notify) if is_csv else roster_from_json(text)
    names = [entry.name for entry in roster if not entry.name.isascii()]
    if western and names:
        notify(f"this is not UTF-8, so it was read as Windows-1252; check these names: {', '.join(names)}")
    return roster


def roster_from_csv(text: str, notify: Callable[[str], None] = _tell_nobody) -> list[RosterEntry]:
    """Return the roster in CSV. `notify` gets a text if lines above the heading were left out. Raises `UsageError`.

    The heading is the first line with a cell ``name``, within the first `TITLE_LINES` lines. The cells below ``name`` are the
    names, and those below ``key`` the keys, if there are any. Without a heading, each line is a name. A first line ``sep=;``
    names the sign between the cells. Otherwise this sign is one of ``,``, ``;`` and the tab.
    """
    lines = text.splitlines()
    named = _SEPARATOR.fullmatch(lines[0].strip()) if lines else None
    if named is not None:
        lines[0] = ""
    heading, separator = _find_heading(lines, named[1] if named is not None else ",;\t")
    skipped = [number for number, line in enumerate(lines[:heading], 1) if line.strip()]
    if skipped:
        notify(f"line {heading + 1} is the heading; what is above it was left out")
    reader = csv.reader(["\n"] * heading + [f"{line}\n" for line in lines[heading:]], delimiter=separator, strict=True)
    try:
        rows = [(f"line {reader.line_num}", [cell.strip() for cell in row]) for row in reader]
    except csv.Error as error:
        raise UsageError(f"line {reader.line_num}: this is not CSV: {error}") from None
    rows = [(where, cells) for where, cells in rows if any(cells)]
    columns = [cell.lower() for cell in rows[0][1]] if rows else []
    if "name" not in columns:
        _check_single(rows, separator)
        return _entrants([(where, cells[0], "") for where, cells in rows])
    name, key = columns.index("name"), columns.index("key") if "key" in columns else len(columns)
    padded = [(where, [*cells, *[""] * (max(name, key) + 1)]) for where, cells in rows[1:]]
    return _entrants([(where, cells[name], cells[key]) for where, cells in padded])


def _find_heading(lines: Sequence[str], separators: str) -> tuple[int, str]:
    """Return the index of the heading and the sign between its cells. Without a heading, return 0 and the most frequent sign."""
    for number, line in enumerate(lines[:TITLE_LINES]):
        for separator in separators:
            if "name" in (cell.strip(' \t"').lower() for cell in line.split(separator)):
                return number, separator
    return 0, max(separators, key=lambda separator: sum(line.count(separator) for line in lines))


def _check_single(rows: Sequence[tuple[str, list[str]]], separator: str) -> None:
    """Raise `UsageError` if a line of a list without a heading has several cells: one of them may be a key."""
    for where, cells in rows:
        if any(cells[1:]):
            raise UsageError(
                f"{where} has several cells, but no line says which one is the name: put the heading  name{separator}key  above"
                f" the bots, or  name  if they get new keys. {rows[0][0].capitalize()} was taken for the first bot."
            )


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
