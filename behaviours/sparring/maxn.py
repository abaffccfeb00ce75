"""Max-n: a search in which the heroes choose goals one after another. Each hero expects every other hero to choose the goal that
is best for that hero.

The tree has one level per hero, ours first, and one branch per goal: near foreign mines, a tavern, the enemies, or waiting. A
leaf is a playout: all heroes go for their goals, and then follow the cheap policy (`behaviours.common.policy`). At each level the
hero of this level takes the branch that has the largest value for it (Luckhardt and Irani 1986).
"""

from __future__ import annotations

import numpy as np
from numba import types
from numpy.typing import NDArray
from pydantic import Field

from behaviours.base import Behaviour, View, Votes
from behaviours.common.evaluation import WEIGHT_ARRAY, Weights, WeightsRecord, compiled_weights, net_worth
from behaviours.common.map_tables import AWAY, LISTED, MAP_TABLES_ARRAY, NO_MINE, MapRecord, map_tables_of
from behaviours.common.policy import cheap_move
from sim.game import AIR, BEER_COST, BLOW, CELLS, GAMES, HERO_SHIFT, MAX_LIFE, MINE, MINE_COST, OFFSET, RUNNING, STAY, Games
from sim.kernel_types import FLOATS, GameRecord, int64, uintp
from sim.kernels import entry, kernel
from sim.rules import is_present, play, tile_at

#: Codes of goals: a code below 128 is the index of a mine. The other codes stand for a tavern, an enemy (`_HERO` + 0..3), or
#: waiting for some moves.
_TAVERN, _HERO, _WAIT = 128, 130, 140
#: Number of own moves for which a hero follows an enemy or waits.
_CHASE, _PAUSE = 8, 3
#: Largest number of goals of our hero.
MAX_OWN_GOALS = 10


@kernel
def _list_goals(game: GameRecord, tables: MapRecord, hero: int, mines: int, all_enemies: bool, goals: NDArray[np.int64]) -> int:
    """Write the goals of a hero, and return their number: at most `mines` mines, a tavern, one enemy or all, and waiting."""
    pos, count = int64(game.hero[hero].pos), 0
    for slot in range(LISTED):
        mine = int64(tables.nearest[uintp(pos * LISTED + slot)])
        if mine == NO_MINE or count == mines:
            break
        if tile_at(game, int64(tables.mine[uintp(mine)])) != MINE + 1 + hero:
            goals[count] = mine
            count += 1
    if tables.to_tavern[uintp(pos)] != AWAY and game.hero[hero].life < MAX_LIFE:
        goals[count] = _TAVERN
        count += 1
    nearest, least = -1, int64(AWAY)
    for step in range(1, 4):
        enemy = (hero + step) & 3
        away = int64(tables.to_square[uintp(pos * CELLS + int64(game.hero[enemy].pos))])
        if not is_present(game, enemy) or away >= AWAY:
            continue
        if all_enemies:
            goals[count] = _HERO + enemy
            count += 1
        elif away < least:
            nearest, least = enemy, away
    if nearest >= 0 and least <= 6:
        goals[count] = _HERO + nearest
        count += 1
    if all_enemies or count == 0:
        goals[count] = _WAIT
        count += 1
    return count


@kernel
def _goal_move(game: GameRecord, tables: MapRecord, hero: int, goal: int, spent: int) -> int:
    """Return the move of a hero on the way to its goal; -1 if the goal is reached or given up."""
    own = game.hero[hero]
    pos, life = int64(own.pos), int64(own.life)
    pays, tavern = own.gold >= BEER_COST, int64(tables.to_tavern[uintp(pos)])
    strongest = int64(0)
    for direction in range(1, 5):
        there = int64(game.cell[uintp(pos + OFFSET[direction])]) >> HERO_SHIFT
        if there:
            other = int64(game.hero[uintp(there - 1)].life)
            if other <= BLOW:
                return STAY
            strongest = max(strongest, other)
    if pays and tavern == 1 and (life <= 60 or (strongest and life <= 80)):
        return int64(tables.tavern_step[uintp(pos)])
    if goal == _WAIT:
        return STAY if spent < _PAUSE else -1
    if goal >= _HERO:
        return -1 if spent >= _CHASE else _step_to(game, tables, pos, int64(game.hero[goal - _HERO].pos))
    if goal == _TAVERN:
        done = life > MAX_LIFE - BLOW or (tavern == 1 and not pays)
        return -1 if done else int64(tables.tavern_step[uintp(pos)])
    if tile_at(game, int64(tables.mine[uintp(goal)])) == MINE + 1 + hero or life <= MINE_COST:
        return -1
    return int64(tables.mine_step[uintp(goal * CELLS + pos)])


@kernel
def _step_to(game: GameRecord, tables: MapRecord, pos: int, there: int) -> int:
    """Return the direction of the step that leads nearest to the square `there`, or `STAY` if `pos` is beside this square."""
    best, choice = int64(tables.to_square[uintp(pos * CELLS + there)]), int64(STAY)
    if best <= 1:
        return STAY
    for direction in range(1, 5):
        square = pos + OFFSET[direction]
        away = int64(tables.to_square[uintp(square * CELLS + there)])
        if int64(game.cell[uintp(square)]) == AIR and away < best:
            best, choice = away, int64(direction)
    return choice


