"""Pictures of running games: text, pixels, the terminal, and the viewer's page in a cell of a notebook."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from html import escape
from typing import Any

import numpy as np

from sim.board import draw
from sim.pictures.layout import side_of
from vindibot.base.errors import UsageError
from vindibot.env.table import GameTable
from vindibot.games.game_record import GameRecord
from vindibot.viewer.painting import Painter
from vindibot.viewer.replay import record_page

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
