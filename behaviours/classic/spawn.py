"""Spawn avoider: keep off the spawn squares of enemies."""

from __future__ import annotations

from pydantic import Field

from behaviours.base import Behaviour, View, Votes
from sim.game import ABSENT, OFFSET


class SpawnAvoider(Behaviour):
    """Vote -1 against moves onto the spawn square of an enemy, and -`ratio` against moves onto a square beside it.

    A hero that respawns kills the hero that stands on its spawn square, and gets all mines of the killed hero.
    """

    ratio: float = Field(
        0.1, ge=0, le=1, description="vote against a square beside an enemy's spawn; the vote against the spawn itself is 1"
    )

    def vote(self, view: View) -> Votes:
        """Return -1 or -`ratio` for the moves that lead to or beside an enemy's spawn square, or None."""
        spawn_of = view.games["hero"]["spawn"][0].tolist()
        spawns = {spawn_of[enemy] for enemy in view.enemies if spawn_of[enemy] != ABSENT[enemy]}
        around = {spawn + int(offset) for spawn in spawns for offset in OFFSET[1:]}
        votes: dict[int, float] = {}
        for move in view.moves:
            square = view.landing(move)
            if square in spawns:
                votes[move] = -1.0
            elif square in around:
                votes[move] = -self.ratio
        return votes or None
