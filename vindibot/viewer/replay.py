"""``vindibot replay``: a recording or a game record as one HTML file."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from vindibot.errors import UsageError, VindibotError
from vindibot.gamerecord import GameRecord, read_records
from vindibot.recording import FORMAT, read_recording
from vindibot.viewer.bundle import Bundle, of_record, of_recording
from vindibot.viewer.page import whole_page

#: Games that are named where one of several must be chosen.
_NAMED = 5


def replay_file(path: Path, out: Path | None = None, game: str | None = None) -> Path:
    """Write the page of the game in the file `path` to `out`, or into this folder; returns where it is.

    `game` chooses from a file of several records: an id, or a number from 1. Raises `VindibotError` for a file that is
    damaged or is neither a recording nor one of game records.
    """
    page = whole_page(read_bundle(path, game))
    target = out if out is not None else Path(f"{path.name.removesuffix('.gz').removesuffix('.jsonl')}.html")
    if target.exists() and target.samefile(path):
        raise UsageError(f"{target} is the game itself: give another file to --html")
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(page, encoding="utf-8", newline="\n")
    except OSError as error:
        raise VindibotError(f"{target}: cannot be written: {error.strerror or error}") from None
    return target


def read_bundle(path: Path, game: str | None = None) -> Bundle:
    """The game in a file; see `replay_file`."""
    if _is_recording(path):
        recording = read_recording(path)
        if game is not None and game not in (recording.header.game, "1"):
            raise UsageError(f"{path} is the recording of game {recording.header.game} alone, there is no {game!r} in it")
        return of_recording(recording)
    return of_record(_chosen(path, game))


def _is_recording(path: Path) -> bool:
    """Whether a file is a recording, as far as its first line tells; what cannot be read is left to the readers."""
    if path.is_dir():
        raise UsageError(f"{path} is a folder; give a recording or a file of game records")
    if path.suffix == ".gz":
        return False
    try:
        with path.open("rb") as lines:
            first: Any = json.loads(lines.readline())
    except OSError as error:
        raise UsageError(f"{path}: cannot be read: {error.strerror or error}") from None
    except (ValueError, RecursionError):
        raise VindibotError(f"{path}, line 1: this is neither a recording nor a game record, which are lines of JSON") from None
    return isinstance(first, dict) and first.get("format") == FORMAT


def _chosen(path: Path, game: str | None) -> GameRecord:
    names: list[str] = []
    only: GameRecord | None = None
    for number, record in enumerate(read_records(path), 1):
        if game in (record.id, str(number)):
            return record
        only = record if number == 1 else None
        names.append(record.id)
    if not names:
        raise VindibotError(f"{path}: the file is empty, there is no game in it")
    known = ", ".join(names[:_NAMED]) + (", ..." if len(names) > _NAMED else "")
    if game is not None:
        raise UsageError(f"{path}: there is no game {game!r}; it holds {len(names)} ({known})")
    if only is None:
        raise UsageError(f"{path} holds {len(names)} games: choose one with --game, by its id or number ({known})")
    return only
