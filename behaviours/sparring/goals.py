"""Goal scorer: go to the goal with the largest value divided by the cost of the way. Dangerous squares cost more."""

from __future__ import annotations

import numpy as np
from numba import types
from numpy.typing import NDArray
from pydantic import Field

from behaviours.base import Behaviour, View, Votes
from behaviours.common.duel import wins, wins_exchange
from behaviours.common.targets import rival
from sim.game import AIR, BEER_COST, CELLS, GAMES, HERO_SHIFT, MAX_LIFE, MINE, MINE_COST, OFFSET, STAY, TILE_BITS, Games
from sim.kernel_types import FLOATS, INT64S, GameRecord, int64
from sim.kernels import entry, kernel
from sim.rules import is_present

_UNREACHED = 1e9


@kernel
def _dangers(game: GameRecord, me: int, fear: float, crowd: float) -> NDArray[np.float64]:
    """Return the additional cost of each square, float64[1024], summed over the enemies.

    A square beside an enemy costs `fear` if the enemy wins a duel and has not crashed, otherwise `crowd`. A square diagonally
    beside the enemy costs half of this. A square two squares away in a straight line costs a quarter.
    """
    costs = np.zeros(CELLS, np.float64)
    for enemy in range(4):
        if enemy == me or not is_present(game, enemy):
            continue
        loses = wins_exchange(int64(game.hero[enemy].life), int64(game.hero[me].life))
        price = fear if loses and not game.hero[enemy].crashed else crowd
        pos = int64(game.hero[enemy].pos)
        for first in range(5):
            for second in range(1, 5):
                square = pos + OFFSET[first] + OFFSET[second]
                if square != pos and 0 <= square < CELLS:
                    costs[square] += price if first == STAY else price / 4
    return costs


@entry(FLOATS(GAMES, types.int64, types.int64, INT64S, types.float64, types.float64))
def _way_costs(games: Games, index: int, me: int, goals: NDArray[np.int64], fear: float, crowd: float) -> NDArray[np.float64]:
    """Return float64[2 x goals]: the costs of the cheapest ways to all goals, then the first moves (1..4) of these ways."""
    game: GameRecord = games[index]
    costs = _dangers(game, me, fear, crowd)
    ways, first = np.full(CELLS, _UNREACHED), np.zeros(CELLS, np.int64)
    queue, queued = np.empty(CELLS, np.int64), np.zeros(CELLS, np.uint8)
    pos = int64(game.hero[me].pos)
    ways[pos], queue[0], queued[pos] = 0.0, pos, 1
    head, count = 0, 1
    while count:
        place = queue[head]
        head, count = (head + 1) % CELLS, count - 1
        queued[place] = 0
        for direction in range(1, 5):
            square = place + OFFSET[direction]
            cell = int64(game.cell[square])
            open_square = (cell & TILE_BITS) == AIR and cell >> HERO_SHIFT == 0
            cost = ways[place] + 1.0 + (costs[square] if open_square else 0.0)
            if cost < ways[square]:
                ways[square] = cost
                first[square] = direction if place == pos else first[place]
                if open_square and not queued[square]:
                    queue[(head + count) % CELLS] = square
                    queued[square] = 1
                    count += 1
    results = np.empty(2 * len(goals), np.float64)
    for number in range(len(goals)):
        results[number], results[len(goals) + number] = ways[goals[number]], first[goals[number]]
    return results


class GoalScorer(Behaviour):
    """Vote for each move the score of the best goal that begins with this move, divided by the best score of all goals.

    The score of a goal is its value divided by the cost of the way to the goal. A step costs 1. A step beside an enemy that wins
    a duel costs `fear` more. A mine is worth the income that it brings in `season` rounds. If the mine belongs to the enemy with
    the most projected gold, its worth is multiplied by 1 + `leader`. A tavern is worth `thirst` times the life that a beer heals,
    and more if we have less life. An enemy that loses a duel is worth `prey` times the income of its mines. A mine that would
    leave less than `reserve` life is no goal.
    """

    fear: float = Field(6, ge=0, le=100, description="cost of a step beside an enemy that wins; larger makes wider detours")
    crowd: float = Field(1, ge=0, le=100, description="cost of a step beside any other enemy")
    season: int = Field(60, ge=1, le=600, description="number of rounds for which a mine counts")
    leader: float = Field(0.5, ge=0, le=5, description="additional share of the value of a mine of the richest enemy")
    thirst: float = Field(2.0, ge=0, le=100, description="value of a point of life that a beer heals, in gold")
    prey: float = Field(0.3, ge=0, le=5, description="share of the value of the mines of an enemy that loses a duel")
    reserve: int = Field(5, ge=0, le=79, description="life that must be left after taking a mine")

    def vote(self, view: View) -> Votes:
        """Return votes from 0 to 1, or None without a goal."""
        if view.moves_left < 1:
            return None
        goals, values = self._goals(view)
        if len(goals) == 0:
            return None
        costs, firsts = _way_costs(view.games, 0, view.me, goals, self.fear, self.crowd).reshape(2, -1)
        is_mine = view.cells[goals] & TILE_BITS >= MINE
        weak = is_mine & (view.life - view.map.distances[view.pos, goals] - MINE_COST < self.reserve)
        scores = np.where((costs < _UNREACHED) & ~weak, values / np.maximum(costs, 1.0), 0.0)
        best = float(scores.max())
        if best <= 0:
            return None
        votes: dict[int, float] = {}
        for move, score in zip(firsts.astype(int).tolist(), scores.tolist(), strict=True):
            effective = move if move in view.moves else STAY
            if score > 0:
                votes[effective] = max(votes.get(effective, 0.0), score / best)
        return votes

    def _goals(self, view: View) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        """Return the squares of all goals and their values in gold."""
        heroes, mines, taverns = view.games["hero"][0], view.map.mines, view.map.taverns
        income = float(min(self.season, view.moves_left))
        owners = view.cells[mines] & TILE_BITS
        first = rival(view)
        of_mines = np.where(owners == MINE + 1 + view.me, 0.0, income)
        if first is not None:
            of_mines[owners == MINE + 1 + first] *= 1 + self.leader
        healed = min(MAX_LIFE - view.life, 50)
        beer = self.thirst * healed * (MAX_LIFE / max(view.life, 10) - 1) if view.gold + view.mines >= BEER_COST else 0.0
        prey = [enemy for enemy in view.enemies if wins(view.life, int(heroes["life"][enemy]))]
        squares = [int(heroes["pos"][enemy]) for enemy in prey]
        of_prey = [self.prey * income * int(heroes["mines"][enemy]) for enemy in prey]
        goals = np.concatenate([mines, taverns, np.array(squares, np.int64)]).astype(np.int64)
        return goals, np.concatenate([of_mines, np.full(len(taverns), beer), np.array(of_prey, np.float64)])
