"""Leader: take the mines of the best enemy."""

from __future__ import annotations

from pydantic import Field

from behaviours.base import Behaviour, View, Votes
from behaviours.common.combat_map import danger
from behaviours.common.projection import rival
from behaviours.common.targets import first_steps, tile_beside
from sim.game import MINE, MINE_COST, STAY, TILE_BITS
from sim.paths import FAR, distances_from


class Leader(Behaviour):
    """Vote for mines of the rival: the enemy with the most projected gold.

    Such a mine is worth more than other mines, because the rival loses the income that we gain.

    - Beside a mine of the rival: 1 for taking it.
    - Elsewhere: 1 / n for each first step of a shortest way to the rival's nearest mine. Here n is the number of moves to this
      mine, at most `reach`. The way avoids squares with a negative value in `behaviours.common.combat_map` with `duel`.

    The trait does not vote if less than `life` life would be left after taking the mine.
    """

    reach: int = Field(6, ge=1, le=100, description="largest number of moves to a mine of the rival")
    life: int = Field(20, ge=0, le=99, description="least life that must be left after taking the mine")

    def vote(self, view: View) -> Votes:
        """Return positive votes, or None."""
        first = rival(view)
        if first is None or view.life - MINE_COST - 1 < self.life:
            return None
        beside = [move for move in view.moves if move != STAY and tile_beside(view, move) == MINE + 1 + first]
        if beside:
            return dict.fromkeys(beside, 1.0)
        mines = view.map.mines[view.cells[view.map.mines] & TILE_BITS == MINE + 1 + first]
        if len(mines) == 0:
            return None
        away = int(distances_from(view.games, 0, mines, danger(view))[view.pos])
        if away > self.reach or away >= FAR or view.life - away - MINE_COST < self.life:
            return None
        return dict.fromkeys(first_steps(view, mines, danger(view)), 1.0 / away) or None
