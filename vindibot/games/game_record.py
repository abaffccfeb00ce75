"""Game records: map, seats and orders of one game, a few kilobytes from which `sim` recomputes every state.

This is what the server and the arena keep of a game. As text a record is one line of JSON (`dumps`, `loads`); a file of
records has one per line (`read_records`). Equal records give equal states, on every machine.
"""

from __future__ import annotations

import gzip
import zlib
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Annotated, Any, Literal

import numpy as np
from pydantic import AwareDatetime, BeforeValidator, ConfigDict, Field, PlainSerializer, TypeAdapter, ValidationError

from sim.game import CRASH, STRIDE, TILE_BITS, Games, row_column
from sim.maps import Map, MapError, parse_map
from vindibot.base import VindibotError
from vindibot.games.outcome import Reason

#: The newest version of the format that this program writes and reads.
VERSION = 2
#: The release that reads the version before it.
READER_BEFORE = "0.1.0"
#: How an order is written: a direction as its digit, a crash as an x.
_LETTERS = {0: "0", 1: "1", 2: "2", 3: "3", 4: "4", CRASH: "x"}
_CODES = {letter: code for code, letter in _LETTERS.items()}


class GameRecordError(VindibotError):
    """A record that cannot be read or replayed; the message names the place and the reason."""


def _read_moves(value: Any) -> Any:
    if not isinstance(value, str):
        return value
    for place, letter in enumerate(value):
        if letter not in _CODES:
            raise ValueError(f"move {place} is {letter!r}, which is none of {''.join(_CODES)}")
    return tuple(map(_CODES.__getitem__, value))


def write_moves(moves: tuple[int, ...]) -> str:
    """The orders (0..4 or `sim.game.CRASH`) as a text of a letter each."""
    return "".join(map(_LETTERS.__getitem__, moves))


Moves = Annotated[
    tuple[Literal[0, 1, 2, 3, 4, 5], ...], BeforeValidator(_read_moves), PlainSerializer(write_moves, return_type=str)
]
Square = tuple[int, int]


@dataclass(frozen=True, kw_only=True)
class GameRecord:
    """One game. Build one with `GameRecord.of`.

    `map` is the map's text (`sim.maps.parse_map`), owners of mines as they were at the start; `spawns` the (row, column) of
    the spawn squares where they are not the mirrors of hero 1's start. `max_turns` counts plies. `names` and `who` are of
    heroes 1..4; `who` are ids that mean something to whoever keeps the record (users, bots), None for nobody known.
    `moves` are one per ply, 0..4 as the directions or `sim.game.CRASH`. `ending` is "finished" or "all-crashed" for
    a game that came to its end, any other reason for one that did not. `extra` is for the keeper; it must be JSON.
    """

    __pydantic_config__ = ConfigDict(extra="ignore")

    id: str
    map: str
    max_turns: Annotated[int, Field(ge=-(2**31), lt=2**31)]
    training: bool
    names: tuple[str, str, str, str]
    who: tuple[str | None, str | None, str | None, str | None] = (None, None, None, None)
    seed: int = 0
    moves: Moves
    ending: Reason
    started: AwareDatetime
    finished: AwareDatetime
    spawns: tuple[Square, Square, Square, Square] | None = None
    extra: dict[str, Any] = field(default_factory=dict)
    version: Annotated[int, Field(ge=VERSION, le=VERSION)] = VERSION

    @classmethod
    def of(
        cls,
        game_map: Map,
        *,
        id: str,  # noqa: A002 - the field's name
        max_turns: int,
        names: tuple[str, str, str, str],
        moves: tuple[int, ...] | list[int],
        ending: Reason,
        started: datetime,
        finished: datetime,
        training: bool = False,
        who: tuple[str | None, str | None, str | None, str | None] = (None, None, None, None),
        seed: int = 0,
        extra: dict[str, Any] | None = None,
    ) -> GameRecord:
        """The record of a game on `game_map`. Raises `GameRecordError` for a map that cannot be kept as text: one without
        four heroes, or with heroes on one another or on anything but air."""
        spawns: Any = tuple(game_map.spawns)
        try:
            read = parse_map(game_map.text())
        except MapError as problem:
            raise GameRecordError(f"game {id}: the map cannot be kept: {problem}") from None
        if read.starts != game_map.starts or None in spawns or not np.array_equal(read.tiles, game_map.tiles):
            raise GameRecordError(f"game {id}: the map cannot be kept: a hero starts on another, or on what is not air")
        return cls(
            id=id,
            map=game_map.text(),
            max_turns=max_turns,
            training=training,
            names=names,
            who=who,
            seed=seed,
            moves=tuple(moves),  # type: ignore[arg-type]
            ending=ending,
            started=started,
            finished=finished,
            spawns=None if spawns == tuple(read.spawns) else spawns,
            extra=extra or {},
        )

    def game_map(self) -> Map:
        """The map that was played on. Raises `GameRecordError`."""
        try:
            found = parse_map(self.map)
            return found if self.spawns is None else Map(found.tiles, found.starts, list(self.spawns))
        except (MapError, ValueError) as problem:
            raise GameRecordError(f"game {self.id}: the map: {problem}") from None

    def first(self) -> Games:
        """The game before its first ply, as a `sim.game.Game`. Raises `GameRecordError`."""
        game_map = self.game_map()
        inside = range(game_map.size)
        for row, column in self.spawns or ():
            if row not in inside or column not in inside:
                raise GameRecordError(f"game {self.id}: the spawn square {row, column} is not on the board")
        return game_map.new_game(self.max_turns, self.training)


