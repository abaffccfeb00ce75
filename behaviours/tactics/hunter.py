"""Hunter: finish those who can be killed and cannot get away."""

from __future__ import annotations

import numpy as np
from pydantic import Field

from behaviours.base import Behaviour, View, Votes
from behaviours.common.duel import duel, killed_by, struck
from behaviours.common.targets import directions_in
from sim.game import BEER_COST, BLOW
from sim.paths import FAR, distances_from, next_steps


class Hunter(Behaviour):
    """Votes for moves that kill an enemy, strike one who is lost, or come nearer to one; more for those with many mines.

    A *prey* has at least `mines` mines, is at most `reach` moves from being struck and needs at most `blows` blows, the life he
    loses by walking counted. He must not be able to drink before the last one: his way to a tavern is longer than ours to him
    and the blows together, or he has no gold and no mine to pay with. We must not lose if he turns and fights, after each move
    that is voted for. Who runs away is as quick as we are: farther than one step is hunted only who was farther away on our
    last turn.

    Votes: the prey's share of all mines, for the killing blow and for one that strikes him; for a step towards him that, divided
    by the moves until the first blow.
    """

    reach: int = Field(3, ge=1, le=20, description="hunt enemies that can be struck within so many moves")
    blows: int = Field(2, ge=1, le=5, description="hunt enemies that so many blows kill")
    mines: int = Field(2, ge=0, le=100, description="hunt enemies with so many mines or more")

    def vote(self, view: View) -> Votes:
        """Positive votes, or nothing."""
        votes: dict[int, float] = {}
        heroes = view.games["hero"][0]
        for enemy in view.enemies:
            if int(heroes["mines"][enemy]) < self.mines:
                continue
            share = max(1, int(heroes["mines"][enemy])) / max(1, len(view.map.mines))
            for move, urgency in self._hunt(view, enemy).items():
                votes[move] = votes.get(move, 0.0) + share * urgency
        return votes or None

    def _hunt(self, view: View, enemy: int) -> dict[int, float]:
        """The moves that hunt one enemy, 1 for those that strike him now."""
        heroes = view.games["hero"][0]
        there, life = int(heroes["pos"][enemy]), int(heroes["life"][enemy])
        from_him = view.shared(("from enemy", enemy), lambda: distances_from(view.games, 0, np.array([there])))
        away = int(from_him[view.pos])
        if away >= FAR or away > self.reach + 1:
            return {}
        walk = max(1, away - 1)
        if walk > 1 and not self._closing_in(view, enemy, away):
            return {}
        blows = -(-max(1, life - (walk - 1)) // BLOW)
        if blows > self.blows:
            return {}
        moves = walk + blows - 1
        taverns = view.shared("to taverns", lambda: distances_from(view.games, 0, view.map.taverns, through_heroes=True))
        solvent = int(heroes["gold"][enemy]) + int(heroes["mines"][enemy]) * max(0, moves - 2) >= BEER_COST
        if solvent and int(taverns[there]) <= moves - 1:
            return {}
        steps = set(directions_in(next_steps(view.games, 0, view.me, from_him)))
        found: dict[int, float] = {}
        for move in view.moves:
            wins = enemy in killed_by(view, move) or duel(view.after(move), enemy, view.me) <= 0
            if enemy in struck(view, move):
                if wins:
                    found[move] = 1.0
            elif move in steps and wins:
                found[move] = 1.0 / walk
        return found

    def _closing_in(self, view: View, enemy: int, away: int) -> bool:
        """Whether an enemy was farther away on our last turn than now."""
        if len(view.recent) == 0:
            return False
        there = int(view.recent["hero"]["pos"][-1, enemy])
        before = int(
            distances_from(view.recent, len(view.recent) - 1, np.array([there]))[view.recent["hero"]["pos"][-1, view.me]]
        )
        return before > away
