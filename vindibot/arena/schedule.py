"""The schedule: which games a tournament consists of, all of them known before the first is played.

A **block** is one map and seed with all its seatings. It is the unit of evidence: within a block every bot has met the same
map from all sides. Everything follows from the configuration and the tournament's seed, nothing from when or where a game
is played, so the same configuration with the same node budgets gives the same games on one worker or on eight.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

from sim.maps import Map, parse_map
from vindibot.arena.entrants import Entrant
from vindibot.arena.mapsets import MapSet
from vindibot.arena.results import Format
from vindibot.arena.seeds import derive_seed
from vindibot.base import UsageError
from vindibot.config import Build, build

SEATS = 4
#: Counts up when equal configurations begin to give other games: results of before do not belong to those of after.
RULES_VERSION = 2

#: Indices of the bots in seats 1 to 4.
Seating = tuple[int, ...]


@dataclass(frozen=True)
class SeatTask:
    """One seat of a game: who sits there, and the source of all that is random in his play."""

    entrant: Entrant
    seed: int


@dataclass(frozen=True)
class GameTask:
    """One game to be played, as plain data for whichever process does it.

    `block` and `game` name it within the tournament, `games` is the number of games in its block. `rounds` are moves of
    each hero. `wall_s` is when it is ended in any case. `logs` is a folder for what bots write to standard error, empty
    for none, and `all_logs` whether those of games without trouble are kept too. `build` is that of the process that asks for the
    game.
    """

    tournament: str
    format: Format
    block: int
    game: int
    games: int
    map_text: str
    map_name: str
    seed: int
    rounds: int
    seats: tuple[SeatTask, ...]
    adjudicate: bool = False
    wall_s: float = 600.0
    logs: str = ""
    all_logs: bool = False
    build: Build | None = None

    @property
    def name(self) -> str:
        """A word that is unique in the tournament."""
        return f"b{self.block:05}g{self.game:03}"


def rotations(seats: Sequence[int]) -> list[Seating]:
    """The different seatings that turning four round gives: abcd, dabc, cdab, bcda."""
    turned = [tuple(seats[-turn:]) + tuple(seats[:-turn]) for turn in range(len(seats))]
    return list(dict.fromkeys(turned))


def tables(count: int, seats: int) -> list[Seating]:
    """Every choice of so many of `count` bots. Of fewer bots than seats all sit down as often as they can, and the seats
    that are left go to every choice of them: three bots at four seats are 0 0 1 2, 0 1 1 2, 0 1 2 2."""
    times, left = divmod(seats, count)
    return [tuple(sorted((*list(range(count)) * times, *more))) for more in combinations(range(count), left)]


def seatings(kind: Format, count: int) -> list[Seating]:
    """All seatings of a block of a tournament with `count` bots. Raises `UsageError` for a number that does not fit."""
    if kind == "ab":
        if count != 2:
            raise UsageError(f"an ab match is between two bots, not {count}")
        return [tuple(int(seat not in first) for seat in range(SEATS)) for first in combinations(range(SEATS), 2)]
    if kind == "gauntlet":
        if count < 2:
            raise UsageError("a gauntlet needs a bot and others to run against")
        fields = tables(count - 1, SEATS - 1)
        return [seating for field in fields for seating in rotations((0, *(index + 1 for index in field)))]
    if count < 2:
        raise UsageError("a tournament needs two bots at least; the same one twice will do")
    if count == 2:
        return seatings("ab", 2)
    return [seating for table in tables(count, SEATS) for seating in rotations(table)]


@dataclass(frozen=True)
class Schedule:
    """All games of a tournament; see the module."""

    format: Format
    entrants: tuple[Entrant, ...]
    maps: MapSet
    blocks: int
    rounds: int
    seed: int
    adjudicate: bool = False
    wall_s: float | None = None

    def seatings(self) -> list[Seating]:
        """The seatings of every block."""
        return seatings(self.format, len(self.entrants))

    def __len__(self) -> int:
        return self.blocks * len(self.seatings())

    def identity(self) -> dict[str, Any]:
        """All that the games follow from, as JSON; not how many blocks there are, so that a tournament can be prolonged."""
        return {
            "rules": RULES_VERSION,
            "format": self.format,
            "seed": self.seed,
            "rounds": self.rounds,
            "adjudicate": self.adjudicate,
            "maps": self.maps.identity(),
            "bots": [entrant.identity() for entrant in self.entrants],
        }

    def digest(self) -> str:
        """16 hexadecimal digits that name the tournament."""
        text = json.dumps(self.identity(), sort_keys=True, default=str)
        return hashlib.sha256(text.encode()).hexdigest()[:16]

    def tasks(self, *, logs: str = "", all_logs: bool = False) -> Iterator[GameTask]:
        """Every game, block after block."""
        digest, seatings = self.digest(), self.seatings()
        for block in range(self.blocks):
            where = self.maps.of_block(block)
            for game, seating in enumerate(seatings):
                seats = tuple(self._seats(block, game, seating))
                yield GameTask(
                    tournament=digest,
                    format=self.format,
                    block=block,
                    game=game,
                    games=len(seatings),
                    map_text=where.text(),
                    map_name=where.name or where.digest,
                    seed=derive_seed(self.seed, "game", block, game),
                    rounds=self.rounds,
                    seats=seats,
                    adjudicate=self.adjudicate,
                    wall_s=self.wall_s or wall_seconds(seats, self.rounds),
                    logs=logs,
                    all_logs=all_logs,
                    build=build(),
                )

    def _seats(self, block: int, game: int, seating: Seating) -> Iterator[SeatTask]:
        """A stream of random numbers for every bot, and another one for each of its seats: else a bot against itself would
        play one game over and over."""
        for seat, index in enumerate(seating):
            entrant, nth = self.entrants[index], seating[:seat].count(index)
            yield SeatTask(entrant, derive_seed(self.seed, "bot", block, game, entrant.label, nth))


def wall_seconds(seats: Sequence[SeatTask], rounds: int) -> float:
    """What a game may take if everybody uses all that he may: beyond it something is wrong."""
    total = 30.0
    for seat in seats:
        limits = seat.entrant.limits
        total += limits.start_s + (rounds + 1) * (limits.seconds(first=False) + limits.grace_ms / 1000)
        total += limits.seconds(first=True)
    return total


def map_of_task(task: GameTask) -> Map:
    """The map of a game."""
    return parse_map(task.map_text, task.map_name)
