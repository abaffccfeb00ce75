"""Leader: take from whoever is ahead rather than from the last."""

from __future__ import annotations

from pydantic import Field

from behaviours.base import Behaviour, View, Votes
from behaviours.common.combat_map import danger
from behaviours.common.projection import rival
from behaviours.common.targets import first_steps, tile_beside
from sim.game import MINE, MINE_COST, STAY, TILE_BITS
from sim.paths import FAR, distances_from


class Leader(Behaviour):
    """Votes for mines of the rival: the enemy who will have most gold if all mines stay as they are.

    A mine of his counts twice, what we earn by it he loses. Beside one: 1 for taking it. Else, if the nearest is at most
    `reach` moves away: 1 divided by their number for every first step of a shortest way that keeps off squares which the later
    combat map marks below 0. Nothing with less than `life` left after the taking.
    """

    reach: int = Field(6, ge=1, le=100, description="go for a mine of the rival that is at most so many moves away")
    life: int = Field(20, ge=0, le=99, description="life that must be left after taking it")

    def vote(self, view: View) -> Votes:
        """Positive votes, or nothing."""
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
