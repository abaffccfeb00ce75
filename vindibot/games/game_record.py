"""Game records: map, players and moves of one game. From these few kilobytes, `sim` can compute every state of the game again.

The server and the arena store games as records. As text, a record is one line of JSON (`dumps`, `loads`). A file of records has
one record per line (`read_records`). Equal records give equal states on every machine.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any, Literal

import numpy as np
from pydantic import AwareDatetime, BeforeValidator, ConfigDict, Field, PlainSerializer, TypeAdapter, ValidationError

from sim.board import BoardError, draw, parse
from sim.game import CRASH, STRIDE, TILE_BITS, Games, equal, row_column
from sim.maps import Map, MapError, parse_map
from vindibot.base.errors import VindibotError
from vindibot.games.files.lines import fault, read_lines
from vindibot.games.files.review import PREFIX
from vindibot.games.notes import GameNote
from vindibot.games.outcome import Reason

#: Version of the format that this program writes and reads.
VERSION = 2
#: The letter of each move in a record: a digit for a direction, x for a crash.
_LETTERS = {0: "0", 1: "1", 2: "2", 3: "3", 4: "4", CRASH: "x"}
_CODES = {letter: code for code, letter in _LETTERS.items()}


class GameRecordError(VindibotError):
    """A record cannot be read or replayed. The message names the place and the reason."""


def _read_moves(value: Any) -> Any:
    if not isinstance(value, str):
        return value
    for place, letter in enumerate(value):
        if letter not in _CODES:
            raise ValueError(f"must consist of {''.join(_CODES)}, but move {place} is {letter!r}")
    return tuple(map(_CODES.__getitem__, value))


def write_moves(moves: tuple[int, ...]) -> str:
    """Return moves (0..4 or `sim.game.CRASH`) as text: ``0`` to ``4`` for a direction, ``x`` for a crash."""
    return "".join(map(_LETTERS.__getitem__, moves))


Moves = Annotated[
    tuple[Literal[0, 1, 2, 3, 4, 5], ...], BeforeValidator(_read_moves), PlainSerializer(write_moves, return_type=str)
]
Square = tuple[int, int]


@dataclass(frozen=True, kw_only=True)
class GameRecord:
    """The record of one game. Use `GameRecord.of` to make the record of a game on a `sim.maps.Map`.

    - `map`: the text of the map (see `sim.maps.parse_map`). Its mines have the owners that they had at the start of the game.
    - `max_turns`: length of the game in plies.
    - `names`: the names of heroes 1..4.
    - `player_ids`: the ids of the players (users or bots) of heroes 1..4. The program that stores the record chooses these ids.
      None for a player without an id.
    - `moves`: the moves, one per ply. Each is a direction 0..4 or `sim.game.CRASH`.
    - `ending`: "finished" or "all-crashed" if the game came to its end, else the reason why the game ended early.
    - `spawns`: (row, column) of the spawn squares of heroes 1..4. None if these squares mirror the start of hero 1.
    - `extra`: further data that the program stores with the record, as JSON values.
    - `position`: a drawing (`sim.board.draw`) of the state before the first of the moves. None if this state is the start of a
      game on `map`.
    - `notes`: what the bots and programs said on their turns, in the order of the turns.
    """

    __pydantic_config__ = ConfigDict(extra="ignore", allow_inf_nan=False)

    id: str
    map: str
    max_turns: Annotated[int, Field(ge=-(2**31), lt=2**31)]
    training: bool = False
    names: tuple[str, str, str, str]
    player_ids: tuple[str | None, str | None, str | None, str | None] = (None, None, None, None)
    seed: int = 0
    moves: Moves
    ending: Reason
    started: AwareDatetime
    finished: AwareDatetime
    spawns: tuple[Square, Square, Square, Square] | None = None
    extra: dict[str, Any] = field(default_factory=dict)
    position: str | None = None
    notes: tuple[GameNote, ...] = ()
    version: Annotated[int, Field(ge=VERSION, le=VERSION)] = VERSION

    @classmethod
    def of(cls, game_map: Map, *, moves: Sequence[int], **fields: Any) -> GameRecord:
        """Return the record of a game on `game_map`. `fields` are the other fields of a record: `id`, `max_turns`, `names`...

        Raises `GameRecordError` if the map cannot be stored as text. This happens if a hero is missing, or if it starts on
        another hero's square or on a tile that is not air.
        """
        text, spawns = game_map.text(), tuple(game_map.spawns)
        try:
            read = parse_map(text)
        except MapError as problem:
            raise GameRecordError(f"game {fields['id']}: the map cannot be stored: {problem}") from None
        if read.starts != game_map.starts or None in spawns or not np.array_equal(read.tiles, game_map.tiles):
            raise GameRecordError(
                f"game {fields['id']}: the map cannot be stored: a hero starts on another hero, or on a tile that is not air"
            )
        mirrored = spawns == tuple(read.spawns)
        return cls(map=text, moves=tuple(moves), spawns=None if mirrored else spawns, **fields)  # type: ignore[arg-type]

    @classmethod
    def begun_at(cls, first: Games, *, moves: Sequence[int], **fields: Any) -> GameRecord:
        """Return the record of a game that begins with the state `first`, which may be any state of a game.

        `fields` are the other fields of a record, without `max_turns` and `training`. Raises `GameRecordError` as `of` does.
        """
        max_turns, training = int(first["max_turns"].item(0)), bool(first["training"].item(0))
        where = map_before(first)
        at_start = equal(where.new_game(max_turns, training), first)
        position = None if at_start else draw(first)
        return cls.of(where, moves=moves, max_turns=max_turns, training=training, position=position, **fields)

    def game_map(self) -> Map:
        """Return the map of the game. Raises `GameRecordError` for an invalid map."""
        try:
            found = parse_map(self.map)
            return found if self.spawns is None else Map(found.tiles, found.starts, list(self.spawns))
        except (MapError, ValueError) as problem:
            raise GameRecordError(f"game {self.id}: the map: {problem}") from None

    def first(self) -> Games:
        """Return the state before the first ply. Raises `GameRecordError` for an invalid map, position or spawn square."""
        if self.position is not None:
            try:
                return parse(self.position)
            except BoardError as problem:
                raise GameRecordError(f"game {self.id}: the position: {problem}") from None
        game_map = self.game_map()
        inside = range(game_map.size)
        for row, column in self.spawns or ():
            if row not in inside or column not in inside:
                raise GameRecordError(f"game {self.id}: the spawn square {row, column} is not on the board")
        return game_map.new_game(self.max_turns, self.training)


_ADAPTER = TypeAdapter(GameRecord)


def dumps(record: GameRecord) -> bytes:
    """Return the record as one line of JSON, without a line end."""
    return _ADAPTER.dump_json(record, exclude={name for name in ("position", "notes") if not getattr(record, name)})


def loads(line: bytes | str, where: str = "game record") -> GameRecord:
    """Return the record in a line of JSON. Raises `GameRecordError` with a message that begins with `where`."""
    try:
        return _ADAPTER.validate_json(line)
    except ValidationError as problem:
        raise GameRecordError(f"{where}: {fault(problem, VERSION)}") from None


def read_records(path: Path) -> Iterator[GameRecord]:
    """Yield the records in a file. Raises `GameRecordError` with the file, the line and the reason.

    The lines of reviews are left out (`vindibot.games.files.review.read_review`).
    """
    for number, line in read_lines(path, GameRecordError):
        if line.startswith(PREFIX):
            continue
        yield loads(line, f"{path}, line {number}")


def map_before(games: Games) -> Map:
    """Return the map of ``games[0]``, a game before its first ply.

    Unlike the map from `sim.maps.map_of`, this map contains the owners of mines and the squares on which the heroes start.
    """
    game = games[0]
    size = int(game["size"])
    tiles = (game["cell"] & TILE_BITS).reshape(STRIDE, STRIDE)[1 : size + 1, 1 : size + 1]
    starts = [row_column(square) for square in game["hero"]["pos"].tolist()]
    spawns = [row_column(square) for square in game["hero"]["spawn"].tolist()]
    return Map(tiles, list(starts), list(spawns))
