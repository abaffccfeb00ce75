"""Reading of files that hold games: recordings (by our bots), game records (by a server or an arena), the results of an arena
with their game records beside them, and saved states.

Saved states are the answer of a server to a player (the object with the keys `game` and `hero`, or the game object alone, in any
layout of JSON), the text of a stream of events (its lines ``data: {...}`` have the states), or a state per line.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from vindibot.base.errors import UsageError
from vindibot.base.text import counted, decode_json
from vindibot.base.writing import begins_with, given_path, short
from vindibot.games.files.lines import read_lines, whole_lines
from vindibot.games.files.recording import FORMAT, SUFFIX, Recording, read_recording
from vindibot.games.files.review import REVIEW_SUFFIX, is_review_line
from vindibot.games.game_record import GameRecord, GameRecordError, loads
from vindibot.games.protocol import GameState, ProtocolError, read_game

#: The kind of a file: "recording" (one game as our bot saw it), "records" (game records), or "states" (saved states).
Kind = Literal["recording", "records", "states"]
#: The first bytes of a line of results of an arena.
RESULTS_LINE = b'{"version":'
#: Largest number of game ids that an error message lists.
_MAX_LISTED = 5


def kind_of(path: Path) -> Kind:
    """Return the kind of a file, judged by its first line. The results of an arena are "records", see `games_path`.

    Raises `UsageError` for an unknown kind or an unreadable file.
    """
    path = games_path(path)
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
        if "ending" in value and value.keys() & {"start", "map"}:  # earlier versions had a map
            return "records"
    if _is_states(path, first, value):
        return "states"
    raise UsageError(
        f"{path}: this is no game: give a recording (recordings/*.jsonl) or game records (*.games.jsonl of an arena)"
    )


def is_results(path: Path) -> bool:
    """Return whether a file has the results of an arena."""
    return path.is_file() and path.stat().st_size > 0 and begins_with(path, RESULTS_LINE)


def records_path(results: Path) -> Path:
    """Return the path of the game records that belong to the results of an arena."""
    return results.with_name(f"{results.stem}.games.jsonl")


def games_path(path: Path) -> Path:
    """Return the file with the games that `path` means: the game records beside the results of an arena, else `path` itself.

    Raises `UsageError` if the records of a results file are missing.
    """
    if not is_results(path):
        return path
    records = records_path(path)
    if not records.is_file():
        raise UsageError(f"{short(path)}: its game records are missing ({short(records)}): play with records = true")
    return records


def read_records(path: Path) -> Iterator[GameRecord]:
    """Yield the game records in a file, or beside the results of an arena. The lines of reviews are left out.

    An unfinished last line is left out with a warning. Raises `GameRecordError` for a damaged record, with the file and the line,
    and `UsageError` for a file of another kind.
    """
    path = games_path(path)
    if (kind := kind_of(path)) != "records":
        what = "a recording" if kind == "recording" else "a file of states without moves"
        raise UsageError(f"{short(path)} is {what}: give game records (*.games.jsonl), or the results of an arena")
    for number, line in whole_lines(path, GameRecordError):
        if not is_review_line(line):
            yield loads(line, f"{path}, line {number}")


def read_game_file(path: Path, game: str | None = None) -> Recording | GameRecord:
    """Return the game in a file.

    `game` chooses one of several records: it is the id of a game, or the place of a record in the file (from 1). If several
    records have the same id, as in the results of an arena, the last of these records is taken.

    Raises `UsageError` if the file has several games and `game` is None, or if no game matches `game`. Raises `VindibotError` for
    a file that cannot be read.
    """
    path = games_path(path)
    kind = kind_of(path)
    if kind == "states":
        raise UsageError(f"{path} holds states of a game without moves: `vindibot play --from` reads it")
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
        raise UsageError(f"{path} holds {counted(len(ids), 'game')}: choose one with --game, by its id or number ({known})")
    raise UsageError(f"{path}: there is no game {game!r:.60}; it holds {len(ids)} ({known})")


#: The word that stands for the newest recording.
LAST = "last"
#: The folder of recordings if the settings name no other folder.
FOLDER = Path("recordings")


def newest_recording(folder: Path = FOLDER) -> Path:
    """Return the recording in `folder` that has the latest modification time.

    Files with reviews do not count. Raises `UsageError` if there is no recording.
    """
    files = [path for path in folder.glob(f"*{SUFFIX}") if path.is_file() and not path.name.endswith(REVIEW_SUFFIX)]
    dated = [(path.stat().st_mtime_ns, path.name, path) for path in files]
    if not dated:
        raise UsageError(
            f"there is no recording in {folder}/ of the current folder, but {LAST!r} means the newest one:"
            " play a game (vindibot play), or name the file"
        )
    return max(dated)[-1]


def find_recording(name: str) -> Path:
    """Return the path `name`. The word ``last`` gives the path of the newest recording, but ``./last`` means a file."""
    return newest_recording() if name == LAST else given_path(name)


#: The beginnings of the lines of an event stream that have no state. A comment begins with a colon.
_DATA, _OTHERS = b"data:", (b"id:", b"event:", b"retry:", b":")
#: Keys of a game object.
_KEYS = {"turn", "heroes", "board"}


@dataclass(frozen=True)
class SavedStates:
    """The states of one game in a file, in order of time. `me` is the player's hero (0..3), None if no hero is the player's."""

    states: tuple[GameState, ...]
    me: int | None = None


def _is_states(path: Path, first: bytes, value: Any) -> bool:
    """Return whether a file has saved states. `first` is its first line, and `value` the JSON in this line, None for no JSON."""
    line = first.lstrip()
    if line.startswith((_DATA, *_OTHERS)):
        return True
    if value is None and line[:1] in (b"{", b"["):
        value = _whole(path)
    return any(_game_of(item) is not None for item in _several(value))


def read_states(path: Path, game: str | None = None) -> SavedStates:
    """Return the states of the game with the id `game`, None for the only game of the file.

    States that repeat an earlier turn are left out, as they are in the stream of a reader that has connected twice. Raises
    `UsageError` for a file without states, for a state that does not follow the protocol, and if `game` chooses no game.
    """
    states: list[GameState] = []
    heroes: set[int] = set()
    for where, value in _values(path):
        inner = _game_of(value)
        if inner is None:
            raise UsageError(f"{path}{where}: this is no state of a game: its keys must be those of the protocol")
        try:
            states.append(read_game(inner))
        except ProtocolError as problem:
            raise UsageError(f"{path}{where}: {problem.message}") from None
        hero = value["hero"].get("id") if isinstance(value.get("hero"), dict) else None
        if hero in (1, 2, 3, 4):
            heroes.add(hero - 1)
    if not states:
        raise UsageError(f"{path}: there is no state of a game in it")
    ids = list(dict.fromkeys(state.id for state in states))
    if game is None and len(ids) > 1:
        raise UsageError(f"{path} has states of {counted(len(ids), 'game')}: choose one with --game ({', '.join(ids[:5])})")
    if game not in (None, *ids):
        raise UsageError(f"{path} has no states of the game {game!r:.60}; it has: {', '.join(ids[:5])}")
    chosen: list[GameState] = []
    for state in states:
        if state.id == (game or ids[0]) and (not chosen or state.turn > chosen[-1].turn or state.finished):
            chosen.append(state)
    return SavedStates(tuple(chosen), next(iter(heroes)) if len(heroes) == 1 else None)


def _values(path: Path) -> Iterator[tuple[str, Any]]:
    """Yield the JSON values of a file, each with its place in the file."""
    whole = _whole(path)
    if whole is not None:
        yield from (("", value) for value in _several(whole))
        return
    for number, line in whole_lines(path, UsageError):
        text = line.strip()
        if text.startswith(_OTHERS) or text in (_DATA, b"data"):
            continue
        try:
            yield f", line {number}", decode_json(text.removeprefix(_DATA))
        except ValueError as problem:
            raise UsageError(f"{path}, line {number}: this is no state: {problem}") from None


def _whole(path: Path) -> Any:
    """Return the content of a file as one JSON value, None if it is not one."""
    try:
        return decode_json(b"".join(line for _, line in read_lines(path, UsageError)))
    except ValueError:
        return None


def _several(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [value]


def _game_of(value: Any) -> dict[str, Any] | None:
    """Return the game object in a JSON value, None if there is none."""
    if not isinstance(value, dict):
        return None
    inner = value.get("game")
    for part in (inner, value):
        if isinstance(part, dict) and _KEYS <= part.keys():
            return part
    return None
