"""Combat: keep the right distance to enemies, and seek fights that we win. The votes come from `behaviours.common.combat_map`."""

from __future__ import annotations

import numpy as np
from pydantic import Field

from behaviours.base import Behaviour, View, Votes
from behaviours.common.combat_map import shared_combat_map


class Combat(Behaviour):
    """Vote the combat map's value of the square that a move leads to.

    Negative values count only if we own a mine. The combat map has the values of the squares near enemies
    (`behaviours.common.combat_map`).
    """

    duel: bool = Field(False, description="judge fights by simulating the exchange of blows; false: by comparing lives")
    keep_mines: bool = Field(False, description="give no vote to moves after which we own fewer mines than before")

    def vote(self, view: View) -> Votes:
        """Return, for each move, the value of the square that it leads to. Moves to squares without a value are left out."""
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
