"""Files that hold a game, whichever kind they are: a recording of ours, or game records as servers and arenas keep them."""

from __future__ import annotations

import gzip
import json
import zlib
from pathlib import Path
from typing import Literal

from vindibot.base import UsageError
from vindibot.games.game_record import GameRecord, read_records
from vindibot.games.recording import FORMAT, Recording, read_recording

#: "recording" is one game as a bot of ours saw it, "records" are game records, "original" are games recorded from the
#: original server, with every state (see `vindibot.games.verify`).
Kind = Literal["recording", "records", "original"]
#: Ids that are listed to somebody who has to choose.
_LISTED = 5
#: A first line that is longer than this is none of ours.
_LONGEST = 1 << 24


def kind_of(path: Path) -> Kind:
    """What a file holds, judged by its first line. Raises `UsageError` for a file that is none of these or cannot be read."""
    if path.is_dir():
        raise UsageError(f"{path} is a folder; give a recording or a file of game records")
    try:
        with gzip.open(path, "rb") if path.suffix == ".gz" else path.open("rb") as lines:
            first = lines.readline(_LONGEST)
    except (EOFError, gzip.BadGzipFile, zlib.error) as problem:
        raise UsageError(f"{path}: the file is cut off or damaged ({problem})") from None
    except OSError as problem:
        raise UsageError(f"{path}: cannot be read: {problem.strerror or problem}") from None
    try:
        value = json.loads(first)
    except (ValueError, RecursionError):
        value = None
    if isinstance(value, dict):
        if value.get("format") == FORMAT:
            return "recording"
        if {"map", "moves", "ending"} <= value.keys():
            return "records"
        if {"init", "moves", "states"} <= value.keys():
            return "original"
    raise UsageError(
        f"{path}: this is no game: a recording (recordings/*.jsonl) or game records (an arena's *.games.jsonl) are expected"
    )


def read_game_file(path: Path, game: str | None = None) -> Recording | GameRecord:
    """The game in a file. `game` chooses among several records: an id (of two with the same the last one, as in an arena's
    results), or a number from 1.

    Raises `UsageError` where it must be said, or cannot be, which game is meant, and `VindibotError` for a bad file.
    """
    kind = kind_of(path)
    if kind == "original":
        raise UsageError(f"{path}: these are games of the original server; only `vindibot verify` reads them")
    if kind == "recording":
        recording = read_recording(path)
        if game not in (None, recording.header.game, "1"):
            raise UsageError(f"{path} is the recording of game {recording.header.game} alone, there is no {game!r:.60} in it")
        return recording
    records = list(read_records(path))
    by_name = {str(number): record for number, record in enumerate(records, 1)} | {record.id: record for record in records}
    if game is None and len(by_name) <= 2:  # one id and one number
        return records[0]
    if game is not None and game in by_name:
        return by_name[game]
    ids = list(dict.fromkeys(record.id for record in records))
    known = ", ".join(ids[:_LISTED]) + (", ..." if len(ids) > _LISTED else "")
    if game is None:
        raise UsageError(f"{path} holds {len(ids)} games: choose one with --game, by its id or number ({known})")
    raise UsageError(f"{path}: there is no game {game!r:.60}; it holds {len(ids)} ({known})")
