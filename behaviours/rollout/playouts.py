"""Playouts of plans: the exact rules, everybody by his style, and what we have of it.

All plans meet the same scenarios: in playout number k of every plan the others have the same styles and the same whims
(common random numbers), so that the differences between plans are much surer than their values.
"""

from __future__ import annotations

import numba
import numpy as np
from numba import types

from behaviours.common.evaluation import WEIGHT_ARRAY, estates, standing
from behaviours.common.map_tables import GROUNDS, MAX_MINES
from behaviours.rollout.plans import GOAL_MOVE, GOALS
from behaviours.rollout.policy import GOAL_HERO, GOAL_TAVERN, NO_GOAL, styled_order
from behaviours.rollout.policy_params import STYLES
from behaviours.rollout.repetition import HABITS, habitual_order
from sim.game import GAMES, MINE, MINE_COST, OFFSET, RUNNING, TAVERN
from sim.kernels import entry, kernel
from sim.playout import below, next_random, random_state
from sim.rules import play, tile_at

#: Plies of ours after which a goal is given up, and after which an enemy is.
PATIENCE, CHASED = 40, 12
#: Entries of each hero's row of styles, of which a playout draws one.
DRAWS = 64
#: Whims are so many in `WHIM`.
WHIM = 1000

#: What is asked: for whom (`me`), playouts of how many plies, the share that a round keeps of what comes after it, what a
#: death costs in gold, the share of what later kills bring that is not believed, how much a gold of `lead` over the richest rival
#: counts besides and up to about how many (`close`), the whims of others in thousandths of their plies, the seed.
INQUIRY = np.dtype(
    (
        np.record,
        [(name, "i8") for name in ("me", "plies", "whims", "seed")]
        + [(name, "f8") for name in ("patience", "death", "doubt", "lead", "close")],
    )
)
#: What has been found out about a plan: the sum of its outcomes, how many there are, its first order, plies played.
FINDING = np.dtype((np.record, [("total", "f8"), ("count", "i8"), ("first", "i8"), ("plies", "i8")]))

_INQUIRIES = types.Array(numba.from_dtype(INQUIRY), 1, "C")
_FINDINGS = types.Array(numba.from_dtype(FINDING), 1, "C")
_WORD = np.uintp


@kernel
def _reached(game, ground, me, goal, spent):
    """Whether a goal is reached or given up, `spent` plies of ours after setting out."""
    if spent > PATIENCE:
        return True
    if goal >= GOAL_HERO:
        return spent > CHASED
    if goal == GOAL_TAVERN:
        return False
    if tile_at(game, np.int64(ground.mine[_WORD(goal)])) == MINE + 1 + me:
        return True
    who = game.hero[me]
    return who.life <= MINE_COST and ground.to_mine[_WORD(np.int64(who.pos) * MAX_MINES + goal)] == 1


@kernel
def rival_order(game, ground, weights, style, habits, hero):
    """The order (0..4) of a hero who has no goal, by his style and, if the style says so, by his habits."""
    if style.habit:
        order = habitual_order(game, ground, habits, hero)
        if order >= 0:
            return order
    return styled_order(game, ground, weights, style, hero, np.int64(NO_GOAL))


@kernel
def _worth(game, weights, inquiry):
    """What we have, in gold: our `behaviours.common.evaluation.standing`, and what our lead counts besides."""
    own, mean, best = estates(game, weights, np.int64(inquiry.me))
    worth = standing(weights, own, mean, best)
    if inquiry.lead > 0:
        worth += inquiry.lead * inquiry.close * np.arcsinh((own - best) / inquiry.close)
    return worth


