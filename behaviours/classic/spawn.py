"""Spawn avoider: keep off the squares where enemies come back to life."""

from __future__ import annotations

from pydantic import Field

from behaviours.base import Behaviour, View, Votes
from sim.game import ABSENT, OFFSET


class SpawnAvoider(Behaviour):
    """Votes, by the square where we would then stand: -1 on the spawn square of an enemy, -`ratio` beside one.

    Who stands on the spawn square of a hero that dies is killed by his return and loses all mines to him.
    """

    ratio: float = Field(0.1, ge=0, le=1, description="vote against squares beside an enemy's spawn, relative to those on it")

    def vote(self, view: View) -> Votes:
        """-1 or -`ratio` for the directions that lead to such squares, or nothing."""
        homes = view.games["hero"]["spawn"][0].tolist()
        spawns = {homes[enemy] for enemy in view.enemies if homes[enemy] != ABSENT[enemy]}
        around = {spawn + int(offset) for spawn in spawns for offset in OFFSET[1:]}
        votes: dict[int, float] = {}
        for move in view.moves:
            square = view.landing(move)
            if square in spawns:
                votes[move] = -1.0
            elif square in around:
                votes[move] = -self.ratio
        return votes or None
