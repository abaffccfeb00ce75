"""Tavern peace: leave those who can drink alone."""

from __future__ import annotations

from pydantic import Field

from behaviours.base import Behaviour, View, Votes
from behaviours.common.duel import killed_by
from sim.game import BEER_COST, OFFSET, TAVERN, TILE_BITS, Game


class TavernPeace(Behaviour):
    """Votes -1, per enemy, on moves after which we stand beside one who can drink where he stands.

    He stands beside a tavern and has the gold for a beer: each heals more than two of our blows cost him, while each of his
    costs us. Not against a move that kills him, and not where we stand beside a tavern with gold ourselves, unless `strict`.
    """

    strict: bool = Field(False, description="keep away even where we could drink as well")

    def vote(self, view: View) -> Votes:
        """-1 or less for such moves, or nothing."""
        drinkers = {enemy for enemy in view.enemies if _can_drink(view, view.games, enemy)}
        votes: dict[int, float] = {}
        for move in view.moves if drinkers else ():
            near = drinkers.intersection(view.enemies_beside(view.landing(move))).difference(killed_by(view, move))
            if near and (self.strict or not _can_drink(view, view.after(move), view.me)):
                votes[move] = -float(len(near))
        return votes or None


def _can_drink(view: View, games: Game, hero: int) -> bool:
    """Whether a hero stands beside a tavern and can pay for a beer."""
    pos = int(games["hero"]["pos"].item(hero))
    beside = any(int(view.cells[pos + int(offset)]) & TILE_BITS == TAVERN for offset in OFFSET[1:])
    return beside and int(games["hero"]["gold"].item(hero)) >= BEER_COST
