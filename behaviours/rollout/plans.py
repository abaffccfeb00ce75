"""Plans: what we could set out to do from here, as up to two goals one after the other.

A plan is a row of `GOALS` numbers: goals as in `behaviours.rollout.policy`, or `GOAL_MOVE` + direction for one ply in that
direction, whatever happens; `NO_GOAL` at its end. After its last goal a plan goes on as our style does.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from behaviours.base import View
from behaviours.common.map_tables import AWAY, LISTED, MAX_MINES, NO_MINE, map_tables_of
from behaviours.rollout.policy import GOAL_HERO, GOAL_TAVERN, NO_GOAL
from sim.game import CELLS, MINE, TILE_BITS

#: The goal of one ply North is ``GOAL_MOVE + NORTH``.
GOAL_MOVE = 200
#: Goals in a plan at most.
GOALS = 2
#: Enemies at most this many moves away may be a goal.
CHASE = 10


def plans_of(view: View, mines: int, pairs: bool = True, free: int = 3) -> NDArray[np.int16]:
    """The plans of the hero of a view: int16[n, `GOALS`], the first of which is to follow our style.

    Goals are the `mines` nearest mines that are not his, as many as `free` others that he reaches before every enemy, the
    nearest tavern and the enemies around. There is a plan for each goal, for each direction that does something, and with
    `pairs` for two goals and for a direction and a goal; to the `free` mines he goes straight or by the tavern.
    """
    near, far = _goals(view, mines, free)
    moves = [GOAL_MOVE + move for move in view.moves]
    plans = [(NO_GOAL, NO_GOAL), *((goal, NO_GOAL) for goal in (*near, *far, *moves))]
    if pairs:
        plans += [(first, second) for first in near for second in near if first != second]
        plans += [(move, goal) for move in moves for goal in near if goal < GOAL_HERO]
        plans += [(GOAL_TAVERN, goal) for goal in far if GOAL_TAVERN in near]
    return np.array(plans, np.int16)


def _goals(view: View, mines: int, free: int) -> tuple[list[int], list[int]]:
    tables, pos = map_tables_of(view.map)[0], view.pos
    numbers = [int(mine) for mine in tables["nearest"][pos * LISTED : (pos + 1) * LISTED] if mine != NO_MINE]
    foreign = [mine for mine in numbers if int(view.cells[int(tables["mine"][mine])]) & TILE_BITS != MINE + 1 + view.me]
    near, others = foreign[:mines], foreign[mines:]
    ways = tables["to_mine"].reshape(CELLS, MAX_MINES)
    rivals = ways[[int(view.game.hero[enemy].pos) for enemy in view.enemies]].min(axis=0, initial=AWAY)
    far = [mine for mine in others if ways[pos, mine] < rivals[mine]][:free]
    if tables["to_tavern"][pos] != AWAY:
        near.append(GOAL_TAVERN)
    away = tables["to_square"][pos * CELLS : (pos + 1) * CELLS]
    return near + [GOAL_HERO + enemy for enemy in view.enemies if away[int(view.game.hero[enemy].pos)] <= CHASE], far


def square_of(view: View, goal: int) -> int | None:
    """The square of a goal, for those who look on; None for a direction and for no goal."""
    tables = map_tables_of(view.map)[0]
    if goal == NO_GOAL or goal >= GOAL_MOVE:
        return None
    if goal >= GOAL_HERO:
        return int(view.game.hero[goal - GOAL_HERO].pos)
    return int(tables["tavern"][view.pos]) if goal == GOAL_TAVERN else int(tables["mine"][goal])


assert MAX_MINES <= GOAL_TAVERN < GOAL_HERO < GOAL_MOVE
