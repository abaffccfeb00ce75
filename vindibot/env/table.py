"""Many games of one environment: arrays that are made once, in which games begin, go on and are observed; and their pictures."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from html import escape
from typing import Any

import numpy as np
from numpy.typing import NDArray

from behaviours.net.features import FOUND
from sim.board import draw
from sim.game import GAME, SEATS
from sim.pictures.layout import side_of
from vindibot.base.console import terminal
from vindibot.base.errors import UsageError
from vindibot.engine.warmup import warm
from vindibot.env.observing import ALL, NOTHING, Observations, Rows
from vindibot.env.options import EnvOptions
from vindibot.env.stepping import BEGIN, LEARNER, Running, advance_games, seed_state
from vindibot.games.game_record import GameRecord
from vindibot.viewer.painting import Painter
from vindibot.viewer.replay import record_page


class GameTable:
    """`count` games with the same options. `running` has their states. With `logged`, it also has room for all moves.

    `begun` says whether there are games.
    """

    def __init__(self, options: EnvOptions, count: int, logged: bool = False) -> None:
        if count < 1:
            raise UsageError(f"the number of games must be at least 1, not {count}")
        warm(terminal())
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
        self._found = np.zeros(1, FOUND)

    def seed(self, rows: Sequence[int] | NDArray[np.int64], seeds: Sequence[int]) -> None:
        """Give the games in these rows new states of their random generators."""
        for row, seed in zip(rows, seeds, strict=True):
            self.running.states[row] = seed_state(np.uint64(int(seed) & 0xFFFFFFFFFFFFFFFF))  # type: ignore[arg-type]

    def advance(self, tasks: NDArray[np.int8], actions: NDArray[np.int64] | None = None) -> None:
        """Do a task with each game, see `advance_games`."""
        moves = self._no_moves if actions is None else actions
        maps, rivals, rules = self.maps, self.rivals.pool, self.rules
        advance_games(self.running, maps, rivals, rules, self._order, tasks, moves, self._found)
        if (tasks == BEGIN).any():
            self.begun = True
            self._order = np.argsort(self.running.where, kind="stable")

    def look(self, rows: NDArray[np.bool_] | None = None) -> None:
        """Fill the observations and masks of the learned heroes, of all games or of the marked ones."""
        wanted = np.full(len(self._rows), ALL, np.int8) if rows is None else np.where(rows, ALL, NOTHING).astype(np.int8)
        run = self.running
        self.seen.look(run.games, self.maps.tables, Rows(self._order, self._rows, run.where, run.heroes, wanted))


#: The modes of `frame`.
MODES = ["ansi", "rgb_array", "human"]
#: Move the cursor to the top left, and clear what is below.
_CLEAR = "\x1b[H\x1b[J"


def known_mode(mode: str | None, modes: Sequence[str]) -> str | None:
    """Return a mode of rendering. Raises `UsageError` for an unknown mode."""
    if mode is not None and mode not in modes:
        raise UsageError(f"render_mode: {mode!r} is unknown here; there are {', '.join(modes)}")
    return mode


def frame(table: GameTable, row: int, mode: str | None, hero: int) -> Any:
    """Return a picture of a game: a text for ``ansi``, uint8[height, width, 3] for ``rgb_array``, None for None.

    The pictures of all games of a table have the same size. ``human`` prints the text in the terminal, over the last one, and
    returns None. `hero` (0..3) gets a ring in pixels.
    """
    if mode is None:
        return None
    game = table.running.games[row : row + 1]
    if mode == "rgb_array":
        board = max(size * side_of(size) for size in set(table.maps.starts["size"].tolist()))
        return np.asarray(Painter(game, me=hero, board=board).paint(game))
    if mode == "ansi":
        return draw(game)
    sys.stdout.write((_CLEAR if sys.stdout.isatty() else "") + draw(game))
    sys.stdout.flush()
    return None


class Page(str):
    """The viewer's page of a game. A notebook shows it in a frame inside the cell."""

    __slots__ = ()

    @classmethod
    def of(cls, record: GameRecord) -> Page:
        """Return the page of a recorded game."""
        return cls(record_page(record))

    def _repr_html_(self) -> str:
        return f'<iframe srcdoc="{escape(self)}" width="100%" height="640" style="border:0" title="a game"></iframe>'
