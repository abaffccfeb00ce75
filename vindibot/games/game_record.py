"""Game records: the start, the moves and the players of one game. From these few kilobytes, `sim` can compute every state again.

The server and the arena store games as records. As text, a record is one line of JSON (`dumps`, `loads`). A file of records has
one record per line (`vindibot.games.files.game_files.read_records`). Equal records give equal states on every machine.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Annotated, Any

from pydantic import AwareDatetime, ConfigDict, Field, TypeAdapter, ValidationError

from sim.board import BoardError, draw, parse
from sim.game import STRIDE, TILE_BITS, Games, copy_of, row_column
from sim.maps import Map
from vindibot.base.errors import VindibotError
from vindibot.games.files.lines import fault
from vindibot.games.notes import GameNote
from vindibot.games.outcome import Reason
from vindibot.games.position import Moves

#: Version of the format that this program writes and reads.
VERSION = 3


class GameRecordError(VindibotError):
    """A record cannot be read or replayed. The message names the place and the reason."""


@dataclass(frozen=True, kw_only=True)
class GameRecord:
    """The record of one game. Use `GameRecord.of` to make the record of a game from its first state.

    - `start`: a drawing (`sim.board.draw`) of the state before the first of the moves. It may be any state of a game.
    - `moves`: the moves, one per ply. Each is a direction 0..4 or `sim.game.CRASH`.
    - `names`: the names of heroes 1..4.
    - `player_ids`: the ids of the players (users or bots) of heroes 1..4. The program that stores the record chooses these ids.
      None for a player without an id.
    - `ending`: "finished" or "all-crashed" if the game came to its end, else the reason why the game ended early.
    - `extra`: further data that the program stores with the record, as JSON values.
    - `notes`: what the bots and programs said on their turns, in the order of the turns.
    """

    __pydantic_config__ = ConfigDict(extra="ignore", allow_inf_nan=False)

    id: str
    start: str
    moves: Moves
    names: tuple[str, str, str, str]
    player_ids: tuple[str | None, str | None, str | None, str | None] = (None, None, None, None)
    seed: int = 0
    ending: Reason
    started: AwareDatetime
    finished: AwareDatetime
    extra: dict[str, Any] = field(default_factory=dict)
    notes: tuple[GameNote, ...] = ()
    version: Annotated[int, Field(ge=VERSION, le=VERSION)] = VERSION

    @classmethod
    def of(cls, first: Games, *, moves: Sequence[int], **fields: Any) -> GameRecord:
        """Return the record of a game that begins with the state `first`. `fields` are the other fields of a record."""
        return cls(start=draw(first), moves=tuple(moves), **fields)

    @property
    def ratings(self) -> tuple[int | None, ...]:
        """The ratings of the players of heroes 1..4 in `extra`, None for a player without a rating."""
        ratings = self.extra.get("elo")
        if not isinstance(ratings, list) or len(ratings) != len(self.names):
            return (None,) * len(self.names)
        return tuple(rating if isinstance(rating, int) else None for rating in ratings)

    @property
    def limit_ms(self) -> float | None:
        """The time limit for a move in `extra`, in milliseconds, None if unknown."""
        limit = self.extra.get("time_limit_ms")
        return limit if isinstance(limit, int | float) else None

    @cached_property
    def _first(self) -> Games:
        try:
            return parse(self.start)
        except BoardError as problem:
            raise GameRecordError(f"game {self.id}: the start: {problem}") from None

    def first(self) -> Games:
        """Return the state before the first ply. Raises `GameRecordError` for a faulty drawing."""
        return copy_of(self._first)

    def game_map(self) -> Map:
        """Return the map of the game (see `map_before`). Raises `GameRecordError` for a faulty drawing."""
        return map_before(self._first)

    @property
    def max_turns(self) -> int:
        """The length of the game in plies. Raises `GameRecordError` for a faulty drawing."""
        return int(self._first["max_turns"].item(0))


_ADAPTER = TypeAdapter(GameRecord)


def dumps(record: GameRecord) -> bytes:
    """Return the record as one line of JSON, without a line end."""
    return _ADAPTER.dump_json(record, exclude=None if record.notes else {"notes"})


def loads(line: bytes | str, where: str = "game record") -> GameRecord:
    """Return the record in a line of JSON. Raises `GameRecordError` with a message that begins with `where`."""
    try:
        return _ADAPTER.validate_json(line)
    except ValidationError as problem:
        raise GameRecordError(f"{where}: {fault(problem, VERSION)}") from None


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
