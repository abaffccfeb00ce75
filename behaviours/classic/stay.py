"""Stay: never move."""

from __future__ import annotations

from behaviours.base import Behaviour, View, Votes
from sim.game import STAY


class Stay(Behaviour):
    """Vote 1 for Stay, always. By the rules, the hero still strikes enemies beside it."""

    def vote(self, view: View) -> Votes:
        """Return Stay."""
        return STAY
