"""Pictures of running games: text, pixels, the terminal, and the viewer's page in a cell of a notebook."""

from __future__ import annotations

import sys
from html import escape
from typing import Any

import numpy as np

from sim.board import draw
from sim.game import Games
from vindibot.base.errors import UsageError
from vindibot.games.game_record import GameRecord
from vindibot.viewer.painting import Painter
from vindibot.viewer.replay import record_page

#: The modes of `frame`.
MODES = ["ansi", "rgb_array", "human"]
#: Move the cursor to the top left, and clear what is below.
_CLEAR = "\x1b[H\x1b[J"


def frame(game: Games, mode: str, hero: int | None = None) -> Any:
    """Return a picture of a game: a text for ``ansi``, uint8[height, width, 3] for ``rgb_array``.

    ``human`` prints the text in the terminal, over the last one, and returns None. `hero` (0..3) gets a ring in pixels. Raises
    `UsageError` for an unknown mode.
    """
    if mode not in MODES:
        raise UsageError(f"render_mode: {mode!r} is unknown; there are {', '.join(MODES)}")
    if mode == "rgb_array":
        return np.asarray(Painter(game, me=hero).paint(game).convert("RGB"))
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
