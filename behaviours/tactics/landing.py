"""Landing: die on purpose, and come back on top of whoever camps on our spawn square."""

from __future__ import annotations

import numpy as np
from pydantic import Field

from behaviours.base import Behaviour, View, Votes
from behaviours.common.targets import dies_on_mine, first_steps, foreign_mines
from sim.game import MINE_COST
from sim.paths import distances_from


class Landing(Behaviour):
    """Who comes back to life on a square where somebody stands takes all his mines, with full life into the bargain.

    With an enemy on our spawn square who has `mines` more mines than we have: votes 1 for a mine that kills us, if we really end
    with so many more. Else, if he has stood there for `camping` turns of ours, the nearest mine is at most `reach` moves away and
    we would come to it with 20 life or less: 0.5 for the first steps to it.
    """

    mines: int = Field(1, ge=1, le=100, description="how many mines it must bring")
    camping: int = Field(2, ge=0, le=8, description="how long he must have stood there before we walk to a mine")
    reach: int = Field(4, ge=1, le=100, description="walk to mines that are at most so many moves away")

    def vote(self, view: View) -> Votes:
        """Positive votes, or nothing."""
        heroes = view.games["hero"][0]
        spawn = int(heroes["spawn"][view.me])
        campers = [enemy for enemy in view.enemies if int(heroes["pos"][enemy]) == spawn]
        if not campers or int(heroes["mines"][campers[0]]) - view.mines < self.mines:
            return None
        deadly = [move for move in view.moves if dies_on_mine(view, move)]
        if deadly:
            gains = {move: int(view.after(move)["hero"]["mines"].item(view.me)) - view.mines for move in deadly}
            return {move: 1.0 for move, gain in gains.items() if gain >= self.mines} or None
        before = view.recent["hero"]["pos"][-self.camping :, campers[0]] if self.camping else np.zeros(0)
        mines = foreign_mines(view)
        if len(before) < self.camping or (before != spawn).any() or len(mines) == 0:
            return None
        away = int(distances_from(view.games, 0, mines)[view.pos])
        if away > self.reach or view.life - (away - 1) > MINE_COST:
            return None
        return dict.fromkeys(first_steps(view, mines), 0.5) or None
