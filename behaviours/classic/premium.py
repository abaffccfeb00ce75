"""Movement premium: prefer squares with free squares around them."""

from __future__ import annotations

from behaviours.base import Behaviour, View, Votes
from sim.game import AIR, OFFSET


class MovementPremium(Behaviour):
    """Vote the number (0..4) of empty squares beside the square that a move leads to.

    An empty square is air without a hero, after the move. Use a small weight.
    """

    def vote(self, view: View) -> Votes:
        """Return the number of empty neighbours per move."""
        votes: dict[int, float] = {}
        for move in view.moves:
            square = view.landing(move)
            cells = view.after(move)["cell"][0]
            votes[move] = float(sum(int(cells[square + int(offset)]) == AIR for offset in OFFSET[1:]))
        return votes
