"""Random: the bot that the original server seats in training games."""

from __future__ import annotations

from behaviours.base import Behaviour, View, Votes
from sim.game import EAST, NORTH, SOUTH, STAY, WEST

_MOVES = (NORTH, SOUTH, EAST, WEST)


class Random(Behaviour):
    """Go anywhere: North, South, East or West, each as likely, without looking, and never Stay.

    An order that does nothing (a wall, a hero, an own mine) is voted on as Stay: that is what it comes to, and a
    direction without an effect is no candidate of the agent's.
    """

    def vote(self, view: View) -> Votes:
        """One direction, drawn from the game's seed and the turn."""
        move = _MOVES[int(view.rng("random").integers(4))]
        return move if move in view.moves else STAY
