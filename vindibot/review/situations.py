"""Kinds of situations of a hero on its turn, for statistics of turns."""

from __future__ import annotations

from collections.abc import Callable

from behaviours.base import View
from sim.game import BLOW, MINE, OFFSET, TAVERN, TILE_BITS
from vindibot.games.files.review import PHASES

#: Largest number of steps to an enemy that is near, and largest life of a weak hero: two blows kill it.
NEAR_STEPS, WEAK_LIFE = 3, 2 * BLOW


def _tiles_beside(view: View) -> list[int]:
    return [int(view.cells[view.pos + int(offset)]) & TILE_BITS for offset in OFFSET[1:]]


def _beside_mine(view: View) -> bool:
    return any(tile >= MINE and tile != MINE + 1 + view.me for tile in _tiles_beside(view))


#: The situations in the order in which they are tried, each with its rule. The first rule that applies gives the situation.
_RULES: tuple[tuple[str, Callable[[View], bool]], ...] = (
    ("enemy beside it", lambda view: bool(view.enemies_beside(view.pos))),
    ("enemy within 3 steps", lambda view: bool(view.near(NEAR_STEPS))),
    ("life at most 40", lambda view: view.life <= WEAK_LIFE),
    ("beside a tavern", lambda view: TAVERN in _tiles_beside(view)),
    ("beside a mine to take", _beside_mine),
)
#: The names of all situations.
SITUATIONS = (*(name for name, _ in _RULES), "on its way")


def situation_of(view: View) -> str:
    """Return the situation of the view's hero: the first of `SITUATIONS` that applies."""
    return next((name for name, applies in _RULES if applies(view)), SITUATIONS[-1])


def phase_of(turn: int, max_turns: int) -> str:
    """Return the phase of a turn in a game of `max_turns` plies: the third of the game."""
    return PHASES[min(len(PHASES) - 1, len(PHASES) * turn // max(1, max_turns))]
