"""Random: the opponent of training games on the original server."""

from __future__ import annotations

from behaviours.base import Behaviour, View, Votes
from sim.game import EAST, NORTH, SOUTH, STAY, WEST

_MOVES = (NORTH, SOUTH, EAST, WEST)


class Random(Behaviour):
    """Vote 1 for North, South, East or West, all equally likely.

    If the direction has no effect (a wall, a hero, an own mine), vote 1 for Stay instead. The position after Stay is the same,
    and a bot never makes any other move without an effect.
    """

    def vote(self, view: View) -> Votes:
        """Return one direction, drawn at random from the game's seed and the turn."""
        move = _MOVES[int(view.rng("random").integers(4))]
        return move if move in view.moves else STAY