@kernel
def _play_out(
    game: GameRecord,
    tables: MapRecord,
    weights: WeightsRecord,
    goals: NDArray[np.int64],
    spent: NDArray[np.int64],
    plies: int,
    values: NDArray[np.float64],
) -> int:
    """Play on in `game` with a goal per hero (-1: no goal), and return the first move. Write mean net worths into `values`."""
    values[:] = 0.0
    spent[:] = 0
    first, samples = int64(-1), 0
    for ply in range(plies):
        if game.status != RUNNING:
            break
        hero = int64(game.turn) & 3
        move = int64(-1)
        if goals[hero] >= 0 and not game.hero[hero].crashed:
            move = _goal_move(game, tables, hero, goals[hero], spent[hero])
            spent[hero] += 1
            if move < 0:
                goals[hero] = -1
        if move < 0:
            move = cheap_move(game, tables, hero)
        if first < 0:
            first = move
        play(game, move, None)
        if ply & 3 == 3:
            samples += 1
            for each in range(4):
                values[each] += net_worth(game, weights, each)
    for each in range(4):
        values[each] = (values[each] + 2 * net_worth(game, weights, each)) / (samples + 2)
    return first


@kernel
def _utility(game: GameRecord, values: NDArray[np.float64], hero: int, envy: float) -> float:
    """Return the value of a leaf for a hero: the hero's net worth, minus `envy` times the mean net worth of the other heroes.

    `values` holds the net worth of each hero.
    """
    total, count = 0.0, 0
    for step in range(1, 4):
        other = (hero + step) & 3
        if is_present(game, other):
            total += values[other]
            count += 1
    worth: float = values[hero] - envy * total / max(count, 1)
    return worth


@entry(FLOATS(GAMES, types.int64, MAP_TABLES_ARRAY, WEIGHT_ARRAY, types.int64, types.int64, types.float64))
def _max_n(
    games: Games, me: int, tables_array: NDArray[np.void], weights: NDArray[np.void], mines: int, plies: int, envy: float
) -> NDArray[np.float64]:
    """Return the value of each first move for `me`, which is to move in ``games[0]``: float64[5] (-1e9: it leads to no goal)."""
    game, tables = games[0], tables_array[0]
    scratch = games[:1].copy()
    listed, counts = np.full((4, MAX_OWN_GOALS), -1, np.int64), np.ones(4, np.int64)
    for level in range(4):
        hero = (me + level) & 3
        if is_present(game, hero) and not game.hero[hero].crashed:
            counts[level] = _list_goals(game, tables, hero, mines if level == 0 else 1, level == 0, listed[level])
    values, goals, spent = np.zeros(4), np.zeros(4, np.int64), np.zeros(4, np.int64)
    best = np.full((4, 4), -1e18)  # by level: the values, for all heroes, of the leaf that the hero of this level prefers
    outcome = np.full(5, -1e9)
    for own in range(counts[0]):
        first = int64(0)
        top1 = -1e18
        for second in range(counts[1]):
            top2 = -1e18
            for third in range(counts[2]):
                top3 = -1e18
                for fourth in range(counts[3]):
                    goals[me], goals[(me + 1) & 3] = listed[0, own], listed[1, second]
                    goals[(me + 2) & 3], goals[(me + 3) & 3] = listed[2, third], listed[3, fourth]
                    scratch[0] = game
                    first = _play_out(scratch[0], tables, weights[0], goals, spent, plies, values)
                    worth = _utility(game, values, (me + 3) & 3, envy)
                    if worth > top3:
                        top3 = worth
                        best[3] = values
                worth = _utility(game, best[3], (me + 2) & 3, envy)
                if worth > top2:
                    top2 = worth
                    best[2] = best[3]
            worth = _utility(game, best[2], (me + 1) & 3, envy)
            if worth > top1:
                top1 = worth
                best[1] = best[2]
        worth = _utility(game, best[1], me, envy)
        if first >= 0:
            outcome[first] = max(outcome[first], worth)
    return outcome


class MaxN(Behaviour):
    """Vote (value - best value) / `scale` for each move, at least -1.

    The value of a move is the value of the best goal whose way begins with this move (see the module). A move that leads to no
    goal gets -1.
    """

    mines: int = Field(4, ge=0, le=5, description="number of nearest foreign mines that may be our goals")
    rounds: int = Field(14, ge=1, le=100, description="length of a playout, in rounds")
    envy: float = Field(
        1.0, ge=0, le=3, description="factor of the mean net worth of the other heroes, which is subtracted from a hero's own"
    )
    scale: float = Field(20, gt=0, le=1000, description="gold below the best direction at which a vote is -1")

    def vote(self, view: View) -> Votes:
        """Return votes from -1 to 0, or None."""
        if view.moves_left < 1 or view.game.status:
            return None
        weights = compiled_weights(Weights())
        by_direction = _max_n(
            view.games, view.me, map_tables_of(view.map), weights, self.mines, 4 * self.rounds, self.envy
        ).tolist()
        values: dict[int, float] = {}
        for direction, value in enumerate(by_direction):
            move = direction if direction in view.moves else STAY
            values[move] = max(values.get(move, -1e9), value)
        best = max(values.values())
        return {move: max(-1.0, (values.get(move, -1e9) - best) / self.scale) for move in view.moves}
