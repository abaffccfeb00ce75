"""Results of a tournament: a file of JSON lines, one per finished game, appended as games end.

Each line is complete: it names the tournament and the block of the game, its map, and the result of each of the four seats. Lines
may come in any order. docs/arena.md describes every field for other programs. Only whole lines count: a crash may leave an
unfinished last line, which `read_results` leaves out.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Final, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from vindibot.base import VindibotError
from vindibot.config import Build, dotted, explain, short
from vindibot.games import Outcome, Reason, ranks

#: The version of the lines that this program writes and reads.
VERSION: Final = 3
#: The release that reads version 1. Version 2 was never released.
READER_BEFORE: Final = "0.1.0"

#: The formats of a tournament: every four of the bots; one bot against the others; two bots, two seats each.
Format = Literal["all", "gauntlet", "ab"]

_Count = Annotated[int, Field(ge=0)]
_Milliseconds = Annotated[float, Field(ge=0, allow_inf_nan=False)]


class ResultsError(VindibotError):
    """A results file cannot be read. The message names the file, the line and the reason."""


class _Part(BaseModel):
    model_config = ConfigDict(frozen=True, extra="ignore")


class MapLine(_Part):
    """The map of a game: its name, its size (8..28), and a digest (hex) of its tiles and spawns."""

    name: str
    size: int = Field(ge=1, le=28)
    digest: str = ""


class SeatLine(_Part):
    """The result of one seat. The first seat of a game is hero 1.

    `place` is 1..4 by gold at the end; equal seats share the mean of their places (see `places`: two winners have 1.5). `deaths`,
    `kills` and `mines_taken` count over the game, `mines` and `life` are those of the last state. `stalled` is the number of
    rounds in which the hero was stalled (`vindibot.arena.stalls`), None if unknown.
    `outcome` is the end of its part in the game. With any reason but "finished", the bot forfeited, and its hero stayed from then
    on. `crashed` is the hero's mark in the last state. `ms_median`, `ms_p99` and `ms_max` are milliseconds per move of this bot
    (0 if it never moved), `moves` is the number of its own moves. `version` is that of a bot file, `digest` one of the bot's own
    files (empty for built-in bots).
    """

    bot: str = Field(min_length=1)
    version: int | None = None
    digest: str = ""
    place: float = Field(ge=1, le=4, allow_inf_nan=False)
    gold: _Count
    mines: _Count = 0
    deaths: _Count = 0
    kills: _Count = 0
    mines_taken: _Count = 0
    stalled: _Count | None = None
    life: int = Field(100, ge=0, le=100)
    crashed: bool = False
    outcome: Outcome = Outcome()
    moves: _Count = 0
    ms_median: _Milliseconds = 0.0
    ms_p99: _Milliseconds = 0.0
    ms_max: _Milliseconds = 0.0


class GameLine(_Part):
    """One finished game.

    `tournament` is a digest of the configuration (bots, format, maps, seed, limits): all lines of a file have the same. `build`
    is the build that played the game, None if unknown. `block` (from 0) is one map and seed with its set of seatings; `game`
    (from 0) is the number of the game in it, and `games` the number of games of a whole block. `seed` is that of the
    game's randomness. `rounds` is the planned number of moves per hero, `plies` the number of moves by all heroes.
    `ending` is "finished", "all-crashed", "adjudicated" if the game was ended early, "timeout" if it took too long, "aborted"
    if it could not be played.
    `played` is a digest of map and moves: games with the same one are equal, whatever bots sit there. `started` is ISO 8601
    with zone, `seconds` the wall time of the game. `record` is the id of the game record in the file beside the results, empty
    if there is none.
    """

    version: int = Field(VERSION, ge=VERSION, le=VERSION)
    tournament: str
    build: Build | None = None
    format: Format = "all"
    block: _Count
    game: _Count
    games: int = Field(1, ge=1)
    map: MapLine
    seed: int = 0
    rounds: int = Field(ge=1)
    seats: tuple[SeatLine, SeatLine, SeatLine, SeatLine]
    ending: Reason = Reason.FINISHED
    plies: _Count = 0
    played: str = ""
    started: str = ""
    seconds: float = Field(0.0, ge=0, allow_inf_nan=False)
    record: str = ""

    @property
    def bots(self) -> tuple[str, ...]:
        """The labels of the four bots, hero 1 first."""
        return tuple(seat.bot for seat in self.seats)

    @property
    def winner(self) -> str | None:
        """The bot of the only seat with the most gold, None if several seats have it."""
        best = max(self.seats, key=lambda seat: seat.gold)
        return best.bot if sum(seat.gold == best.gold for seat in self.seats) == 1 else None

    def encode(self) -> str:
        """Return the line, without its line break."""
        return self.model_dump_json()


def decode(text: str | bytes) -> GameLine:
    """Return the game of a line. Raises ValueError with the reason, for people."""
    try:
        return GameLine.model_validate_json(text)
    except ValidationError as problem:
        errors = problem.errors()
        first = next((error for error in errors if error["loc"] == ("version",)), errors[0])
        if first["type"] == "json_invalid":
            raise ValueError("this is not JSON") from None
        if first["loc"] == ("version",):
            older = f", vindibot {READER_BEFORE} reads it" if first["input"] == 1 else ""
            raise ValueError(
                f"version {first['input']!r} of the results is not known here; this program knows {VERSION}{older}"
            ) from None
        raise ValueError(f"{dotted(first['loc']) or 'the line'} {explain(first)}".strip()) from None


def read_results(path: Path) -> list[GameLine]:
    """Return the games of a results file, in the order of the file, without an unfinished last line. Raises `ResultsError` for
    any other fault, for a game that occurs twice, and for a second tournament in the same file."""
    try:
        data = path.read_bytes()
    except OSError as problem:
        raise ResultsError(f"{short(path)}: cannot be read: {problem.strerror or problem}") from None
    games: list[GameLine] = []
    seen: dict[tuple[int, int], int] = {}
    for number, line in enumerate(data.split(b"\n")[:-1], start=1):
        if not line.strip():
            continue
        try:
            game = decode(line)
        except ValueError as problem:
            raise ResultsError(f"{short(path)}, line {number}: {problem}") from None
        if games and game.tournament != games[0].tournament:
            raise ResultsError(f"{short(path)}, line {number}: this game is of another tournament than the first")
        if (before := seen.setdefault((game.block, game.game), number)) != number:
            raise ResultsError(f"{short(path)}, line {number}: this game stands in line {before} already")
        games.append(game)
    return games


def places(golds: Sequence[int]) -> list[float]:
    """Return the places by gold; equal seats share the mean of their places: ``[5, 9, 5, 0]`` gives 2.5, 1, 2.5, 4."""
    return [rank + (golds.count(gold) - 1) / 2 for rank, gold in zip(ranks(golds), golds, strict=True)]
