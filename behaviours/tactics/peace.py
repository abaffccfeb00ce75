"""Tavern peace: do not fight enemies that can drink."""

from __future__ import annotations

from pydantic import Field

from behaviours.base import Behaviour, View, Votes
from behaviours.common.duel import killed_by
from sim.game import BEER_COST, OFFSET, TAVERN, TILE_BITS, Game


class TavernPeace(Behaviour):
    """Vote -1 per enemy against moves after which we stand beside an enemy that can drink where it stands.

    Such an enemy is beside a tavern and has the gold for a beer. A beer heals more life than two of our blows take, while
    each blow of the enemy costs us 20 life. Moves that kill the enemy get no vote. If `strict` is false, a move after which
    we can drink too also gets no vote.
    """

    strict: bool = Field(False, description="whether squares where we can drink too also get a negative vote")

    def vote(self, view: View) -> Votes:
        """Return a negative vote for each move that ends beside an enemy that can drink, or None."""
        drinkers = {enemy for enemy in view.enemies if _can_drink(view, view.games, enemy)}
        votes: dict[int, float] = {}
        for move in view.moves if drinkers else ():
            near = drinkers.intersection(view.enemies_beside(view.landing(move))).difference(killed_by(view, move))
            if near and (self.strict or not _can_drink(view, view.after(move), view.me)):
                votes[move] = -float(len(near))
        return votes or None


def _can_drink(view: View, games: Game, hero: int) -> bool:
    """Return whether a hero (0..3) is beside a tavern and has the gold for a beer."""
    pos = int(games["hero"]["pos"].item(hero))
    beside = any(int(view.cells[pos + int(offset)]) & TILE_BITS == TAVERN for offset in OFFSET[1:])
    return beside and int(games["hero"]["gold"].item(hero)) >= BEER_COST
