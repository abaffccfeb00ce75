"""Hunter: kill enemies that cannot get away."""

from __future__ import annotations

import numpy as np
from pydantic import Field

from behaviours.base import Behaviour, View, Votes
from behaviours.common.duel import duel, killed_by, struck
from behaviours.common.targets import directions_in
from sim.game import BEER_COST, BLOW
from sim.paths import FAR, distances_from, next_steps


class Hunter(Behaviour):
    """Vote for moves that kill an enemy, strike a prey, or come nearer to a prey. A prey with more mines gets a larger vote.

    A *prey* is an enemy with these properties:

    - It owns at least `mines` mines. We can strike it within `reach` moves and kill it with at most `blows` blows. The life that
      it loses to thirst until then is counted.
    - It cannot drink before the last blow, for one of two reasons. Either it has too little gold for a beer, and its mines do not
      earn the rest in time. Or it needs at least as many moves to drink at a tavern as we need until the last blow.
    - We do not lose the duel if the enemy fights back after our move.
    - If we need more than one move until the first blow, the enemy was farther away on our last turn. The reason is that we
      cannot catch an enemy that runs away, because it is as fast as we are.

    The vote is the prey's share of all mines for a move that kills or strikes it. For a step towards it, the vote is this share
    divided by the number of moves until the first blow.
    """

    reach: int = Field(3, ge=1, le=20, description="largest number of moves until the first blow")
    blows: int = Field(2, ge=1, le=5, description="largest number of blows until the kill")
    mines: int = Field(2, ge=0, le=100, description="least number of mines that a prey owns")

    def vote(self, view: View) -> Votes:
        """Return positive votes, or None."""
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
        """Return votes for hunting one enemy ({} if it is no prey): 1 for a move that strikes it now, less for a step."""
        heroes = view.games["hero"][0]
        there, life = int(heroes["pos"][enemy]), int(heroes["life"][enemy])
        from_enemy = view.shared(("from enemy", enemy), lambda: distances_from(view.games, 0, np.array([there])))
        away = int(from_enemy[view.pos])
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
        steps = set(directions_in(next_steps(view.games, 0, view.me, from_enemy)))
        votes: dict[int, float] = {}
        for move in view.moves:
            wins = enemy in killed_by(view, move) or duel(view.after(move), enemy, view.me) <= 0
            if enemy in struck(view, move):
                if wins:
                    votes[move] = 1.0
            elif move in steps and wins:
                votes[move] = 1.0 / walk
        return votes

    def _closing_in(self, view: View, enemy: int, away: int) -> bool:
        """Return whether an enemy was farther away on our last turn than now."""
        if len(view.recent) == 0:
            return False
        there = int(view.recent["hero"]["pos"][-1, enemy])
        before = distances_from(view.recent, len(view.recent) - 1, np.array([there]))
        return int(before[view.recent["hero"]["pos"][-1, view.me]]) > away
