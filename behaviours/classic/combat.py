"""Combat: keep the right distance, seek fights that are won. `behaviours.common.combat_map` has the map that it votes by."""

from __future__ import annotations

import numpy as np
from pydantic import Field

from behaviours.base import Behaviour, View, Votes
from behaviours.common.combat_map import shared_combat_map


class Combat(Behaviour):
    """Votes, for each direction that does something, the combat map's value at the square where we would then stand.

    Without a mine to lose, negative values are dropped. See `combat_map` for the two versions of the map.
    """

    duel: bool = Field(False, description="judge fights by playing the exchange out (later version of the combat map)")
    keep_mines: bool = Field(False, description="never vote on directions after which we own fewer mines than before")

    def vote(self, view: View) -> Votes:
        """The values of the squares where the directions lead, those without a value left out."""
        values = shared_combat_map(view, self.duel)
        mines = view.mines
        votes: dict[int, float] = {}
        for move in view.moves:
            value = float(values[view.landing(move)])
            if np.isnan(value) or (mines == 0 and value < 0):
                continue
            if self.keep_mines and int(view.after(move)["hero"]["mines"].item(view.me)) < mines:
                continue
            votes[move] = value
        return votes or None
