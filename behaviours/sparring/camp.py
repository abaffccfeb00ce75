"""Camp: stay beside a tavern, strike passers-by, and take the mines around it."""

from __future__ import annotations

import numpy as np
from pydantic import Field

from behaviours.base import Behaviour, View, Votes
from behaviours.common.targets import first_steps, foreign_mines, is_broke, taverns_beside
from sim.game import MAX_LIFE, MINE_COST, STAY


class Camp(Behaviour):
    """Vote 1 for moves that keep our hero near one tavern, its camp.

    The camp is the tavern with the largest value of m - d / 2. Here m is the number of mines within `leash` moves of the tavern,
    and d is its distance from us. Beside a tavern, the hero drinks if it has at most `drink` life. If it is beside a tavern and
    an enemy is within `guard` moves, it drinks with at most 80 life, and stays with more. In all other cases it takes foreign
    mines within `leash` moves of the camp, if it has enough life. If there is no such mine, it goes back to the camp.
    """

    leash: int = Field(6, ge=1, le=99, description="largest distance between the camp and a mine that the hero takes, in moves")
    guard: int = Field(3, ge=0, le=20, description="distance of an enemy at which the hero stays at the camp, in moves")
    drink: int = Field(50, ge=0, le=99, description="largest life with which the hero drinks beside a tavern")

    def vote(self, view: View) -> Votes:
        """Return 1 for each of the best moves, all equally good, or None without a tavern in reach."""
        taverns, mines = view.map.taverns, foreign_mines(view)
        if len(taverns) == 0:
            return None
        ways = view.map.distances
        near = (ways[taverns][:, view.map.mines] <= self.leash).sum(axis=1)
        camp = int(taverns[np.argmax(near - ways[taverns, view.pos] / 2)])
        places = view.games["hero"]["pos"][0].tolist()
        close = any(int(ways[view.pos, places[enemy]]) <= self.guard for enemy in view.enemies)
        beside = taverns_beside(view)
        if beside:
            beers = [move for move in beside if move in view.moves]
            if beers and view.life <= (MAX_LIFE - 20 if close else self.drink):
                return dict.fromkeys(beers, 1.0)
            if close:
                return STAY
        mines = mines[ways[camp][mines] <= self.leash]
        if len(mines) and (view.life - int(ways[view.pos][mines].min()) > MINE_COST or is_broke(view)):
            steps = first_steps(view, mines)
            if steps:
                return dict.fromkeys(steps, 1.0)
        return STAY if beside else dict.fromkeys(first_steps(view, [camp]), 1.0) or None
