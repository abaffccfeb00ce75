"""Mine finder: go to the nearest mine that is not ours."""

from __future__ import annotations

from pydantic import Field

from behaviours.base import Behaviour, View, Votes
from behaviours.common.targets import first_steps, foreign_mines, is_broke, one_of


class MineFinder(Behaviour):
    """With life above `life_threshold`: votes 1 for the first step of a shortest way to the nearest mine that is not ours.

    Heroes, walls, taverns and own mines block; taking a mine beside us is a step. Exactly at the threshold the tavern
    finder speaks alone. A hero who cannot have a beer any more goes mining with any life: the mine is his only way back,
    and if the goblin kills him he loses nothing and starts again with full life.
    """

    life_threshold: int = Field(30, ge=0, le=100, description="look for mines above this life")
    when_broke: bool = Field(True, description="look for mines with any life when there is neither gold nor a mine to lose")

    def vote(self, view: View) -> Votes:
        """1 for one direction, or nothing."""
        if view.life <= self.life_threshold and not (self.when_broke and is_broke(view)):
            return None
        steps = first_steps(view, foreign_mines(view))
        return one_of(view, steps, "mine-finder") if steps else None
