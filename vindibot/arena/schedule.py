"""The schedule: all games of a tournament. It is complete before the first game is played.

A **seating** puts a bot on each of the four seats. A **block** is one map (or one position) and seed, played in all seatings. So
within a block every bot plays the same map from every side. Statistics treat each block as one sample. The schedule depends only
on the configuration and the tournament's seed. So the same configuration with the same node budgets gives the same games on any
machine, with any number of workers.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import combinations, permutations
from pathlib import Path
from typing import Any

from sim.game import SEATS, Games
from sim.generator import GeneratorError, derive_seed, generate
from sim.maps import Map, parse_map
from vindibot.arena.results import Format
from vindibot.arena.seats.entrants import Entrant
from vindibot.arena.settings import ArenaSettings, MapSettings
from vindibot.arena.suites import Suite
from vindibot.base.errors import UsageError, VindibotError
from vindibot.config.maps import RANDOM, load_map, standard_maps
from vindibot.config.signature import Build, build, digest_of
from vindibot.games.game_record import map_before
from vindibot.games.position import Position

#: Version of the schedule, a part of a tournament's identity. Raise it if the same configuration gives other games than before.
#: Otherwise a resumed file would mix both kinds of games.
RULES_VERSION = 3

#: The bots on the four seats, hero 1 first, as indices into the list of bots.
Seating = tuple[int, ...]


@dataclass(frozen=True)
class SeatTask:
    """One seat of a game: its bot, the seed for all random choices of this bot, and the part of the game before it."""

    entrant: Entrant
    seed: int
    opening: Position | None = None


@dataclass(frozen=True)
class GameTask:
    """One game to be played, as plain data for any process.

    `tournament` is the digest of the schedule. `block` and `game` (both from 0) identify the game in the tournament. `games` is
    the number of games in its block. `rounds` is the number of moves per hero. With `adjudicate`, the game ends when no place can
    change any more. `wall_s` is the largest wall time in seconds. `build` is the build of the process that makes the task.

    `logs` is the folder for the bots' standard error, empty for no logs. With `all_logs`, the logs of games without forfeits are
    kept too. With an `opening`, the game goes on after it: the opening has the map, the length and the first moves of the game.
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
    opening: Position | None = None

    def first(self) -> Games:
        """Return the state before the first ply of the game, in a new array."""
        if self.opening is not None:
            return self.opening.first()
        return map_of_task(self).new_game(SEATS * self.rounds)

    @property
    def opening_moves(self) -> tuple[int, ...]:
        """The moves that were played before the bots take their seats."""
        return () if self.opening is None else self.opening.moves

    @property
    def name(self) -> str:
        """The name of the game, unique in the tournament: ``b00012g003``."""
        return f"b{self.block:05}g{self.game:03}"


def rotations(seats: Sequence[int]) -> list[Seating]:
    """Return the rotations of a seating without duplicates: abcd gives abcd, dabc, cdab, bcda."""
    return list(dict.fromkeys(tuple(seats[-turn:]) + tuple(seats[:-turn]) for turn in range(len(seats))))


