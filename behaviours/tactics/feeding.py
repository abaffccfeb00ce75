"""Feeding: do not bring a fresh enemy down upon ourselves."""

from __future__ import annotations

from pydantic import Field

from behaviours.base import Behaviour, View, Votes
from behaviours.common.duel import duel, killed_by
from behaviours.common.targets import dies_on_mine
from sim.game import BLOW, HERO_SHIFT, MINE, OFFSET, TILE_BITS


class Feeding(Behaviour):
    """Votes against deaths of others that cost us our mines. Whoever dies comes back at once with full life.

    - -1 for a move by which we die ourselves of another's death: we stand on his spawn square, and he takes all our mines.
    - -`beside` for a kill that brings him back where he wins a duel against us, one or two squares away.
    - -`exposed` for ending on the spawn square of an enemy who may die soon: with `low` life or less, and somebody else or a
      mine beside him.

    All only with mines to lose, the last two times the share of all mines that we then have.
    """

    beside: float = Field(0.5, ge=0, le=100, description="vote against a kill that brings a stronger enemy beside us")
    exposed: float = Field(1.0, ge=0, le=100, description="vote against the spawn square of an enemy who may die soon")
    low: int = Field(BLOW, ge=0, le=100, description="life at which an enemy may die soon")

    def vote(self, view: View) -> Votes:
        """Negative votes, or nothing."""
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
        """Whether an enemy has little life, and there is somebody or something that could take it."""
        heroes = view.games["hero"][0]
        if int(heroes["life"][enemy]) > self.low:
            return False
        around = [int(view.cells[int(heroes["pos"][enemy]) + int(offset)]) for offset in OFFSET[1:]]
        mines = [cell & TILE_BITS for cell in around if cell & TILE_BITS >= MINE]
        return any(cell >> HERO_SHIFT for cell in around) or any(mine != MINE + 1 + enemy for mine in mines)
