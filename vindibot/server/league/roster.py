"""Rosters: who takes part, from a CSV or JSON file, and the keys that are handed out to those who bring none."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from vindibot.base import UsageError, create
from vindibot.server.names import name_problem
from vindibot.server.users import KEY_LENGTH, random_word

#: More than any class has.
MAX_ENTRANTS = 500
MAX_BYTES = 1_000_000


@dataclass(frozen=True)
class RosterEntry:
    """A bot of the roster with its key; `made` says that the key was made here, so that somebody must be told."""

    name: str
    key: str = field(repr=False)
    made: bool = False


def read_roster(path: Path) -> list[RosterEntry]:
    """The roster in a file: JSON if its name ends with ``.json``, else CSV. Raises `UsageError` with the place."""
    try:
        with path.open("rb") as file:
            content = file.read(MAX_BYTES + 1)
    except OSError as error:
        raise UsageError(f"the roster {path} cannot be read: {error.strerror or error}") from None
    if len(content) > MAX_BYTES:
        raise UsageError(f"{path} is no roster: it has more than {MAX_BYTES} bytes")
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise UsageError(f"{path}: a roster is UTF-8 text; save it as such") from None
    try:
        return roster_from_json(text) if path.suffix.lower() == ".json" else roster_from_csv(text)
    except UsageError as problem:
        raise UsageError(f"{path}, {problem.message}") from None


def roster_from_csv(text: str) -> list[RosterEntry]:
    """A roster from lines of ``name`` or ``name,key``, with or without a heading. Raises `UsageError`."""
    first = text.partition("\n")[0]
    delimiter = ";" if first.count(";") > first.count(",") else ","
    name_column, key_column = 0, 1
    rows: list[tuple[str, str, str]] = []
    reader = csv.reader(io.StringIO("\n".join(text.splitlines())), delimiter=delimiter, strict=True)
    try:
        lines = [(reader.line_num, row) for row in reader]
    except csv.Error as error:
        raise UsageError(f"line {reader.line_num}: this is no CSV: {error}") from None
    for number, row in lines:
        cells = [cell.strip() for cell in row]
        if not any(cells):
            continue
        heading = [cell.lower() for cell in cells]
        if not rows and "name" in heading:
            name_column = heading.index("name")
            key_column = heading.index("key") if "key" in heading else len(heading)
            continue
        cells += [""] * (max(name_column, key_column) + 1 - len(cells))
        rows.append((f"line {number}", cells[name_column], cells[key_column]))
    return _entrants(rows)


def roster_from_json(text: str) -> list[RosterEntry]:
    """A roster from a JSON list of names, or of objects with a ``name`` and perhaps a ``key``. Raises `UsageError`."""
    try:
        value = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise UsageError(f"the roster is no JSON: {error}") from None
    return roster_from_list(value)


def roster_from_list(value: Any) -> list[RosterEntry]:
    """A roster from what JSON was decoded to. Raises `UsageError`."""
    if not isinstance(value, list):
        raise UsageError("the roster must be a list of names, or of objects with a name and perhaps a key")
    rows: list[tuple[str, str, str]] = []
    for number, item in enumerate(value, 1):
        name, key = (item.get("name"), item.get("key") or "") if isinstance(item, dict) else (item, "")
        if not isinstance(name, str) or not isinstance(key, str):
            raise UsageError(f"entry {number}: a name and a key are texts")
        rows.append((f"entry {number}", name.strip(), key.strip()))
    return _entrants(rows)


def _entrants(rows: Sequence[tuple[str, str, str]]) -> list[RosterEntry]:
    if not 1 <= len(rows) <= MAX_ENTRANTS:
        raise UsageError(f"the roster has {len(rows)} names; 1 to {MAX_ENTRANTS} are possible")
    names: dict[str, str] = {}
    keys: dict[str, str] = {}
    found = []
    for where, name, key in rows:
        problem = name_problem(name, shortest=1)
        if problem is not None:
            raise UsageError(f"{where}: {problem}")
        if name in names:
            raise UsageError(f"{where}: the name {name!r} stands at {names[name]} already")
        if key and not (len(key) == KEY_LENGTH and key.isascii() and key.isprintable()):
            raise UsageError(f"{where}: a key has {KEY_LENGTH} visible characters, this one has {len(key)}")
        if key in keys:
            raise UsageError(f"{where}: the key stands at {keys[key]} already")
        names[name] = where
        if key:
            keys[key] = where
        found.append(RosterEntry(name, key or random_word(KEY_LENGTH), made=not key))
    return found


def write_keys(entrants: Sequence[RosterEntry], path: Path) -> None:
    """Write a CSV of names and keys that only its owner may read. Raises `UsageError` if the file is there already."""
    text = io.StringIO()
    writer = csv.writer(text)
    writer.writerow(["name", "key"])
    writer.writerows([entrant.name, entrant.key] for entrant in entrants)
    try:
        create(path, text.getvalue().encode(), mode=0o600)
    except FileExistsError:
        raise UsageError(f"{path} is there already: it may hold keys that were handed out; move it away first") from None
    except OSError as error:
        raise UsageError(f"the keys cannot be written to {path}: {error.strerror or error}") from None
