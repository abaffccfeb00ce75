"""Reading of saved states of a game: an answer of a server to a player, or the text of a stream of events.

An answer is the object with the keys `game` and `hero`, or the game object alone, in any layout of JSON. A stream of events is
the text of ``/events/GAME``, whose lines ``data: {...}`` have the states. A file may also have a state per line.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from vindibot.base.errors import UsageError
from vindibot.base.output.text import decode_json
from vindibot.games.files.lines import read_lines
from vindibot.games.protocol import GameState, ProtocolError, read_game

#: The beginnings of the lines of an event stream that have no state. A comment begins with a colon.
_DATA, _OTHERS = b"data:", (b"id:", b"event:", b"retry:", b":")
#: Keys of a game object.
_KEYS = {"turn", "heroes", "board"}


@dataclass(frozen=True)
class SavedStates:
    """The states of one game in a file, in order of time. `me` is the player's hero (0..3), None if no hero is the player's."""

    states: tuple[GameState, ...]
    me: int | None = None


def is_states(path: Path, first: bytes, value: Any) -> bool:
    """Return whether a file has saved states. `first` is its first line, and `value` the JSON in this line, None for no JSON."""
    line = first.lstrip()
    if line.startswith((_DATA, *_OTHERS)):
        return True
    if value is None and line[:1] in (b"{", b"["):
        value = _whole(path)
    return any(_game_of(one) is not None for one in _several(value))


def read_states(path: Path, game: str | None = None) -> SavedStates:
    """Return the states of the game with the id `game`, None for the only game of the file.

    States that repeat an earlier turn are left out, as they are in the stream of a reader that has connected twice. Raises
    `UsageError` for a file without states, for a state that does not follow the protocol, and if `game` chooses no game.
    """
    found: list[GameState] = []
    heroes: set[int] = set()
    for where, value in _values(path):
        inner = _game_of(value)
        if inner is None:
            raise UsageError(f"{path}{where}: this is no state of a game: its keys must be those of the protocol")
        try:
            found.append(read_game(inner))
        except ProtocolError as problem:
            raise UsageError(f"{path}{where}: {problem.message}") from None
        hero = value["hero"].get("id") if isinstance(value.get("hero"), dict) else None
        if hero in (1, 2, 3, 4):
            heroes.add(hero - 1)
    if not found:
        raise UsageError(f"{path}: there is no state of a game in it")
    ids = list(dict.fromkeys(state.id for state in found))
    if game is None and len(ids) > 1:
        raise UsageError(f"{path} has states of {len(ids)} games: choose one with --game ({', '.join(ids[:5])})")
    if game not in (None, *ids):
        raise UsageError(f"{path} has no states of the game {game!r:.60}; it has: {', '.join(ids[:5])}")
    chosen: list[GameState] = []
    for state in found:
        if state.id == (game or ids[0]) and (not chosen or state.turn > chosen[-1].turn or state.finished):
            chosen.append(state)
    return SavedStates(tuple(chosen), next(iter(heroes)) if len(heroes) == 1 else None)


def _values(path: Path) -> Iterator[tuple[str, Any]]:
    """Yield the JSON values of a file, each with its place in the file."""
    whole = _whole(path)
    if whole is not None:
        yield from (("", value) for value in _several(whole))
        return
    for number, line in read_lines(path, UsageError):
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
    for one in (inner, value):
        if isinstance(one, dict) and _KEYS <= one.keys():
            return one
    return None
