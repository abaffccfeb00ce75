"""Stall: wait beside a tavern, to keep an enemy busy or to keep a lead."""

from __future__ import annotations

from pydantic import Field

from behaviours.base import Behaviour, View, Votes
from behaviours.common.targets import first_steps, lead, taverns_beside
from sim.game import MAX_LIFE, STAY


class Stall(Behaviour):
    """Vote 1 for waiting beside a tavern: with an enemy near, or with a lead.

    If an enemy and a tavern are both within `near` moves, the hero goes to the tavern and stays there. With a projected lead of
    at least `lead` gold, the hero goes to the nearest tavern from any distance. Beside the tavern it drinks if it has at most
    `drink` life, or at most 80 life with an enemy within `near` moves.
    """

    near: int = Field(3, ge=1, le=20, description="largest distance of an enemy and of a tavern, in moves")
    lead: int = Field(150, ge=0, le=100_000, description="projected lead in gold with which the hero goes to a tavern and stays")
    drink: int = Field(50, ge=0, le=99, description="largest life with which the hero drinks without an enemy near")

    def vote(self, view: View) -> Votes:
        """Return 1 for each move that goes to the tavern, drinks or waits, or None."""
        places = view.games["hero"]["pos"][0].tolist()
        ways, taverns = view.map.distances, view.map.taverns
        if len(taverns) == 0:
            return None
        close = any(int(ways[view.pos, places[enemy]]) <= self.near for enemy in view.enemies)
        ahead = lead(view) >= self.lead
        tavern = int(ways[taverns, view.pos].min())
        if not ahead and not (close and tavern <= self.near):
            return None
        beside = taverns_beside(view)
        beers = [move for move in beside if move in view.moves]
        if beers and view.life <= (MAX_LIFE - 20 if close else self.drink):
            return dict.fromkeys(beers, 1.0)
        if beside:
            return STAY
        return dict.fromkeys(first_steps(view, taverns), 1.0) or None
