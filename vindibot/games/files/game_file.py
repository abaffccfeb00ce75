"""Reading of files that hold games: recordings (by our bots), game records (by a server or an arena), and saved states."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

from vindibot.base.errors import UsageError
from vindibot.base.output.text import decode_json
from vindibot.games.files.lines import read_lines
from vindibot.games.files.recording import FORMAT, Recording, read_recording
from vindibot.games.files.states import is_states
from vindibot.games.game_record import GameRecord, read_records

#: The kind of a file: "recording" (one game as our bot saw it), "records" (game records), "original" (games of the original
#: server with every state, see `vindibot.games.verify`), or "states" (saved states, see `vindibot.games.files.states`).
Kind = Literal["recording", "records", "original", "states"]
#: Largest number of game ids that an error message lists.
_MAX_LISTED = 5


def kind_of(path: Path) -> Kind:
    """Return the kind of a file, judged by its first line. Raises `UsageError` for an unknown kind or an unreadable file."""
    if path.is_dir():
        raise UsageError(f"{path} is a folder; give a recording or a file of game records")
    _, first = next(read_lines(path, UsageError), (0, b""))
    try:
        value = decode_json(first)
    except ValueError:
        value = None
    if isinstance(value, dict):
        if value.get("format") == FORMAT:
            return "recording"
        if {"map", "moves", "ending"} <= value.keys() or {"map", "orders", "ending"} <= value.keys():  # version 2, or 1
            return "records"
        if {"init", "moves", "states"} <= value.keys():
            return "original"
    if is_states(path, first, value):
        return "states"
    raise UsageError(
        f"{path}: this is no game: give a recording (recordings/*.jsonl) or game records (*.games.jsonl of an arena)"
    )


def read_game_file(path: Path, game: str | None = None) -> Recording | GameRecord:
    """Return the game in a file.

    `game` chooses one of several records: it is the id of a game, or the place of a record in the file (from 1). If several
    records have the same id, as in the results of an arena, the last of these records is taken.

    Raises `UsageError` if the file has several games and `game` is None, or if no game matches `game`. Raises `VindibotError` for
    a file that cannot be read.
    """
    kind = kind_of(path)
    if kind == "original":
        raise UsageError(f"{path} holds games of the original server; only `vindibot verify` reads them")
    if kind == "states":
        raise UsageError(f"{path} holds states of a game without moves: `vindibot play --from` and `vindibot watch` read it")
    if kind == "recording":
        recording = read_recording(path)
        if game not in (None, recording.header.game, "1"):
            raise UsageError(f"{path} is the recording of game {recording.header.game} alone; it does not hold {game!r:.60}")
        return recording
    records = list(read_records(path))
    by_name = {str(number): record for number, record in enumerate(records, 1)} | {record.id: record for record in records}
    ids = list(dict.fromkeys(record.id for record in records))
    if game is None and len(records) == 1:
        return records[0]
    if game is not None and game in by_name:
        return by_name[game]
    known = ", ".join(ids[:_MAX_LISTED]) + (", ..." if len(ids) > _MAX_LISTED else "")
    if game is None:
        raise UsageError(f"{path} holds {len(ids)} games: choose one with --game, by its id or number ({known})")
    raise UsageError(f"{path}: there is no game {game!r:.60}; it holds {len(ids)} ({known})")
