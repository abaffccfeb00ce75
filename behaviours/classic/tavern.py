"""Tavern finder: drink beside a tavern, and go to a tavern when life is low."""

from __future__ import annotations

from pydantic import Field

from behaviours.base import Behaviour, View, Votes
from behaviours.common.combat_map import danger
from behaviours.common.targets import first_steps, is_broke, one_of, taverns_beside
from sim.game import BEER_COST, STAY
from sim.paths import NOTHING_BLOCKED


class TavernFinder(Behaviour):
    """Head for the nearest tavern when life is low, and drink when beside one.

    Beside a tavern with at most `beer_life` life: vote `beer_push` for drinking. Elsewhere with at most `life_threshold` life:
    vote 1 for the first step of a shortest way to the nearest tavern; heroes, walls and mines block the way. A hero without the
    gold for a beer has no opinion if it owns no mine; otherwise it goes too, and waits for its gold beside the tavern (1 for
    Stay).
    """

    life_threshold: int = Field(30, ge=0, le=100, description="go to a tavern with at most this life")
    beer_push: float = Field(20, ge=0, le=1000, description="vote for drinking beside a tavern")
    beer_life: int = Field(50, ge=0, le=100, description="drink with at most this life")
    avoid_danger: bool = Field(False, description="keep off squares with a combat map (later version) below 0")
    every_step: bool = Field(False, description="vote for all first steps of equally short ways, not for one of them")

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
