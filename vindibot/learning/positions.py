"""Positions of recorded games for the fit of a value: the features of a hero's turn, and how the game ended for the hero.

**Which positions.** One round in every few rounds gives four positions: the turns of the four heroes. A digest of the game
selects the first of these rounds. So all rounds occur equally often. Only games that were played to their last round are used.

**The target.** It is the value that `behaviours.net.network` calls `LEAD`: what the lead at the end has beyond the lead in the
position and the income of the mines that the hero and the others own there.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numba import types
from numpy.typing import NDArray

from behaviours.common.kernel_types import int64, uintp
from behaviours.common.map_tables import MAP_TABLES_ARRAY, map_tables_of
from behaviours.net.features import FOUND, FOUND_ARRAY, MOVE_SLOTS, STATE_SLOTS, find_features
from behaviours.net.network import discounted_rounds
from sim.game import GAMES, PLIES_PER_ROUND, RUNNING, Games
from sim.kernel_types import INT8S, INT16S, tuple_of
from sim.kernels import entry
from sim.rules import play
from vindibot.games.game_record import GameRecord
from vindibot.learning.collecting import lead_of
from vindibot.learning.decisions import Sample, game_digest, map_number, read_games
from vindibot.learning.network import FLOAT32S, INT16_ROWS


class PositionColumns(NamedTuple):
    """The columns of n positions.

    - `state` (n x `STATE_SLOTS`): the features of the position. `stay` (n x `MOVE_SLOTS`): those of Stay.
    - `hero` (0..3), `round` (from 0), and `left`: the number of rounds left, this one included. `mines`: on the map, at least 1.
    - `lead`: the lead in the position, and `final`: the lead at the end, both in gold. `income`: the hero's mines minus the mean
      of the others.
    """

    state: NDArray[np.int16]
    stay: NDArray[np.int16]
    hero: NDArray[np.int8]
    round: NDArray[np.int16]
    left: NDArray[np.int16]
    mines: NDArray[np.int16]
    lead: NDArray[np.float32]
    final: NDArray[np.float32]
    income: NDArray[np.float32]


_COLUMNS = tuple_of([INT16_ROWS, INT16_ROWS, INT8S, INT16S, INT16S, INT16S, FLOAT32S, FLOAT32S, FLOAT32S], PositionColumns)


@dataclass(frozen=True)
class Positions(Sample):
    """Positions of recorded games."""

    columns: PositionColumns

    @property
    def gain(self) -> NDArray[np.float32]:
        """The change of the lead until the end, in gold per round left (float32[n])."""
        return np.asarray((self.columns.final - self.columns.lead) / self.columns.left, np.float32)

    @property
    def unit(self) -> NDArray[np.float32]:
        """A value of 1 in gold per round left (float32[n])."""
        return np.asarray(self.columns.mines * self._share, np.float32)

    @property
    def target(self) -> NDArray[np.float32]:
        """The value that would predict the lead at the end exactly (float32[n])."""
        return np.asarray((self.gain - self.columns.income * self._share) / self.unit, np.float32)

    def gains(self, values: NDArray[np.float32]) -> NDArray[np.float32]:
        """Return the `gain` that values predict (float32[n])."""
        return self.columns.income * self._share + values * self.unit

    @property
    def _share(self) -> NDArray[np.float32]:
        """The discounted number of rounds left, divided by the number of rounds left."""
        return (discounted_rounds(self.columns.left) / self.columns.left).astype(np.float32)


def positions_of(paths: Iterable[Path], every: int, holdout: float) -> Positions:
    """Return the positions of all games in files of game records. `every` is the number of rounds from one position to the next.

    For `holdout` and for errors see `vindibot.learning.decisions.read_games`.
    """
    read = read_games(paths, holdout)
    parts = [_positions_in(record, every) for record, _ in read.games]
    maps = np.repeat([place for _, place in read.games], [len(part.hero) for part in parts])
    return Positions(PositionColumns._make(map(np.concatenate, zip(*parts, strict=True))), maps, read.held)


def first_round(record: GameRecord, every: int) -> int:
    """Return the first round (0 to `every` - 1) of a game that gives positions."""
    return map_number(game_digest(record)) % every


def _positions_in(record: GameRecord, every: int) -> PositionColumns:
    moves, tables = np.array(record.moves, np.int8), map_tables_of(record.game_map())
    columns = PositionColumns(
        np.zeros((len(moves), STATE_SLOTS), np.int16),
        np.zeros((len(moves), MOVE_SLOTS), np.int16),
        np.zeros(len(moves), np.int8),
        np.zeros(len(moves), np.int16),
        np.zeros(len(moves), np.int16),
        np.zeros(len(moves), np.int16),
        np.zeros(len(moves), np.float32),
        np.zeros(len(moves), np.float32),
        np.zeros(len(moves), np.float32),
    )
    count = find_positions(record.first(), moves, first_round(record, every), every, tables, np.zeros(1, FOUND), columns)
    return PositionColumns._make(column[:count].copy() for column in columns)


@entry(types.int64(GAMES, INT8S, types.int64, types.int64, MAP_TABLES_ARRAY, FOUND_ARRAY, _COLUMNS))
def find_positions(
    games: Games,
    played: NDArray[np.int8],
    first: int,
    every: int,
    tables_array: NDArray[np.void],
    found: NDArray[np.void],
    columns: PositionColumns,
) -> int:
    """Play the moves `played` in ``games[0]``, and write positions into rows of `columns`. Return the number of rows.

    Positions are the turns in the rounds `first`, `first` + `every`, ... `found` is an array of one record, which is overwritten.
    """
    game, tables, count = games[0], tables_array[0], int64(0)
    for ply in range(len(played)):
        if game.status != RUNNING:
            break
        turn = int64(game.turn)
        number = turn // PLIES_PER_ROUND
        if number >= first and (number - first) % every == 0:
            hero = turn & 3
            find_features(game, tables, hero, found[0])
            columns.state[count, :] = found[0].state
            for slot in range(MOVE_SLOTS):  # Stay is the first move
                columns.stay[count, slot] = found[0].moves[uintp(slot)]
            columns.hero[count], columns.round[count] = hero, number
            columns.left[count] = (int64(game.max_turns) - turn + PLIES_PER_ROUND - 1) // PLIES_PER_ROUND
            columns.mines[count] = max(int64(tables.mines), int64(1))
            columns.lead[count] = lead_of(game, hero)
            others = int64(0)
            for step in range(1, 4):
                others += int64(game.hero[uintp((hero + step) & 3)].mines)
            columns.income[count] = float(game.hero[uintp(hero)].mines) - others / 3
            count += 1
        play(game, int64(played[ply]), None)
    for row in range(count):
        columns.final[row] = lead_of(game, int64(columns.hero[row]))
    return count
