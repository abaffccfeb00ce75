"""Files that hold a game, whichever kind they are: a recording of ours, or game records as servers and arenas keep them."""

from __future__ import annotations

import gzip
import json
import zlib
from pathlib import Path
from typing import Literal

from vindibot.errors import UsageError
from vindibot.gamerecord import GameRecord, read_records
from vindibot.recording import FORMAT, Recording, read_recording

#: "recording" is one game as a bot of ours saw it, "records" are game records, "original" are games recorded from the
#: original server, with every state (see `vindibot.verify`).
Kind = Literal["recording", "records", "original"]
#: Ids that are listed to somebody who has to choose.
_LISTED = 5
#: A first line that is longer than this is none of ours.
_LONGEST = 1 << 24


def kind_of(path: Path) -> Kind:
    """What a file holds, judged by its first line. Raises `UsageError` for a file that is none of these or cannot be read."""
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
        if {"map", "orders", "ending"} <= value.keys():
            return "records"
        if {"init", "moves", "states"} <= value.keys():
            return "original"
    raise UsageError(
        f"{path}: this is no game: a recording (recordings/*.jsonl) or game records (an arena's *.games.jsonl) are expected"
    )


def read_game_file(path: Path, game: str | None = None) -> Recording | GameRecord:
    """The game in a file; of several game records the one with the id `game` (of two with the same id the last one).

    Raises `UsageError` where it must be said, or cannot be, which game is meant, and `VindibotError` for a bad file.
    """
    kind = kind_of(path)
    if kind == "recording":
        if game is not None:
            raise UsageError(f"{path}: this is the recording of a single game; leave out which one")
        return read_recording(path)
    if kind == "original":
        raise UsageError(f"{path}: these are games of the original server; only `vindibot verify` reads them")
    records = {record.id: record for record in read_records(path)}
    if game is not None and game in records:
        return records[game]
    listed = ", ".join(list(records)[:_LISTED]) + (", ..." if len(records) > _LISTED else "")
    if game is not None:
        raise UsageError(f"{path}: there is no game {game!r:.60} among the {len(records)} here: {listed}")
    if len(records) > 1:
        raise UsageError(f"{path}: say which of the {len(records)} games: --game ID, one of {listed}")
    return next(iter(records.values()))
