"""Movement premium: prefer squares with room around them."""

from __future__ import annotations

from behaviours.base import Behaviour, View, Votes
from sim.game import AIR, OFFSET


class MovementPremium(Behaviour):
    """Votes, for each direction, the number (0..4) of empty squares beside the square where we would then stand.

    Empty is air with no hero on it, after the move. Meant for a small weight.
    """

    def vote(self, view: View) -> Votes:
        """Numbers of empty neighbours."""
        votes: dict[int, float] = {}
        for move in view.moves:
            square = view.landing(move)
            cells = view.after(move)["cell"][0]
            votes[move] = float(sum(int(cells[square + int(offset)]) == AIR for offset in OFFSET[1:]))
        return votes
