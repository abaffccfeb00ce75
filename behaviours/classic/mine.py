"""Mine finder: go to the nearest foreign mine."""

from __future__ import annotations

from pydantic import Field

from behaviours.base import Behaviour, View, Votes
from behaviours.common.targets import first_steps, foreign_mines, is_broke, one_of


class MineFinder(Behaviour):
    """Vote 1 for the first step of a shortest way to the nearest foreign mine, if our life is above `life_threshold`.

    Heroes, walls, taverns and own mines block the way. If the mine is beside us, the first step is the move that takes it. If our
    life equals the threshold, this trait does not vote, but the tavern finder votes. By default the two thresholds are equal.
    With `when_broke`, a hero that has no mine and no gold for a beer goes for mines with any life. A mine is its only source of
    gold. A death costs it nothing and restores full life.
    """

    life_threshold: int = Field(30, ge=0, le=100, description="look for mines above this life")
    when_broke: bool = Field(True, description="look for mines with any life if we have no mine and no gold for a beer")

    def vote(self, view: View) -> Votes:
        """Return one direction, or None."""
        if view.life <= self.life_threshold and not (self.when_broke and is_broke(view)):
            return None
        steps = first_steps(view, foreign_mines(view))
        return one_of(view, steps, "mine-finder") if steps else None
