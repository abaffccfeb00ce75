"""Tavern finder: drink beside a tavern, and go to a tavern when life is low."""

from __future__ import annotations

from pydantic import Field

from behaviours.base import Behaviour, View, Votes
from behaviours.common.combat_map import danger
from behaviours.common.targets import first_steps, is_broke, one_of, taverns_beside
from sim.game import BEER_COST, STAY
from sim.paths import NOTHING_BLOCKED


class TavernFinder(Behaviour):
    """Go to the nearest tavern when life is low, and drink beside a tavern.

    - Beside a tavern, if life is at most `beer_life`: vote `beer_push` for drinking.
    - Otherwise, if life is at most `life_threshold`: vote 1 for the first step of a shortest way to the nearest tavern. Heroes,
      walls and mines block the way.

    If our hero lacks the gold for a beer and owns no mine, the trait does not vote. If it lacks the gold but owns a mine, it goes
    to the tavern as usual. There it waits for the gold (vote 1 for Stay).
    """

    life_threshold: int = Field(30, ge=0, le=100, description="go to a tavern with at most this life")
    beer_push: float = Field(20, ge=0, le=1000, description="vote for drinking beside a tavern")
    beer_life: int = Field(50, ge=0, le=100, description="drink with at most this life")
    avoid_danger: bool = Field(False, description="avoid squares with a negative value in the combat map (with `duel`)")
    every_step: bool = Field(False, description="vote for the first steps of all shortest ways, not only for one of them")

    def vote(self, view: View) -> Votes:
        """Return `beer_push` for each tavern beside us, or 1 for first steps or Stay, or None."""
        beside = taverns_beside(view)
        drinks = [direction for direction in beside if direction in view.moves]
        if drinks and view.life <= self.beer_life:
            return dict.fromkeys(drinks, self.beer_push)
        if view.life > self.life_threshold or is_broke(view):
            return None
        if beside and view.gold < BEER_COST:
            return STAY
        steps = first_steps(view, view.map.taverns, danger(view) if self.avoid_danger else NOTHING_BLOCKED)
        if not steps:
            return None
        return dict.fromkeys(steps, 1.0) if self.every_step else one_of(view, steps, "tavern-finder")
