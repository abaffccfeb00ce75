"""Plans: up to two goals, one after the other.

A plan is a row of `GOALS` numbers. A number is a goal of `behaviours.rollout.policy`, or `GOAL_MOVE` + direction, which means one
ply in that direction. Free places have `NO_GOAL`. After its last goal our hero follows its policy.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from behaviours.base import View
from behaviours.common.map_tables import AWAY, LISTED, MAX_MINES, NO_MINE, map_tables_of
from behaviours.rollout.policy import GOAL_HERO, GOAL_TAVERN, NO_GOAL
from sim.game import CELLS, MINE, TILE_BITS

#: The goal of one ply in direction d is ``GOAL_MOVE + d``.
GOAL_MOVE = 200
#: Largest number of goals in a plan.
GOALS = 2
#: Largest distance of an enemy that may be a goal, in moves.
MAX_CHASE = 10


def plans_of(view: View, mines: int, two_goal_plans: bool = True, uncontested_mines: int = 3) -> NDArray[np.int16]:
    """Return the plans of our hero: int16[n, `GOALS`]. The first plan has no goal: it follows our policy.

    The goals are

    - the `mines` nearest mines that are not ours;
    - up to `uncontested_mines` mines farther away that we reach before every enemy;
    - the nearest tavern;
    - the enemies within `MAX_CHASE` moves.

    There is a plan for each goal and for each direction with an effect. With `two_goal_plans` there are three more kinds of
    plans: (near goal, near goal), (direction, near mine or tavern), and (tavern, uncontested mine). Near goals are all goals
    except the uncontested mines.
    """
    near, far = _goals(view, mines, uncontested_mines)
    moves = [GOAL_MOVE + move for move in view.moves]
    plans = [(NO_GOAL, NO_GOAL), *((goal, NO_GOAL) for goal in (*near, *far, *moves))]
    if two_goal_plans:
        plans += [(first, second) for first in near for second in near if first != second]
        plans += [(move, goal) for move in moves for goal in near if goal < GOAL_HERO]
        plans += [(GOAL_TAVERN, goal) for goal in far if GOAL_TAVERN in near]
    return np.array(plans, np.int16)


def plans_of_moves(view: View, mines: int, uncontested_mines: int = 3) -> dict[int, NDArray[np.int16]]:
    """Return the plans of each direction with an effect: int16[n, 1 + `GOALS`].

    Each plan is the direction, and then a plan of `plans_of` that does not begin with a direction. So the plans of two directions
    differ only in their first move.
    """
    near, far = _goals(view, mines, uncontested_mines)
    rest = [(NO_GOAL, NO_GOAL), *((goal, NO_GOAL) for goal in (*near, *far))]
    rest += [(first, second) for first in near for second in near if first != second]
    rest += [(GOAL_TAVERN, goal) for goal in far if GOAL_TAVERN in near]
    return {move: np.array([(GOAL_MOVE + move, *goals) for goals in rest], np.int16) for move in view.moves}


def _goals(view: View, mines: int, uncontested_mines: int) -> tuple[list[int], list[int]]:
    """Return the near goals, and the uncontested mines farther away."""
    tables, pos = map_tables_of(view.map)[0], view.pos
    numbers = [int(mine) for mine in tables["nearest"][pos * LISTED : (pos + 1) * LISTED] if mine != NO_MINE]
    foreign = [mine for mine in numbers if int(view.cells[int(tables["mine"][mine])]) & TILE_BITS != MINE + 1 + view.me]
    near, others = foreign[:mines], foreign[mines:]
    distances = tables["to_mine"].reshape(CELLS, MAX_MINES)
    rivals = distances[[int(view.game.hero[enemy].pos) for enemy in view.enemies]].min(axis=0, initial=AWAY)
    far = [mine for mine in others if distances[pos, mine] < rivals[mine]][:uncontested_mines]
    if tables["to_tavern"][pos] != AWAY:
        near.append(GOAL_TAVERN)
    away = tables["to_square"][pos * CELLS : (pos + 1) * CELLS]
    return near + [GOAL_HERO + enemy for enemy in view.enemies if away[int(view.game.hero[enemy].pos)] <= MAX_CHASE], far


def square_of(view: View, goal: int) -> int | None:
    """Return the square of a goal, to show it on a board. Return None for one ply in a direction and for `NO_GOAL`."""
    tables = map_tables_of(view.map)[0]
    if goal == NO_GOAL or goal >= GOAL_MOVE:
        return None
    if goal >= GOAL_HERO:
        return int(view.game.hero[goal - GOAL_HERO].pos)
    return int(tables["tavern"][view.pos]) if goal == GOAL_TAVERN else int(tables["mine"][goal])


assert MAX_MINES <= GOAL_TAVERN < GOAL_HERO < GOAL_MOVE