@kernel
def _play_out(game, ground, weights, styles, seats, habits, inquiry, plan, state, finding):
    """Play a plan out from `game`, which is changed; adds to the finding."""
    me = np.int64(inquiry.me)
    part, goal, spent = np.int64(0), np.int64(plan[0]), np.int64(0)
    share, gained, first, worth = 1.0, 0.0, True, 0.0
    for _ in range(inquiry.plies):
        if game.status != RUNNING:
            break
        mover = np.int64(game.turn) & 3
        if mover == me:
            if not first:
                worth = _worth(game, weights, inquiry)
                gained += share * (1.0 - inquiry.patience) * worth
                share *= inquiry.patience
            while goal != NO_GOAL and goal < GOAL_MOVE and _reached(game, ground, me, goal, spent):
                part, spent = part + 1, np.int64(0)
                goal = np.int64(plan[_WORD(part)]) if part < GOALS else np.int64(NO_GOAL)
            order = goal - GOAL_MOVE if goal >= GOAL_MOVE else styled_order(game, ground, weights, styles[0], me, goal)
            spent += 1
            tile = tile_at(game, np.int64(game.hero[me].pos) + OFFSET[_WORD(order)])
            drinks, mines = tile == TAVERN, np.int64(game.hero[me].mines)
            hunts = not first and tile <= TAVERN
            if goal >= GOAL_MOVE or (goal == GOAL_TAVERN and drinks):
                part, spent = part + 1, np.int64(0)
                goal = np.int64(plan[_WORD(part)]) if part < GOALS else np.int64(NO_GOAL)
            if first:
                finding.first, first = order, False
        else:
            drinks = False
            state = next_random(state)
            if below(state, WHIM) < inquiry.whims:
                state = next_random(state)
                order = below(state, 5)
            else:
                order = rival_order(game, ground, weights, styles[_WORD(seats[_WORD(mover)])], habits, mover)
        life = np.int64(game.hero[me].life)
        play(game, order, None)
        if mover == me and hunts and np.int64(game.hero[me].mines) > mines:
            gained -= share * inquiry.doubt * (_worth(game, weights, inquiry) - worth)
        finding.plies += 1
        if np.int64(game.hero[me].life) > life and not drinks:  # but for beers only respawning heals
            gained -= inquiry.death
    finding.total += gained + share * _worth(game, weights, inquiry)
    finding.count += 1


@entry(
    types.void(
        GAMES, types.int64, GROUNDS, WEIGHT_ARRAY, STYLES, types.Array(types.int64, 2, "C"), HABITS, _INQUIRIES,
        types.Array(types.int16, 2, "C"), types.Array(types.int64, 1, "C"), _FINDINGS, GAMES, types.int64, types.int64,
        types.int64, types.Array(types.int64, 1, "C"),
    )
)  # fmt: skip
def play_plans(
    games, index, grounds, weights, styles, draws, habits, inquiries, plans, chosen, findings, scratch, begin, end, limit, stop
):
    """Play the `chosen` plans (numbers of rows of `plans`) out from ``games[index]``, scenarios `begin` to `end` each.

    ``styles[0]`` is ours; ``draws[hero]`` holds `DRAWS` numbers of styles for each of the others, of which every scenario
    takes one; `habits` are theirs (`behaviours.rollout.repetition`). An outcome is our `behaviours.common.evaluation.standing`
    in gold, and
    `lead` x `close` x asinh(m / `close`) where our estate is m above the richest rival's, averaged over the rounds of the
    playout: round r counts (1 - patience) patience^r, and the last one for all that would come after it. So what comes sooner is
    worth more, and nothing is put off for ever. Of what a kill of ours brings that is not struck in the first ply the share
    `doubt` is taken off, for who is hunted does not play on as before. Adds to `findings`, one for each plan; `scratch` is one
    game of working memory. Ends early, after a whole scenario, when the findings of this call have `limit` plies or when
    ``stop[0]`` is set. The games are not changed.
    """
    inquiry = inquiries[0]
    seats = np.zeros(4, np.int64)
    spent = np.int64(0)
    for scenario in range(begin, end):
        if stop[0] or spent >= limit:
            return
        for place in range(len(chosen)):
            state = random_state(inquiry.seed, scenario)
            for hero in range(4):
                state = next_random(state)
                seats[hero] = draws[hero, below(state, DRAWS)]
            scratch[0] = games[index]
            number = chosen[place]
            before = findings[number].plies
            _play_out(scratch[0], grounds[0], weights[0], styles, seats, habits, inquiry, plans[number], state, findings[number])
            spent += findings[number].plies - before
