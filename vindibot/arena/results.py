"""Results of a tournament: a file of JSON lines, one per finished game, appended as games end.

Every line stands for itself: it says which tournament and block the game belongs to, on which map it was played, and how
each of the four seats fared. Lines may come in any order. docs/arena.md describes every field for other programs that
read them. A line counts once it is whole: what a crash cut off at the end of the file is left out by `read`, which says
how many bytes stand for whole lines, so that a restart can cut the rest away and go on.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Final, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from vindibot.base import VindibotError
from vindibot.config import Build, dotted, explain, short
from vindibot.games import Outcome, Reason

#: The newest version of the lines that this program writes and reads.
VERSION: Final = 3
#: The release that reads version 1. Version 2 was never released.
READER_BEFORE: Final = "0.1.0"

#: The formats of a tournament: every four of the bots; one bot against a field; two bots, two seats each.
Format = Literal["all", "gauntlet", "ab"]

_Count = Annotated[int, Field(ge=0)]
_Milliseconds = Annotated[float, Field(ge=0, allow_inf_nan=False)]


class ResultsError(VindibotError):
    """A results file that cannot be read; the message names file, line and reason."""


class _Part(BaseModel):
    model_config = ConfigDict(frozen=True, extra="ignore")


class MapLine(_Part):
    """The map of a game: what to call it, its size (8..28), and a digest (hex) of its tiles and spawns."""

    name: str
    size: int = Field(ge=1, le=28)
    digest: str = ""


class SeatLine(_Part):
    """How one seat fared: hero 1 is the first of a game's four.

    `place` is 1..4 by gold at the end, where equals share the mean of their places (two winners are both at 1.5), as
    `places` computes it. `deaths`, `kills` and `mines_taken` count over the game, `mines` and `life` are those of the last
    state. `stalled` is the number of rounds in which the hero was stalled (`vindibot.arena.stalls`), None if it is not known.
    `outcome` says how its part in the game ended: for any reason but "finished" the bot forfeited, and from there on its
    hero stood still, as a hero whose answers do not come. `crashed` says that the world marked the hero so. `ms_median`,
    `ms_p99` and `ms_max` are milliseconds per move of this bot (0 if it never moved), `moves` how many it made itself.
    `version` is that of a bot file, `digest` names the bot's own files (empty for what is built in).
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

    `tournament` is a digest of the configuration (bots, format, maps, seed, budgets): lines of different tournaments never
    belong in one table. `build` says what played the game, None if it is not known. `block` (from 0) is the unit of evidence: one
    map and seed with its set of seatings; `game` (from 0) numbers the games of the block and `games` is how many it has when
    whole. `seed` is what the game's randomness came from, `rounds` the moves each hero was to have, `plies` how many moves
    were played by all.
    `ending` is "finished", "all-crashed", "adjudicated" if the game was ended early, "timeout" if it took too long, "aborted"
    if it could not be played anywhere.
    `played` is a digest of map and orders: two games with the same one are the same game, whoever sat where. `started`
    is ISO 8601 with zone, `seconds` how long the game took. `record` names the game record in the file beside the
    results; empty if there is none.
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
        """The bot that is alone on most gold; None if there is no winner."""
        best = max(self.seats, key=lambda seat: seat.gold)
        return best.bot if sum(seat.gold == best.gold for seat in self.seats) == 1 else None

    def encode(self) -> str:
        """The line, without its line break."""
        return self.model_dump_json(exclude_defaults=False)


def decode(text: str | bytes) -> GameLine:
    """The game of a line; raises ValueError with the reason in plain words."""
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


@dataclass(frozen=True)
class Results:
    """What a results file holds: the games in the order of the file; `whole` is the number of bytes up to the end of the
    last whole line, `cut` whether something follows it that a crash left unfinished."""

    games: list[GameLine]
    whole: int = 0
    cut: bool = False


def read(path: Path) -> Results:
    """Read a results file. An unfinished last line is left out; any other slip raises `ResultsError`, and so does a game
    that is there twice, or a second tournament in the same file."""
    try:
        data = path.read_bytes()
    except OSError as problem:
        raise ResultsError(f"{short(path)}: cannot be read: {problem.strerror or problem}") from None
    whole = data.rfind(b"\n") + 1
    games: list[GameLine] = []
    seen: dict[tuple[int, int], int] = {}
    for number, line in enumerate(data[:whole].split(b"\n")[:-1], start=1):
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
    return Results(games, whole, cut=whole < len(data))


def places(golds: Sequence[int]) -> list[float]:
    """The places by gold, best first; equals share the mean of their places: ``[5, 9, 5, 0]`` gives 2.5, 1, 2.5, 4."""
    return [1 + sum(other > gold for other in golds) + (sum(other == gold for other in golds) - 1) / 2 for gold in golds]


def schema() -> str:
    """The JSON schema of a line, for other programs."""
    return json.dumps(GameLine.model_json_schema(), indent=2)
