"""Decisions of bots in recorded games: the features of a turn, and the move that the bot made.

A move without an effect counts as a stay, and any drink as the first drink. All games on a map are either for fitting or for
validation. A digest of the map decides which. So validation uses only games and maps that the fit has not seen.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple, Self

import numpy as np
from numba import types
from numpy.typing import NDArray

from behaviours.common.evaluation import WEIGHT_ARRAY, Weights, compiled_weights
from behaviours.common.map_tables import MAP_TABLES_ARRAY, MapRecord, map_tables_of
from behaviours.net.features import FOUND, FOUND_ARRAY, MOVE_SLOTS, STATE_SLOTS, FoundRecord, find_features
from behaviours.net.move_features import DRINKS, kind_of
from behaviours.rollout.policy import LIBRARY, NO_GOAL, POLICY_ARRAY, compiled_policies, policy_move
from sim.game import CELLS, CRASH, GAMES, SEATS, STAY, Games
from sim.kernel_types import INT8S, GameRecord, int64, tuple_of, uintp
from sim.kernels import entry, kernel
from sim.rules import play
from vindibot.base.errors import UsageError
from vindibot.base.writing import short
from vindibot.games.files.game_files import read_records
from vindibot.games.game_record import GameRecord as RecordedGame, GameRecordError
from vindibot.games.history import GameHistory
from vindibot.games.outcome import Reason
from vindibot.learning.network import INT16_ROWS

#: Largest number of decisions of a bot. If there are more, every second, third ... decision is used.
MOST = 100_000
#: Smallest number of items of a sample for fitting, and for validation.
FEWEST, FEWEST_HELD = 1000, 300
#: Number of folds of the maps for fitting.
FOLDS = 5
#: Largest distance of an enemy in a decision that is near an enemy, in moves.
NEAR = 3


class Columns(NamedTuple):
    """The columns of n decisions.

    - `state` (n x `STATE_SLOTS`) and `moves` (n x 5 `MOVE_SLOTS`): the features (`behaviours.net.features`).
    - `chosen`: the move (0..4) that the hero made.
    - `library` (n x policies): the moves (0..4) that the policies of `LIBRARY` make.
    - `near`: 1 if an enemy is within `NEAR` moves.
    """

    state: NDArray[np.int16]
    moves: NDArray[np.int16]
    chosen: NDArray[np.int8]
    library: NDArray[np.int8]
    near: NDArray[np.int8]


_COLUMNS = tuple_of([INT16_ROWS, INT16_ROWS, INT8S, types.Array(types.int8, 2, "C"), INT8S], Columns)


def new_columns(room: int) -> Columns:
    """Return columns of zeros for `room` decisions."""
    state, moves = np.zeros((room, STATE_SLOTS), np.int16), np.zeros((room, 5 * MOVE_SLOTS), np.int16)
    chosen, library = np.zeros(room, np.int8), np.zeros((room, len(LIBRARY)), np.int8)
    return Columns(state, moves, chosen, library, np.zeros(room, np.int8))


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
        held: NDArray[np.bool_] = np.isin(self.maps, self.held)
        return held

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


def folds_of(places: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the number of the fold of each item (int64[n]). `places` has the number of its map. A map is in one fold.

    There are `FOLDS` folds, or one per map, but at least two. If there is only one map, all folds have items on it.
    """
    maps, ranks = np.unique(places, return_inverse=True)
    return ranks % max(2, min(FOLDS, len(maps))) if len(maps) > 1 else np.arange(len(places)) % FOLDS


@dataclass(frozen=True)
class MoveDecisions(Sample):
    """The decisions of a bot."""

    columns: Columns


@dataclass(frozen=True)
class RecordedGames:
    """Finished games, each with the number of its map. `held` (int64[k]) has the numbers of the maps for validation."""

    games: tuple[tuple[RecordedGame, int], ...]
    held: NDArray[np.int64]


