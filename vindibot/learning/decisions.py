"""Decisions of bots in recorded games: the features of a turn, and the move that the bot made.

A move without an effect counts as a stay, and any drink as the first drink. All games on a map are either for fitting or for
validation. A digest of the map decides which. So validation uses only games and maps that the fit has not seen.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple, Self

import numpy as np
from numba import types
from numpy.typing import NDArray

from behaviours.common.evaluation import WEIGHT_ARRAY, Weights, compiled_weights
from behaviours.common.kernel_types import GameRecord, MapRecord, int64, uintp
from behaviours.common.map_tables import MAP_TABLES_ARRAY, map_tables_of
from behaviours.net.features import FOUND, FOUND_ARRAY, MOVE_SLOTS, STATE_SLOTS, FoundRecord, find_features
from behaviours.net.move_features import DRINKS, kind_of
from behaviours.rollout.policy import NO_GOAL, policy_move
from behaviours.rollout.policy_params import LIBRARY, POLICY_ARRAY, compiled_policies
from sim.game import CELLS, CRASH, GAMES, SEATS, STAY, Games
from sim.kernel_types import INT8S, tuple_of
from sim.kernels import entry, kernel
from sim.rules import play
from vindibot.base.errors import UsageError
from vindibot.base.writing import short
from vindibot.games.game_record import GameRecord as RecordedGame, GameRecordError, read_records
from vindibot.games.history import GameHistory
from vindibot.games.outcome import Reason
from vindibot.learning.network import FLOAT32_ROWS, INT16_ROWS

#: Largest number of decisions of a bot. If there are more, every second, third ... decision is used.
MOST = 100_000
#: Smallest number of items of a sample for fitting, and for validation.
FEWEST, FEWEST_HELD = 1000, 300
#: Largest distance of an enemy in a decision that is near an enemy, in moves.
NEAR = 3


class Columns(NamedTuple):
    """The columns of n decisions.

    - `state` (n x `STATE_SLOTS`) and `moves` (n x 5 `MOVE_SLOTS`): the features (`behaviours.net.features`).
    - `wanted` (n x 5): the probability that a fit gives each move: 1 for the move that the hero made, else 0.
    - `library` (n x policies): the moves (0..4) that the policies of `LIBRARY` make.
    - `near`: 1 if an enemy is within `NEAR` moves.
    """

    state: NDArray[np.int16]
    moves: NDArray[np.int16]
    wanted: NDArray[np.float32]
    library: NDArray[np.int8]
    near: NDArray[np.int8]


_COLUMNS = tuple_of([INT16_ROWS, INT16_ROWS, FLOAT32_ROWS, types.Array(types.int8, 2, "C"), INT8S], Columns)


def new_columns(room: int) -> Columns:
    """Return columns of zeros for `room` decisions."""
    state, moves = np.zeros((room, STATE_SLOTS), np.int16), np.zeros((room, 5 * MOVE_SLOTS), np.int16)
    wanted, library = np.zeros((room, 5), np.float32), np.zeros((room, len(LIBRARY)), np.int8)
    return Columns(state, moves, wanted, library, np.zeros(room, np.int8))


@dataclass(frozen=True)
class Sample:
    """Decisions or positions of recorded games. `columns` is a named tuple of arrays with n items each.

    `maps` (int64[n]) has the numbers of their maps, `held` the numbers of the maps for validation.
    """

    columns: Any
    maps: NDArray[np.int64]
    held: NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.maps)

    @property
    def validation(self) -> NDArray[np.bool_]:
        """Whether each item is for validation only: bool[n]."""
        found: NDArray[np.bool_] = np.isin(self.maps, self.held)
        return found

    def part(self, chosen: NDArray[np.bool_]) -> Self:
        """Return the items that `chosen` (bool[n]) selects."""
        columns = self.columns._make(column[chosen] for column in self.columns)
        return replace(self, columns=columns, maps=self.maps[chosen])

    def divided(self, what: str) -> tuple[Self, Self]:
        """Return the items for fitting and those for validation. Raises `UsageError` if there are too few items (`what`)."""
        fitting, validation = self.part(~self.validation), self.part(self.validation)
        for part, few, purpose in ((fitting, FEWEST, "fitting"), (validation, FEWEST_HELD, "validation")):
            if len(part) < few:
                raise UsageError(f"{len(part)} {what} for {purpose}, at least {few} are needed: record more games on more maps")
        return fitting, validation


@dataclass(frozen=True)
class MoveDecisions(Sample):
    """The decisions of a bot."""

    columns: Columns

    @classmethod
    def joined(cls, parts: Sequence[MoveDecisions]) -> MoveDecisions:
        """Return all decisions of bots in the same games."""
        columns = Columns._make(map(np.concatenate, zip(*(part.columns for part in parts), strict=True)))
        return cls(columns, np.concatenate([part.maps for part in parts]), parts[0].held)


@dataclass(frozen=True)
class Turns:
    """Turns of the bot `name` in a game on map `place`.

    From all turns of the bot, in the order of the plies, number `first` and then every `step`-th one is used.
    """

    record: RecordedGame
    place: int
    name: str
    first: int
    step: int

    @property
    def seats(self) -> tuple[int, ...]:
        """The heroes (0..3) of the bot."""
        return tuple(seat for seat, name in enumerate(self.record.names) if name == self.name)

    @cached_property
    def plies(self) -> list[int]:
        """The plies of these turns, counted from the first move of the record."""
        return _plies_of(self.record, self.name)[self.first :: self.step]

    def key(self) -> list[Any]:
        """Return JSON values that tell these turns from other turns."""
        return [game_digest(self.record), self.seats, self.first, self.step]


def _plies_of(record: RecordedGame, name: str) -> list[int]:
    begin = int(record.first()["turn"].item(0))
    return [ply for ply in range(len(record.moves)) if record.names[(begin + ply) % SEATS] == name]


def game_digest(record: RecordedGame) -> str:
    """Return a digest of a game: its map and its moves."""
    return hashlib.sha256(record.game_map().digest.encode() + bytes(record.moves)).hexdigest()


@dataclass(frozen=True)
class RecordedGames:
    """Finished games, each with the number of its map. `held` (int64[k]) has the numbers of the maps for validation."""

    games: tuple[tuple[RecordedGame, int], ...]
    held: NDArray[np.int64]


def map_number(digest: str) -> int:
    """Return a number (0 to 2**32 - 1) that depends on the digest of a map as if it were random."""
    return int.from_bytes(hashlib.blake2b(digest.encode(), digest_size=4).digest(), "big")


def read_games(paths: Iterable[Path], holdout: float, bots: Sequence[str] = ()) -> RecordedGames:
    """Return the games in files of game records that were finished without a crash or a forfeit, each only once.

    `bots` selects games by the labels of their bots (none: all games). `holdout` (0..1) is the share of the maps for validation:
    at least one map, and not all. Raises `UsageError` for a faulty record, for an unknown bot, and if there are no games on at
    least two maps.
    """
    games: dict[tuple[Path, str], RecordedGame] = {}
    for path in paths:
        for record in read_records(path):
            if record.ending == Reason.FINISHED and CRASH not in record.moves:
                games.setdefault((path, record.id), record)
    names = {name for record in games.values() for name in record.names}
    if unknown := sorted(set(bots) - names):
        raise UsageError(f"--only {unknown[0]}: no game of this bot; the bots are {', '.join(sorted(names)) or 'none'}")
    if not games:
        raise UsageError("these files have no finished game without a crash or a forfeit")
    maps: dict[str, int] = {}
    found = []
    for (path, _), record in games.items():
        if not bots or set(bots) & set(record.names):
            try:
                GameHistory.of(record)
            except GameRecordError as problem:
                raise UsageError(f"{short(path)}: {problem.message}") from None
            found.append((record, maps.setdefault(record.game_map().digest, len(maps))))
    if len(maps) < 2:
        raise UsageError("these games are on one map: a net needs games on at least two maps, one of them for validation")
    order = [maps[digest] for digest in sorted(maps, key=map_number)]
    return RecordedGames(tuple(found), np.array(order[: min(max(1, round(holdout * len(maps))), len(maps) - 1)]))


def decisions_of(
    paths: Iterable[Path],
    holdout: float,
    bots: Sequence[str] = (),
    targets: Callable[[Sequence[Turns]], Sequence[NDArray[np.float32]]] | None = None,
) -> dict[str, MoveDecisions]:
    """Return at most `MOST` decisions of each bot in files of game records, by label. `bots` selects bots (none: all).

    `targets` returns `Columns.wanted` for the turns of each game; without it, the recorded moves are wanted. For `holdout` and
    for errors see `read_games`.
    """
    read = read_games(paths, holdout, bots)
    names = sorted(bots or {name for record, _ in read.games for name in record.names})
    turns = {name: _turns_of(read, name) for name in names}
    wanted = None if targets is None else iter(targets([one for some in turns.values() for one in some]))
    decisions = {}
    for name, some in turns.items():
        columns = [_decisions_in(one) for one in some]
        if wanted is not None:
            columns = [one._replace(wanted=next(wanted)) for one in columns]
        places = np.repeat([one.place for one in some], [len(part.near) for part in columns])
        decisions[name] = MoveDecisions(Columns._make(map(np.concatenate, zip(*columns, strict=True))), places, read.held)
    return decisions


def _turns_of(read: RecordedGames, name: str) -> list[Turns]:
    """Return the turns of a bot that are used: at most `MOST`, evenly from all its turns."""
    games = [(record, place, len(_plies_of(record, name))) for record, place in read.games if name in record.names]
    step, seen, turns = max(1, -(-sum(count for _, _, count in games) // MOST)), 0, []
    for record, place, count in games:
        turns.append(Turns(record, place, name, -seen % step, step))
        seen += count
    return turns


def _decisions_in(turns: Turns) -> Columns:
    """Return the decisions on these turns, with the recorded moves."""
    record = turns.record
    policies, weights, tables = compiled_policies(LIBRARY), compiled_weights(Weights()), map_tables_of(record.game_map())
    columns, used = new_columns(len(turns.plies)), np.zeros(len(record.moves), np.int8)
    used[turns.plies] = 1
    moves = np.array(record.moves, np.int8)
    find_decisions(record.first(), moves, used, tables, weights, policies, np.zeros(1, FOUND), columns)
    return columns


# ---- Kernels ----


@kernel
def _effective(found: FoundRecord, move: int) -> int:
    """Return the move itself, `STAY` for a move without an effect, and the first drink for any drink."""
    if move > STAY and found.moves[uintp(move * MOVE_SLOTS)] < 0:
        return int64(STAY)
    if kind_of(int64(found.moves[uintp(move * MOVE_SLOTS)])) == DRINKS:
        for other in range(1, move):
            if kind_of(int64(found.moves[uintp(other * MOVE_SLOTS)])) == DRINKS:
                return int64(other)
    return int64(move)


@kernel
def _is_near(game: GameRecord, tables: MapRecord, hero: int) -> bool:
    """Return whether an enemy that has not crashed is within `NEAR` moves of a hero."""
    near, pos = False, int64(game.hero[uintp(hero)].pos)
    for step in range(1, 4):
        enemy = game.hero[uintp((hero + step) & 3)]
        near |= enemy.crashed == 0 and tables.to_square[uintp(int64(enemy.pos) * CELLS + pos)] <= NEAR
    return near


@entry(types.void(GAMES, INT8S, INT8S, MAP_TABLES_ARRAY, WEIGHT_ARRAY, POLICY_ARRAY, FOUND_ARRAY, _COLUMNS))
def find_decisions(
    games: Games,
    played: NDArray[np.int8],
    used: NDArray[np.int8],
    tables_array: NDArray[np.void],
    weights: NDArray[np.void],
    policies: NDArray[np.void],
    found: NDArray[np.void],
    columns: Columns,
) -> None:
    """Play the moves `played` in ``games[0]``, and write decisions into the rows of `columns`, one after the other.

    Decisions are the plies for which `used` has 1. `found` is an array of one record, which is overwritten.
    """
    game, tables, count = games[0], tables_array[0], int64(0)
    for ply in range(len(played)):
        hero, move = int64(game.turn) & 3, int64(played[ply])
        if used[ply]:
            find_features(game, tables, hero, found[0])
            columns.state[count, :] = found[0].state
            columns.moves[count, :] = found[0].moves
            columns.wanted[count, _effective(found[0], move)] = 1
            for policy in range(len(policies)):
                other = policy_move(game, tables, weights[0], policies[policy], hero, int64(NO_GOAL))
                columns.library[count, policy] = _effective(found[0], other)
            columns.near[count] = _is_near(game, tables, hero)
            count += 1
        play(game, move, None)
