"""Dodge: keep away from stronger enemies."""

from __future__ import annotations

from pydantic import Field

from behaviours.base import Behaviour, View, Votes
from behaviours.common.duel import wins
from sim.game import BEER_COST


class Dodge(Behaviour):
    """Vote against squares near enemies that win a duel if they strike first: -1 / distance per enemy, lower in a dead end.

    Only enemies at most `reach` moves from the square count. If the square is beside a tavern and we have the gold for a beer,
    the vote is halved.
    """

    reach: int = Field(4, ge=1, le=20, description="largest distance of an enemy that counts, in moves")
    dead_end: float = Field(0.3, ge=0, le=5, description="vote against a square in a dead end with such an enemy near")

    def vote(self, view: View) -> Votes:
        """Return negative votes, or None."""
        heroes = view.games["hero"][0]
        votes: dict[int, float] = {}
        for move in view.moves:
            square = view.landing(move)
            life = int(view.after(move)["hero"]["life"].item(view.me))
            worth = 0.0
            for enemy in view.enemies:
                away = max(1, int(view.map.distances[square, int(heroes["pos"][enemy])]))
                if away <= self.reach and not heroes["crashed"][enemy] and wins(int(heroes["life"][enemy]), life):
                    worth -= 1.0 / away + (self.dead_end if view.map.dead_end[square] else 0.0)
            if worth and view.gold >= BEER_COST and int(view.map.distances[view.map.taverns, square].min(initial=9)) == 1:
                worth /= 2
            if worth:
                votes[move] = worth
        return votes or None
