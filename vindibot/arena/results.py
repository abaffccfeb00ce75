"""Results of a tournament: a file with a line of JSON per game. When a game ends, its line is appended.

Each line can be read alone: it has the tournament, the block, the map, and the results of the four seats. Lines may be in any
order. docs/arena.md describes every field for other programs. A crash may leave an unfinished last line, which `read_results`
ignores.
"""

from __future__ import annotations

import dataclasses
import os
import platform
from codecs import BOM_UTF8
from collections.abc import Iterable, Sequence
from functools import cache, lru_cache
from pathlib import Path
from typing import Annotated, Final, Literal, TypeVar

from pydantic import AfterValidator, ConfigDict, Field, TypeAdapter, ValidationError
from pydantic.dataclasses import dataclass

from vindibot.base.errors import VindibotError
from vindibot.base.text import counted
from vindibot.config.files import short
from vindibot.config.signature import Build
from vindibot.games.files.lines import fault
from vindibot.games.outcome import Outcome, Reason, ranks

#: The version of the format of lines. This program reads and writes only this version.
VERSION: Final = 3

#: The formats of a tournament. all: every group of four bots; gauntlet: the first bot against all groups of three others;
#: rotation: the first bot against one of these groups per block; ab: two bots with two seats each.
Format = Literal["all", "gauntlet", "rotation", "ab"]

_Value = TypeVar("_Value")
_Count = Annotated[int, Field(ge=0)]
_Milliseconds = Annotated[float, Field(ge=0, allow_inf_nan=False)]


class ResultsError(VindibotError):
    """A results file cannot be read. The message names the file, the line and the reason."""


@lru_cache(maxsize=10_000)
def _shared(value: _Value) -> _Value:
    """Return an equal value that other lines have too. So thousands of lines take little memory."""
    return value


_Text = Annotated[str, AfterValidator(_shared)]
_CONFIG = ConfigDict(extra="ignore", allow_inf_nan=False)


@dataclass(config=_CONFIG, frozen=True, slots=True, kw_only=True)
class MapLine:
    """The map of a game: its name, its size (1..28), and a digest (hex) of its tiles and spawns."""

    name: _Text
    size: int = Field(ge=1, le=28)
    digest: _Text = ""


@dataclass(config=_CONFIG, frozen=True, slots=True, kw_only=True)
class MachineLine:
    """The machine that played a game: its name, the model of its processor, and the signature of its build (see
    `vindibot.arena.dask.versions`). The signature is empty for games that the arena's own machine played."""

    name: _Text = ""
    cpu: _Text = ""
    signature: _Text = ""


@dataclass(config=_CONFIG, frozen=True, slots=True, kw_only=True)
class SeatLine:
    """The result of one seat. The first seat of a game is hero 1.

    - `bot`, `version`, `digest`: the bot's label, the version in its bot file (None if it has none), and a digest of the bot's
      files (empty for built-in bots).
    - `place`: 1..4 by gold at the end. Seats with equal gold share the mean of their places (see `places`).
    - `gold`, `mines`, `life`: gold, number of mines and life of the hero in the last state.
    - `deaths`, `kills`, `mines_taken`: counts over the whole game.
    - `stalled`: number of rounds in which the hero was stalled (`vindibot.arena.referee`), None if unknown.
    - `crashed`: whether the last state marks the hero as crashed.
    - `outcome`: how the seat's part in the game ended. If the reason is not "finished", the bot forfeited, and its hero did not
      move any more.
    - `moves`: number of moves that the bot itself made.
    - `ms_median`, `ms_p99`, `ms_max`: milliseconds per move of the bot: median, 99th percentile, maximum. 0 if it never moved.
    """

    bot: _Text = Field(min_length=1)
    version: int | None = None
    digest: _Text = ""
    place: float = Field(ge=1, le=4, allow_inf_nan=False)
    gold: _Count
    mines: _Count = 0
    deaths: _Count = 0
    kills: _Count = 0
    mines_taken: _Count = 0
    stalled: _Count | None = None
    life: int = Field(100, ge=0, le=100)
    crashed: bool = False
    outcome: Annotated[Outcome, AfterValidator(_shared)] = Outcome()
    moves: _Count = 0
    ms_median: _Milliseconds = 0.0
    ms_p99: _Milliseconds = 0.0
    ms_max: _Milliseconds = 0.0


