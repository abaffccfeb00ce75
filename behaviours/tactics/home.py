"""Homecoming: hold what we have, beside a tavern."""

from __future__ import annotations

from pydantic import Field

from behaviours.base import Behaviour, View, Votes
from behaviours.common.combat_map import danger
from behaviours.common.projection import lead
from behaviours.common.targets import first_steps, taverns_beside
from sim.game import BEER_COST, STAY


class Homecoming(Behaviour):
    """Goes to a tavern and stays there when there is more to lose than to win.

    That is so if we are ahead (all mines kept as they are), could pay for a beer now or with the next income, and have `share`
    of all mines; or have any mine, when `late` rounds or fewer are left. Beside a tavern: votes 1 for drinking at or below
    `drink` life, else 1 for Stay. Elsewhere: 1 for every first step of a shortest way to the nearest tavern that keeps off
    squares which the later combat map marks below 0.
    """

    share: float = Field(0.5, ge=0, le=1, description="go home with this share of all mines")
    late: int = Field(20, ge=0, le=600, description="go home when so many rounds are left and we are ahead")
    ahead: int = Field(0, ge=0, le=10000, description="how much gold ahead we must be at the end, if all mines stay as they are")
    drink: int = Field(60, ge=0, le=100, description="drink at or below this life")

    def vote(self, view: View) -> Votes:
        """1 for some moves, or nothing."""
        rich = view.mines >= self.share * len(view.map.mines) or view.plies_left <= self.late
        if not rich or view.mines == 0 or view.gold + view.mines < BEER_COST or lead(view) <= self.ahead:
            return None
        beside = taverns_beside(view)
        if beside:
            drinks = [move for move in beside if move in view.moves] if view.life <= self.drink else []
            return dict.fromkeys(drinks or [STAY], 1.0)
        return dict.fromkeys(first_steps(view, view.map.taverns, danger(view)), 1.0) or None