_ADAPTER = TypeAdapter(GameRecord)


def dumps(record: GameRecord) -> bytes:
    """The record as one line of JSON, without a line end."""
    return _ADAPTER.dump_json(record)


def loads(line: bytes | str, where: str = "game record") -> GameRecord:
    """The record in a line of JSON. Raises `GameRecordError`, whose message begins with `where`."""
    try:
        return _ADAPTER.validate_json(line)
    except ValidationError as error:
        errors = error.errors(include_input=False, include_url=False, include_context=False)
    first = next((one for one in errors if one["loc"] == ("version",)), errors[0])
    path = ".".join(map(str, first["loc"]))
    if path == "version" and first["type"] == "greater_than_equal":
        raise GameRecordError(f"{where}: this record has version {VERSION - 1}; vindibot {READER_BEFORE} reads it")
    if path == "version":
        raise GameRecordError(f"{where}: this record was written by a newer version of vindibot")
    raise GameRecordError(f"{where}: {path + ': ' if path else ''}{first['msg']}")


def read_records(path: Path) -> Iterator[GameRecord]:
    """The records of a file of JSON lines (gzipped if it ends in .gz). Raises `GameRecordError`: file, line, reason."""
    number = 0
    try:
        with gzip.open(path, "rb") if path.suffix == ".gz" else path.open("rb") as lines:
            for number, line in enumerate(lines, 1):
                if line.strip():
                    yield loads(line, f"{path}, line {number}")
    except (EOFError, gzip.BadGzipFile, zlib.error) as problem:
        raise GameRecordError(f"{path}, after line {number}: the file is cut off or damaged ({problem})") from None
    except OSError as problem:
        raise GameRecordError(f"{path}: {problem.strerror or problem}") from None


def map_before(games: Games, index: int = 0) -> Map:
    """The map of ``games[index]``, which must not have begun: unlike `sim.maps.map_of` it keeps the owners of mines and
    the heroes' starts."""
    game = games[index]
    size = int(game["size"])
    tiles = (game["cell"] & TILE_BITS).reshape(STRIDE, STRIDE)[1 : size + 1, 1 : size + 1]
    starts = [row_column(square) for square in game["hero"]["pos"].tolist()]
    spawns = [row_column(square) for square in game["hero"]["spawn"].tolist()]
    return Map(tiles, list(starts), list(spawns))