@dataclass(config=_CONFIG, frozen=True, slots=True, kw_only=True)
class GameLine:
    """One finished game.

    - `tournament`: a digest of the configuration (bots, format, maps, seed, limits). It is the same in all lines of a file.
    - `build`: the build of vindibot that played the game, None if unknown.
    - `machine`: the machine that played the game, None if unknown.
    - `block`: number of the block, from 0. A block is one map and seed with all its seatings.
    - `game`, `games`: number of the game in its block, from 0, and the number of games in a whole block.
    - `seed`: the seed of the game's randomness.
    - `rounds`, `plies`: the planned number of moves per hero, and the number of plies played by all heroes.
    - `ending`: "finished", "all-crashed", "adjudicated" (ended early, since no place could change), "timeout" (it took too long)
      or "aborted" (it could not be played).
    - `played`: a digest of the map and the moves. Two games with the same digest are equal, even if other bots played them.
    - `started`, `seconds`: the start in ISO 8601 with time zone, and the wall time of the game.
    - `record`: the id of the game record in the file beside the results, empty if there is none.
    """

    version: int = Field(default=VERSION, ge=VERSION, le=VERSION)
    tournament: _Text
    build: Annotated[Build | None, AfterValidator(_shared)] = None
    machine: Annotated[MachineLine | None, AfterValidator(_shared)] = None
    format: Format = "all"
    block: _Count
    game: _Count
    games: int = Field(1, ge=1)
    map: Annotated[MapLine, AfterValidator(_shared)]
    seed: int = 0
    rounds: int = Field(ge=1)
    seats: tuple[SeatLine, ...] = Field(min_length=4, max_length=4)
    ending: Reason = Reason.FINISHED
    plies: _Count = 0
    played: str = ""
    started: str = ""
    seconds: float = Field(0.0, ge=0, allow_inf_nan=False)
    record: str = ""

    @property
    def key(self) -> tuple[int, int]:
        """The block and the number of the game in the block. They identify the game in the tournament."""
        return self.block, self.game

    @property
    def given_up(self) -> bool:
        """Whether the game could not be played. Such a game counts for no bot."""
        return self.ending is Reason.ABORTED

    @property
    def has_forfeits(self) -> bool:
        """Whether any bot forfeited."""
        return not all(seat.outcome.finished for seat in self.seats)

    @property
    def bots(self) -> tuple[str, ...]:
        """The labels of the four bots, hero 1 first."""
        return tuple(seat.bot for seat in self.seats)

    @property
    def winner(self) -> str | None:
        """The label of the bot whose seat has the most gold, None if several seats have the most gold."""
        best = max(self.seats, key=lambda seat: seat.gold)
        return best.bot if sum(seat.gold == best.gold for seat in self.seats) == 1 else None

    def encode(self) -> str:
        """Return the game as a line of JSON, without a line break."""
        return _LINE.dump_json(self).decode()

    def __reduce__(self) -> tuple[object, ...]:
        return decode, (self.encode(),)


_LINE: TypeAdapter[GameLine] = TypeAdapter(GameLine)


def decode(text: str | bytes) -> GameLine:
    """Return the game in a line of a results file. Raises ValueError with a reason that people can read."""
    try:
        return _LINE.validate_json(text)
    except ValidationError as problem:
        raise ValueError(fault(problem, VERSION)) from None


@dataclasses.dataclass(frozen=True)
class PlayedGame:
    """A game that was played: its line of results, and its record as a line of JSON."""

    line: GameLine
    record: bytes


def read_results(path: Path) -> list[GameLine]:
    """Return the games in a results file, in the order of the file. An unfinished last line is ignored.

    Raises `ResultsError` for any other fault, for a game that occurs twice, and for games of different tournaments.
    """
    try:
        data = path.read_bytes().removeprefix(BOM_UTF8)
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
            raise ResultsError(f"{short(path)}, line {number}: this game belongs to another tournament than the first one")
        if (before := seen.setdefault(game.key, number)) != number:
            raise ResultsError(f"{short(path)}, line {number}: this game is already in line {before}")
        games.append(game)
    return games


def that_count(games: Iterable[GameLine]) -> list[GameLine]:
    """Return the games that count: all games except those that could not be played."""
    return [game for game in games if not game.given_up]


def places(golds: Sequence[int]) -> list[float]:
    """Return the place of each seat by gold. Seats with equal gold share the mean of their places.

    For example, ``[5, 9, 5, 0]`` gives 2.5, 1, 2.5, 4.
    """
    return [rank + (golds.count(gold) - 1) / 2 for rank, gold in zip(ranks(golds), golds, strict=True)]


#: The environment variable of numba that names the processor to compile for, and its value for code that runs on any processor.
CPU_VARIABLE, GENERIC = "NUMBA_CPU_NAME", "generic"


@dataclasses.dataclass(frozen=True)
class MachineStatus:
    """The state of a machine that plays games of a tournament, as the terminal shows it.

    `workers` is the number of games that it plays at once. `games` is the number of games that it has played, `per_minute` the
    number of games that it plays per minute. `missing` is the reason why the machine does not play, and is empty if it plays.
    """

    name: str
    workers: int
    games: int
    per_minute: float
    missing: str = ""

    def __str__(self) -> str:
        """Return the name, and the rate or why the machine does not play."""
        rate = f"{self.per_minute:.0f} games/min, {self.workers} at once, {counted(self.games, 'game')}"
        return f"{self.name}: {self.missing or rate}"


@cache
def processor() -> str:
    """Return the model of this machine's processor.

    If kernels are compiled for any processor, return "generic" and the architecture instead, for example "generic x86_64".
    """
    if os.environ.get(CPU_VARIABLE) == GENERIC:
        return f"{GENERIC} {platform.machine()}"
    try:
        lines = Path("/proc/cpuinfo").read_text("utf-8", "replace").splitlines()
    except OSError:
        lines = []
    models = (line.partition(":")[2].strip() for line in lines if line.startswith(("model name", "Model")))
    return next(models, "") or platform.processor() or platform.machine()


def this_machine() -> MachineLine:
    """Return the name and the processor of this machine. The signature of its build is empty."""
    return MachineLine(name=platform.node(), cpu=processor())
