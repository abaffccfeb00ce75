"""Landing: die on purpose, to respawn on top of an enemy that stays on our spawn square."""

from __future__ import annotations

import numpy as np
from pydantic import Field

from behaviours.base import Behaviour, View, Votes
from behaviours.common.targets import dies_on_mine, first_steps, foreign_mines
from sim.game import MINE_COST
from sim.paths import distances_from


class Landing(Behaviour):
    """Vote for a death by a mine while an enemy stands on our spawn square: we respawn with full life and get all its mines.

    The enemy must own at least `mines` more mines than we do.

    - Beside a mine that kills us: 1 for attacking it, if the death brings us at least `mines` more mines.
    - Elsewhere: 0.5 for the first steps to the nearest mine. The enemy must have stood on our spawn square on our last `camping`
      turns. The mine must be at most `reach` moves away. We must have at most 20 life when we reach it.
    """

    mines: int = Field(1, ge=1, le=100, description="least number of mines that the death brings us")
    camping: int = Field(
        2,
        ge=0,
        le=8,
        description="number of our turns for which the enemy must stand on our spawn square before we walk to a mine",
    )
    reach: int = Field(4, ge=1, le=100, description="largest number of moves to a mine that we walk to")

    def vote(self, view: View) -> Votes:
        """Return positive votes, or None."""
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
