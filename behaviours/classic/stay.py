"""Stay: never move."""

from __future__ import annotations

from behaviours.base import Behaviour, View, Votes
from sim.game import STAY


class Stay(Behaviour):
    """Stay where we are: votes 1 for Stay, always. Neighbours are struck all the same, as the rules have it."""

    def vote(self, view: View) -> Votes:
        """The direction Stay."""
        return STAY