def digest_number(data: bytes) -> int:
    """Return a number (0 to 2**32 - 1) that depends on data as if it were random."""
    return int.from_bytes(hashlib.blake2b(data, digest_size=4).digest(), "big")


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
    chosen = []
    for (path, _), record in games.items():
        if not bots or set(bots) & set(record.names):
            try:
                GameHistory.of(record)
            except GameRecordError as problem:
                raise UsageError(f"{short(path)}: {problem.message}") from None
            chosen.append((record, maps.setdefault(record.game_map().digest, len(maps))))
    if len(maps) < 2:
        raise UsageError("these games are on one map: a fit needs games on at least two maps, one of them for validation")
    order = [maps[digest] for digest in sorted(maps, key=lambda digest: digest_number(digest.encode()))]
    return RecordedGames(tuple(chosen), np.array(order[: min(max(1, round(holdout * len(maps))), len(maps) - 1)]))


def decisions_of(paths: Iterable[Path], holdout: float, bots: Sequence[str] = ()) -> dict[str, MoveDecisions]:
    """Return at most `MOST` decisions of each bot in files of game records, by label. `bots` selects bots (none: all).

    For `holdout` and for errors see `read_games`.
    """
    games = read_games(paths, holdout, bots)
    return {name: _decisions_of(games, name) for name in sorted(bots or {name for game, _ in games.games for name in game.names})}


def _decisions_of(recorded: RecordedGames, name: str) -> MoveDecisions:
    """Return the decisions of a bot that are used: at most `MOST`, evenly from all its turns."""
    turns = [(record, place, _plies_of(record, name)) for record, place in recorded.games if name in record.names]
    step, seen, parts, places = max(1, -(-sum(len(plies) for *_, plies in turns) // MOST)), 0, [], []
    for record, place, plies in turns:
        parts.append(_decisions_in(record, plies[-seen % step :: step]))
        places += [place] * len(parts[-1].near)
        seen += len(plies)
    return MoveDecisions(Columns._make(map(np.concatenate, zip(*parts, strict=True))), np.array(places), recorded.held)


def _plies_of(record: RecordedGame, name: str) -> list[int]:
    """Return the plies of a bot in a game, counted from the first move of the record."""
    begin = int(record.first()["turn"].item(0))
    return [ply for ply in range(len(record.moves)) if record.names[(begin + ply) % SEATS] == name]


def _decisions_in(record: RecordedGame, plies: Sequence[int]) -> Columns:
    """Return the decisions on these plies, with the recorded moves."""
    policies, weights, tables = compiled_policies(LIBRARY), compiled_weights(Weights()), map_tables_of(record.game_map())
    columns, used = new_columns(len(plies)), np.zeros(len(record.moves), np.int8)
    used[plies] = 1
    moves = np.array(record.moves, np.int8)
    find_decisions(record.first(), moves, used, tables, weights, policies, np.zeros(1, FOUND), columns)
    return columns


# ---- Kernels ----


@kernel
def _effective(features: FoundRecord, move: int) -> int:
    """Return the move itself, `STAY` for a move without an effect, and the first drink for any drink."""
    if move > STAY and features.moves[uintp(move * MOVE_SLOTS)] < 0:
        return int64(STAY)
    if kind_of(int64(features.moves[uintp(move * MOVE_SLOTS)])) == DRINKS:
        for other in range(1, move):
            if kind_of(int64(features.moves[uintp(other * MOVE_SLOTS)])) == DRINKS:
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
    features: NDArray[np.void],
    columns: Columns,
) -> None:
    """Play the moves `played` in ``games[0]``, and write decisions into the rows of `columns`, one after the other.

    Decisions are the plies for which `used` has 1. `features` is an array of one record, which is overwritten.
    """
    game, tables, count = games[0], tables_array[0], int64(0)
    for ply in range(len(played)):
        hero, move = int64(game.turn) & 3, int64(played[ply])
        if used[ply]:
            find_features(game, tables, hero, features[0])
            columns.state[count, :] = features[0].state
            columns.moves[count, :] = features[0].moves
            columns.chosen[count] = _effective(features[0], move)
            for policy in range(len(policies)):
                other = policy_move(game, tables, weights[0], policies[policy], hero, int64(NO_GOAL))
                columns.library[count, policy] = _effective(features[0], other)
            columns.near[count] = _is_near(game, tables, hero)
            count += 1
        play(game, move, None)
