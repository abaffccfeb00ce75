"""The schedule: all games of a tournament, known before the first one is played.

A **block** is one map and seed with all its seatings, so within a block every bot meets the same map from every side. Blocks are
the units of the statistics. Everything follows from the configuration and the tournament's seed, and nothing from the time or the
machine. So the same configuration with the same node budgets gives the same games on one worker or on eight.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

from sim.game import SEATS
from sim.maps import Map, parse_map
from vindibot.arena.entrants import Entrant
from vindibot.arena.mapsets import MapSet
from vindibot.arena.results import Format
from vindibot.arena.seeds import derive_seed
from vindibot.arena.settings import ArenaSettings
from vindibot.base import UsageError
from vindibot.config import Build, build

#: Raise it if equal configurations give other games than before, so that their results do not mix.
RULES_VERSION = 2

#: Indices of the bots in seats 1 to 4, from 0.
Seating = tuple[int, ...]


@dataclass(frozen=True)
class SeatTask:
    """One seat of a game: its bot, and the seed of all randomness in its play."""

    entrant: Entrant
    seed: int


@dataclass(frozen=True)
class GameTask:
    """One game to be played, as plain data for any process.

    `block` and `game` (from 0) name it in the tournament, `games` is the number of games of its block. `rounds` is the number of
    moves per hero. The game ends after `wall_s` seconds in any case. `logs` is a folder for what bots write to standard error,
    empty for none; `all_logs` stores those of games without forfeits too. `build` is that of the process that asks for the game.
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
        """The name of the game, unique in the tournament: ``b00012g003``."""
        return f"b{self.block:05}g{self.game:03}"


def rotations(seats: Sequence[int]) -> list[Seating]:
    """Return the different rotations of a seating: abcd, dabc, cdab, bcda."""
    return list(dict.fromkeys(tuple(seats[-turn:]) + tuple(seats[:-turn]) for turn in range(len(seats))))


def line_ups(count: int, seats: int) -> list[Seating]:
    """Return every choice of `seats` out of `count` bots.

    If there are fewer bots than seats, each sits as often as seats allow, and each choice of bots fills the rest: three bots
    at four seats are 0 0 1 2, 0 1 1 2, 0 1 2 2.
    """
    times, left = divmod(seats, count)
    return [tuple(sorted((*list(range(count)) * times, *more))) for more in combinations(range(count), left)]


def seatings(kind: Format, count: int) -> list[Seating]:
    """Return all seatings of a block with `count` bots. Raises `UsageError` if the format does not allow this number."""
    if kind == "ab" and count != 2:
        raise UsageError(f"an ab match is between two bots, not {count}")
    if count < 2:
        raise UsageError("a tournament needs at least two bots; the same one twice is enough")
    if kind == "gauntlet":
        fields = line_ups(count - 1, SEATS - 1)
        return [seating for field in fields for seating in rotations((0, *(index + 1 for index in field)))]
    if count == 2:
        return [tuple(int(seat not in first) for seat in range(SEATS)) for first in combinations(range(SEATS), 2)]
    return [seating for line_up in line_ups(count, SEATS) for seating in rotations(line_up)]


@dataclass(frozen=True)
class Schedule:
    """All games of a tournament. `seed` is that of all its randomness."""

    settings: ArenaSettings
    entrants: tuple[Entrant, ...]
    maps: MapSet
    seed: int

    def seatings(self) -> list[Seating]:
        """Return the seatings of every block."""
        return seatings(self.settings.format, len(self.entrants))

    def __len__(self) -> int:
        return self.settings.blocks * len(self.seatings())

    def identity(self) -> dict[str, Any]:
        """Return what the games follow from, as JSON. The number of blocks is not in it, so that a tournament can be extended."""
        return {
            "rules": RULES_VERSION,
            "format": self.settings.format,
            "seed": self.seed,
            "rounds": self.settings.rounds,
            "adjudicate": self.settings.adjudicate == "decided",
            "maps": self.maps.identity(),
            "bots": [entrant.identity() for entrant in self.entrants],
        }

    def digest(self) -> str:
        """Return the name of the tournament: 16 hexadecimal digits."""
        text = json.dumps(self.identity(), sort_keys=True, default=str)
        return hashlib.sha256(text.encode()).hexdigest()[:16]

    def tasks(self, *, logs: str = "", all_logs: bool = False) -> Iterator[GameTask]:
        """Yield every game, block after block. `logs` and `all_logs` are those of `GameTask`."""
        settings, digest, seatings = self.settings, self.digest(), self.seatings()
        for block in range(settings.blocks):
            where = self.maps.of_block(block)
            for game, seating in enumerate(seatings):
                seats = tuple(self._seats(block, game, seating))
                yield GameTask(
                    tournament=digest,
                    format=settings.format,
                    block=block,
                    game=game,
                    games=len(seatings),
                    map_text=where.text(),
                    map_name=where.name or where.digest,
                    seed=derive_seed(self.seed, "game", block, game),
                    rounds=settings.rounds,
                    seats=seats,
                    adjudicate=settings.adjudicate == "decided",
                    wall_s=settings.limits.wall_s or wall_seconds(seats, settings.rounds),
                    logs=logs,
                    all_logs=all_logs,
                    build=build(),
                )

    def _seats(self, block: int, game: int, seating: Seating) -> Iterator[SeatTask]:
        """Yield the seats of a game. Each seat of a bot has its own seed, or a bot against itself would repeat one game."""
        for seat, index in enumerate(seating):
            entrant, nth = self.entrants[index], seating[:seat].count(index)
            yield SeatTask(entrant, derive_seed(self.seed, "bot", block, game, entrant.label, nth))


def wall_seconds(seats: Sequence[SeatTask], rounds: int) -> float:
    """Return the number of seconds that a game takes if every bot uses all of its limits, and 30 more."""
    limits = [seat.entrant.limits for seat in seats]
    starts = sum(one.start_s + one.seconds(first=True) for one in limits)
    return 30.0 + starts + (rounds + 1) * sum(one.seconds(first=False) + one.grace_ms / 1000 for one in limits)


def map_of_task(task: GameTask) -> Map:
    """Return the map of a game."""
    return parse_map(task.map_text, task.map_name)
