"""Homecoming: stay beside a tavern and keep our mines."""

from __future__ import annotations

from pydantic import Field

from behaviours.base import Behaviour, View, Votes
from behaviours.common.combat_map import danger
from behaviours.common.projection import lead
from behaviours.common.targets import first_steps, taverns_beside
from sim.game import BEER_COST, STAY


class Homecoming(Behaviour):
    """Go to a tavern and stay there when we are ahead and own many mines, or when the game ends soon.

    The trait votes only if all of these conditions hold:

    - Our projected gold is more than `ahead` above the projected gold of the best enemy.
    - We own a mine, and can pay for a beer now or with the next income.
    - We own at least the share `share` of all mines, or at most `late` rounds are left.

    The votes:

    - Beside a tavern: 1 for drinking if we have at most `drink` life, else 1 for Stay.
    - Elsewhere: 1 for each first step of a shortest way to the nearest tavern. The way avoids squares with a negative value in
      `behaviours.common.combat_map` with `duel`.
    """

    share: float = Field(0.5, ge=0, le=1, description="least share of all mines with which we go home")
    late: int = Field(20, ge=0, le=600, description="number of last rounds in which we go home with any number of mines")
    ahead: int = Field(
        0,
        ge=0,
        le=10000,
        description="lead in projected gold (gold at the end if mines keep their owners) above which we go home",
    )
    drink: int = Field(60, ge=0, le=100, description="drink with at most this life")

    def vote(self, view: View) -> Votes:
        """Return 1 for one or more moves, or None."""
        rich = view.mines >= self.share * len(view.map.mines) or view.moves_left <= self.late
        if not rich or view.mines == 0 or view.gold + view.mines < BEER_COST or lead(view) <= self.ahead:
            return None
        beside = taverns_beside(view)
        if beside:
            drinks = [move for move in beside if move in view.moves] if view.life <= self.drink else []
            return dict.fromkeys(drinks or [STAY], 1.0)
        return dict.fromkeys(first_steps(view, view.map.taverns, danger(view)), 1.0) or None
