"""Who is ahead: the gold that every hero will have if the mines stay as they are."""

from __future__ import annotations

from behaviours.base import View
from sim.game import PLIES_PER_ROUND


def prospects(view: View) -> list[int]:
    """The gold of heroes 0..3 at the end of the game if no mine changes hands and nobody drinks. Absent heroes have theirs too.

    A hero earns his mines in each of his moves that are left, ours of this turn included. Kept for the turn.
    """

    def compute() -> list[int]:
        heroes = view.games["hero"][0]
        left = max(0, int(view.games["max_turns"].item(0)) - view.turn)
        plies = [max(0, left - (hero - view.turn) % PLIES_PER_ROUND + 3) // PLIES_PER_ROUND for hero in range(4)]
        owned = zip(heroes["gold"].tolist(), heroes["mines"].tolist(), plies, strict=True)
        return [gold + mines * moves for gold, mines, moves in owned]

    return view.shared("prospects", compute)


def rival(view: View) -> int | None:
    """The enemy who is furthest ahead, the one to catch or to hold off; the one with more mines, then the lowest index, of
    equals. None where there is no enemy."""
    ahead, mines = prospects(view), view.games["hero"]["mines"][0].tolist()
    return max(view.enemies, key=lambda enemy: (ahead[enemy], mines[enemy], -enemy), default=None)


def lead(view: View) -> int:
    """How much gold we will have more than the best enemy (negative: less), as `prospects` has it; all of ours if alone."""
    best = rival(view)
    return prospects(view)[view.me] - (prospects(view)[best] if best is not None else 0)