def ordered(line_up: Seating, number: int) -> Seating:
    """Return the bots of a line-up in order number `number` (from 0). The first bot stays the first.

    In all rotations of a seating, each bot has the same neighbours. A weak neighbour is an advantage. So the order changes from
    block to block. Successive numbers give all orders in turn. Each pass begins with another order than the pass before, so that
    an order meets all map sizes.
    """
    arrangements = list(dict.fromkeys(permutations(line_up[1:])))
    return (line_up[0], *arrangements[(number + number // len(arrangements)) % len(arrangements)])


def line_ups(count: int, seats: int) -> list[Seating]:
    """Return all ways to choose bots for `seats` seats. Each way has sorted indices of bots. There are `count` bots.

    If there are fewer bots than seats, each bot first gets the same number of seats. The remaining seats get every choice of
    different bots. For example, three bots on four seats give 0 0 1 2, 0 1 1 2, 0 1 2 2.
    """
    times, left = divmod(seats, count)
    return [tuple(sorted((*list(range(count)) * times, *more))) for more in combinations(range(count), left)]


def seatings(kind: Format, count: int, block: int = 0) -> list[Seating]:
    """Return all seatings of block number `block` in this format with `count` bots.

    The order of the bots changes from block to block (see `ordered`). In the format rotation the bots differ too: each block has
    the next group of three opponents. After the last group the next pass begins with the second group, the pass after it with
    the third, and so on. So a group usually meets other map sizes in the next pass. In each pass a group has another order.

    Raises `UsageError` if the format is not possible with this number of bots.
    """
    if kind == "ab" and count != 2:
        raise UsageError(f"an ab match is between two bots, not {count}")
    if count < 2:
        raise UsageError("a tournament needs at least two bots; the same one twice is enough")
    if kind in ("gauntlet", "rotation"):
        fields = line_ups(count - 1, SEATS - 1)
        order = block
        if kind == "rotation":
            turn, place = divmod(block, len(fields))
            fields, order = [fields[(place + turn) % len(fields)]], place + 2 * turn
        groups = [(0, *(index + 1 for index in field)) for field in fields]
        return [seating for line_up in groups for seating in rotations(ordered(line_up, order))]
    if count == 2:
        return [tuple(int(seat not in first) for seat in range(SEATS)) for first in combinations(range(SEATS), 2)]
    return [seating for line_up in line_ups(count, SEATS) for seating in rotations(ordered(line_up, block))]


@dataclass(frozen=True)
class Schedule:
    """All games of a tournament. All random choices of the tournament depend on `seed`.

    With a `suite`, each block begins in one of its positions. Otherwise, it begins at the start of one of the `maps`.
    """

    settings: ArenaSettings
    entrants: tuple[Entrant, ...]
    maps: MapSet
    seed: int
    suite: Suite | None = None

    def seatings(self, block: int = 0) -> list[Seating]:
        """Return the seatings of a block. All blocks have the same number of seatings."""
        return seatings(self.settings.format, len(self.entrants), block)

    def __len__(self) -> int:
        return self.settings.blocks * len(self.seatings())

    def identity(self) -> dict[str, Any]:
        """Return all settings that determine the games, as JSON values.

        The number of blocks is left out, so that a tournament can be extended.
        """
        positions = {} if self.suite is None else {"positions": self.suite.digest}
        return positions | {
            "rules": RULES_VERSION,
            "format": self.settings.format,
            "seed": self.seed,
            "rounds": self.settings.rounds,
            "adjudicate": self.settings.adjudicate == "decided",
            "maps": self.maps.identity(),
            "bots": [entrant.identity() for entrant in self.entrants],
        }

    def digest(self) -> str:
        """Return the digest of `identity`: 16 hexadecimal digits that name the tournament."""
        return digest_of(self.identity())

    def tasks(self, logs: Path | None = None) -> Iterator[GameTask]:
        """Yield every game, block by block. `logs` is the folder for logs, if the settings want any."""
        for block in range(self.settings.blocks):
            yield from self.block_tasks(block, logs)

    def block_tasks(self, block: int, logs: Path | None = None) -> Iterator[GameTask]:
        """Yield the games of one block, which may have any number. For `logs` see `tasks`."""
        settings, digest = self.settings, self.digest()
        where, name, opening = self._start(block)
        seatings = self.seatings(block)
        for game, seating in enumerate(seatings):
            seats = tuple(self._seats(block, game, seating))
            yield GameTask(
                tournament=digest,
                format=settings.format,
                block=block,
                game=game,
                games=len(seatings),
                map_text=where.text(),
                map_name=name,
                seed=derive_seed(self.seed, "game", block, game),
                rounds=settings.rounds,
                seats=seats,
                adjudicate=settings.adjudicate == "decided",
                wall_s=settings.limits.wall_s or wall_seconds(seats, settings.rounds),
                logs=str(logs.resolve()) if logs is not None and settings.logs != "none" else "",
                all_logs=settings.logs == "all",
                build=build(),
                opening=opening,
            )

    def _start(self, block: int) -> tuple[Map, str, Position | None]:
        """Return the map of a block, the name of its map or position, and the opening of its games."""
        if self.suite is None:
            where = self.maps.of_block(block)
            return where, where.name or where.digest, None
        position = self.suite.of_block(block)
        opening = position.opening(self.settings.rounds)
        return map_before(opening.first()), position.id, opening

    def _seats(self, block: int, game: int, seating: Seating) -> Iterator[SeatTask]:
        """Yield the seats of a game. If a bot has several seats, each one has its own seed.

        If the seeds were equal, all games of a bot against itself on one map would be the same.
        """
        for seat, index in enumerate(seating):
            entrant, nth = self.entrants[index], seating[:seat].count(index)
            yield SeatTask(entrant, derive_seed(self.seed, "bot", block, game, entrant.label, nth))


def wall_seconds(seats: Sequence[SeatTask], rounds: int) -> float:
    """Return the number of seconds that a game takes if every bot uses its full time limits, plus 30."""
    limits = [seat.entrant.limits for seat in seats]
    starts = sum(limit.start_s + limit.seconds(first=True) for limit in limits)
    return 30.0 + starts + (rounds + 1) * sum(limit.seconds(first=False) + limit.grace_ms / 1000 for limit in limits)


def map_of_task(task: GameTask) -> Map:
    """Return the map on which the game of a task is played. Do not change it: games of the same block share it."""
    return _read_map(task.map_text, task.map_name)


@lru_cache(maxsize=4)
def _read_map(text: str, name: str) -> Map:
    return parse_map(text, name)


#: Number of seeds to try for a random map. The generator finds no map for a few seeds.
ATTEMPTS = 20


@dataclass(frozen=True)
class MapSet:
    """The maps of a tournament. If the list `maps` is empty, the maps are random.

    Random maps take the `sizes` in turn. If `sizes` is empty, they may have any size.
    """

    maps: tuple[Map, ...] = ()
    sizes: tuple[int, ...] = ()
    seed: int = 0

    def of_block(self, block: int) -> Map:
        """Return the map for a block. Blocks are numbered from 0."""
        if self.maps:
            return self.maps[block % len(self.maps)]
        size = self.sizes[block % len(self.sizes)] if self.sizes else None
        return _random_map(self.seed, block, size)

    def identity(self) -> list[str] | list[int]:
        """Return the digests of the fixed maps, or the sizes of the random maps, as JSON values."""
        return [board.digest for board in self.maps] if self.maps else list(self.sizes)


@lru_cache(maxsize=64)
def _random_map(seed: int, block: int, size: int | None) -> Map:
    for attempt in range(ATTEMPTS):
        number = derive_seed(seed, "map", block, attempt) >> 31
        try:
            board = generate(number, size)
        except GeneratorError:
            continue
        return Map(board.tiles, board.starts, board.spawns, f"{board.size}-{number}")
    raise VindibotError(f"no map of size {size} could be generated for block {block}")


def read_map_set(settings: MapSettings, seed: int) -> MapSet:
    """Return the maps that the settings ask for. `seed` determines random maps.

    Raises `UsageError` for an unknown map, or if no map has one of the sizes.
    """
    if settings.set == "random" and not settings.names:
        return MapSet(sizes=tuple(settings.sizes), seed=seed)
    maps = [_load(name) for name in settings.names] or standard_maps()
    maps = [board for board in maps if not settings.sizes or board.size in settings.sizes]
    if not maps:
        raise UsageError(f"maps.sizes: no map of the set has one of the sizes {list(settings.sizes)}")
    return MapSet(tuple(maps))


def _load(name: str) -> Map:
    try:
        board = load_map(name)
    except UsageError as problem:
        raise UsageError(f"maps.names: {problem.message}") from None
    if board is None:
        raise UsageError(f"maps.names: {name!r} is not a map: maps.set = {RANDOM!r} gives random maps")
    return board
