"""Projections: the gold of the heroes at the end of the game if the mines keep their owners."""

from __future__ import annotations

from behaviours.base import View
from sim.game import PLIES_PER_ROUND


def projected_gold(view: View) -> list[int]:
    """Return the gold of heroes 0..3 (also absent ones) at the end of the game, if mines keep their owners and no hero drinks.

    Each move that a hero still makes earns it one gold per mine. Our move on this turn counts. The result is computed once per
    turn.
    """

    def compute() -> list[int]:
        heroes = view.games["hero"][0]
        left = max(0, int(view.games["max_turns"].item(0)) - view.turn)
        plies = [max(0, left - (hero - view.turn) % PLIES_PER_ROUND + 3) // PLIES_PER_ROUND for hero in range(4)]
        owned = zip(heroes["gold"].tolist(), heroes["mines"].tolist(), plies, strict=True)
        return [gold + mines * moves for gold, mines, moves in owned]

    return view.shared("projected gold", compute)


def rival(view: View) -> int | None:
    """Return the enemy (0..3) with the most projected gold, or None if there are no enemies.

    If several enemies have the most gold, return the enemy with the most mines among them. If these are equal too, the lowest
    index counts.
    """
    gold, mines = projected_gold(view), view.games["hero"]["mines"][0].tolist()
    return max(view.enemies, key=lambda enemy: (gold[enemy], mines[enemy], -enemy), default=None)


def lead(view: View) -> int:
    """Return our projected gold minus the projected gold of the `rival`. Without enemies, return our projected gold."""
    best = rival(view)
    return projected_gold(view)[view.me] - (projected_gold(view)[best] if best is not None else 0)
