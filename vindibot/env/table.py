"""Many games of one environment in arrays that are made once: they begin, go on by a move, and are observed."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from behaviours.net.features import FOUND
from behaviours.net.scoring import UNITS
from sim.game import GAME, SEATS
from vindibot.base.errors import UsageError
from vindibot.env.observing import ALL, NOTHING, Observations, Rows
from vindibot.env.options import EnvOptions
from vindibot.env.stepping import BEGIN, LEARNER, Running, advance_games, seed_state


class GameTable:
    """`count` games with the same options. `running` has their states. With `logged`, it also has room for all moves.

    `begun` says whether there are games.
    """

    def __init__(self, options: EnvOptions, count: int, logged: bool = False) -> None:
        if count < 1:
            raise UsageError(f"the number of games must be at least 1, not {count}")
        self.options, self.rules, self.begun = options, options.rules, False
        self.maps, self.rivals = options.map_pool(), options.rival_pool()
        self.seen = Observations(options.lookout, count)
        self.running = Running(
            np.zeros(count, GAME),
            np.zeros(count, np.int64),
            np.full((count, SEATS), LEARNER),
            np.ones(count, np.uint64),
            np.zeros(count, np.int64),
            np.zeros((count, SEATS)),
            np.zeros((count, SEATS)),
            np.zeros(count),
            np.zeros(count, np.bool_),
            np.zeros(count, np.bool_),
            np.zeros(count, np.bool_),
            np.zeros((count, self.rules.max_turns if logged else 0), np.int8),
        )
        self._rows, self._order, self._no_moves = np.arange(count), np.arange(count), np.zeros(count, np.int64)
        self._found, self._units = np.zeros(1, FOUND), np.zeros(1, UNITS)

    def seed(self, rows: Sequence[int] | NDArray[np.int64], seeds: Sequence[int]) -> None:
        """Give the games in these rows new states of their random generators."""
        for row, seed in zip(rows, seeds, strict=True):
            self.running.states[row] = seed_state(np.uint64(int(seed) & 0xFFFFFFFFFFFFFFFF))  # type: ignore[arg-type]

    def advance(self, tasks: NDArray[np.int8], actions: NDArray[np.int64] | None = None) -> None:
        """Do a task with each game, see `advance_games`."""
        moves = self._no_moves if actions is None else actions
        maps, rivals, rules = self.maps, self.rivals.pool, self.rules
        advance_games(self.running, maps, rivals, rules, self._order, tasks, moves, self._found, self._units)
        if (tasks == BEGIN).any():
            self.begun = True
            self._order = np.argsort(self.running.where, kind="stable")

    def look(self, rows: NDArray[np.bool_] | None = None) -> None:
        """Fill the observations and masks of the learned heroes, of all games or of the marked ones."""
        wanted = np.full(len(self._rows), ALL, np.int8) if rows is None else np.where(rows, ALL, NOTHING).astype(np.int8)
        run = self.running
        self.seen.look(run.games, self.maps.tables, Rows(self._order, self._rows, run.where, run.heroes, wanted))
