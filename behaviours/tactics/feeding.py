"""Feeding: do not kill an enemy whose respawn, with full life, would cost us mines."""

from __future__ import annotations

from pydantic import Field

from behaviours.base import Behaviour, View, Votes
from behaviours.common.duel import duel, killed_by
from behaviours.common.targets import dies_on_mine
from sim.game import BLOW, HERO_SHIFT, MINE, OFFSET, TILE_BITS


class Feeding(Behaviour):
    """Vote against moves after which the respawn of another hero may cost us mines. A dead hero respawns with full life.

    - -1 for a move after which another hero respawns on our square: we die, and this other hero gets all our mines.
    - -`beside` for a kill after which the enemy respawns one or two squares away from us and wins a duel against us.
    - -`exposed` for a move onto the spawn square of an enemy that may die soon. Such an enemy has at most `low` life, and stands
      beside another hero or beside a mine that it does not own.

    The trait votes only if we own mines. The last two votes are multiplied by the share of all mines that we own after the move.
    """

    beside: float = Field(0.5, ge=0, le=100, description="vote against a kill after which a stronger enemy respawns near us")
    exposed: float = Field(1.0, ge=0, le=100, description="vote against the spawn square of an enemy that may die soon")
    low: int = Field(BLOW, ge=0, le=100, description="largest life of an enemy that may die soon")

    def vote(self, view: View) -> Votes:
        """Return negative votes, or None."""
        if view.mines == 0:
            return None
        votes: dict[int, float] = {}
        doomed = {int(view.games["hero"]["spawn"].item(enemy)) for enemy in view.enemies if self._may_die(view, enemy)}
        for move in view.moves:
            dead, after = killed_by(view, move), view.after(move)
            share = int(after["hero"]["mines"].item(view.me)) / max(1, len(view.map.mines))
            displaced = view.me in dead and not dies_on_mine(view, move)
            against = 1.0 if displaced else 0.0
            against += self.beside * share * sum(duel(after, enemy, view.me) > 0 for enemy in dead if enemy != view.me)
            if view.landing(move) in doomed:
                against += self.exposed * share
            if against:
                votes[move] = -against
        return votes or None

    def _may_die(self, view: View, enemy: int) -> bool:
        """Return whether an enemy has at most `low` life and stands beside another hero or beside a mine that it does not own."""
        heroes = view.games["hero"][0]
        if int(heroes["life"][enemy]) > self.low:
            return False
        around = [int(view.cells[int(heroes["pos"][enemy]) + int(offset)]) for offset in OFFSET[1:]]
        mines = [cell & TILE_BITS for cell in around if cell & TILE_BITS >= MINE]
        return any(cell >> HERO_SHIFT for cell in around) or any(mine != MINE + 1 + enemy for mine in mines)
