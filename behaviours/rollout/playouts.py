"""Playouts of plans: the exact rules, every hero by its style, and what we gain.

All plans meet the same scenarios: in playout number k of every plan the others have the same styles and make the same random
moves (common random numbers), so that the differences between plans are much surer than their values.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numba
import numpy as np
from numba import types
from numpy.typing import NDArray

from behaviours.common.evaluation import WEIGHT_ARRAY, estates, standing
from behaviours.common.kernel_types import GameRecord, MapRecord, WeightsRecord, int64, tuple_of, uint64, uintp
from behaviours.common.map_tables import GROUNDS, MAX_MINES
from behaviours.rollout.plans import GOAL_MOVE, GOALS
from behaviours.rollout.policy import GOAL_HERO, GOAL_TAVERN, NO_GOAL, styled_order
from behaviours.rollout.policy_params import STYLES, StyleRecord
from behaviours.rollout.repetition import HABITS, habitual_order
from sim.game import GAMES, MINE, MINE_COST, OFFSET, RUNNING, TAVERN, Games
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

#: One record of `INQUIRY` and of `FINDING`.
InquiryRecord = Any
FindingRecord = Any


class Players(NamedTuple):
    """How everybody plays.

    ``styles[0]`` is ours; ``draws[hero]`` holds `DRAWS` numbers of styles for each of the others (int64[4, `DRAWS`]), of which
    every scenario takes one; `habits` are theirs (`behaviours.rollout.repetition`).
    """

    styles: NDArray[np.void]
    draws: NDArray[np.int64]
    habits: NDArray[np.int8]


class Batch(NamedTuple):
    """What a call plays out: the `chosen` rows of `plans` (int16[n, `GOALS`]), each in the scenarios `begin` to `end`.

    It ends early, after a whole scenario, when it has played `limit` plies.
    """

    plans: NDArray[np.int16]
    chosen: NDArray[np.int64]
    begin: int
    end: int
    limit: int


class Scene(NamedTuple):
    """What a playout looks up. Records only: an array in a tuple costs a count of its references at each use."""

    ground: MapRecord
    weights: WeightsRecord
    style: StyleRecord
    inquiry: InquiryRecord


_INT64S = types.Array(types.int64, 1, "C")
_PLAYERS = tuple_of([STYLES, types.Array(types.int64, 2, "C"), HABITS], Players)
_BATCH = tuple_of([types.Array(types.int16, 2, "C"), _INT64S, types.int64, types.int64, types.int64], Batch)
_INQUIRIES = types.Array(numba.from_dtype(INQUIRY), 1, "C")
_FINDINGS = types.Array(numba.from_dtype(FINDING), 1, "C")


@kernel
def _reached(game: GameRecord, ground: MapRecord, me: int, goal: int, spent: int) -> bool:
    """Whether a goal is reached or given up, `spent` plies of ours after setting out."""
    if spent > PATIENCE:
        return True
    if goal >= GOAL_HERO:
        return spent > CHASED
    if goal == GOAL_TAVERN:
        return False
    if tile_at(game, int64(ground.mine[uintp(goal)])) == MINE + 1 + me:
        return True
    who = game.hero[me]
    return bool(who.life <= MINE_COST and ground.to_mine[uintp(int64(who.pos) * MAX_MINES + goal)] == 1)


@kernel
def rival_order(
    game: GameRecord, ground: MapRecord, weights: WeightsRecord, style: StyleRecord, habits: NDArray[np.int8], hero: int
) -> int:
    """The move (0..4) of a hero that has no goal, by its style and, if the style says so, by its habits."""
    if style.habit:
        move: int = habitual_order(game, ground, habits, hero)
        if move >= 0:
            return move
    return int64(styled_order(game, ground, weights, style, hero, int64(NO_GOAL)))


@kernel
def _worth(game: GameRecord, weights: WeightsRecord, inquiry: InquiryRecord) -> float:
    """What we have, in gold: our `behaviours.common.evaluation.standing`, and what our lead counts besides."""
    own, mean, best = estates(game, weights, int64(inquiry.me))
    worth: float = standing(weights, own, mean, best)
    if inquiry.lead > 0:
        worth += inquiry.lead * inquiry.close * np.arcsinh((own - best) / inquiry.close)
    return worth


@kernel
def _goal_of(plan: NDArray[np.int16], part: int) -> int:
    """The goal number `part` of a plan; `NO_GOAL` after the last one."""
    return int64(plan[uintp(part)]) if part < GOALS else int64(NO_GOAL)


@kernel
def _play_out(
    game: GameRecord,
    scene: Scene,
    plan: NDArray[np.int16],
    styles: NDArray[np.void],
    seats: NDArray[np.int64],
    habits: NDArray[np.int8],
    state: int,
    finding: FindingRecord,
) -> None:
    """Play a plan out from `game`, which is changed; adds to the finding.

    ``seats[hero]`` is the number of the style of each of the others, `state` that of the random numbers.
    """
    inquiry = scene.inquiry
    me = int64(inquiry.me)
    part, goal, spent = int64(0), int64(plan[0]), int64(0)
    share, gained, worth = 1.0, 0.0, 0.0
    first = True
    for _ in range(inquiry.plies):
        if game.status != RUNNING:
            break
        mover = int64(game.turn) & 3
        drinks, hunts, mines = False, False, int64(game.hero[me].mines)
        if mover == me:
            if not first:
                worth = _worth(game, scene.weights, inquiry)
                gained += share * (1.0 - inquiry.patience) * worth
                share *= inquiry.patience
            while goal != NO_GOAL and goal < GOAL_MOVE and _reached(game, scene.ground, me, goal, spent):
                part, spent = part + 1, int64(0)
                goal = _goal_of(plan, part)
            if goal >= GOAL_MOVE:
                move = goal - GOAL_MOVE
            else:
                move = styled_order(game, scene.ground, scene.weights, scene.style, me, goal)
            spent += 1
            tile: int = tile_at(game, int64(game.hero[me].pos) + OFFSET[uintp(move)])
            drinks, hunts = tile == TAVERN, not first and tile <= TAVERN
            if goal >= GOAL_MOVE or (goal == GOAL_TAVERN and drinks):
                part, spent = part + 1, int64(0)
                goal = _goal_of(plan, part)
            if first:
                finding.first, first = move, False
        else:
            state = next_random(state)
            if below(state, WHIM) < inquiry.whims:
                state = next_random(state)
                move = below(state, 5)
            else:
                style = styles[uintp(seats[uintp(mover)])]
                move = rival_order(game, scene.ground, scene.weights, style, habits, mover)
        life = int64(game.hero[me].life)
        play(game, move, None)
        if hunts and int64(game.hero[me].mines) > mines:
            gained -= share * inquiry.doubt * (_worth(game, scene.weights, inquiry) - worth)
        finding.plies += 1
        if int64(game.hero[me].life) > life and not drinks:  # but for beers only respawning heals
            gained -= inquiry.death
    finding.total += gained + share * _worth(game, scene.weights, inquiry)
    finding.count += 1


@entry(types.void(GAMES, GROUNDS, WEIGHT_ARRAY, _PLAYERS, _INQUIRIES, _BATCH, _FINDINGS, _INT64S))
def play_plans(
    games: Games,
    grounds: NDArray[np.void],
    weights: NDArray[np.void],
    players: Players,
    inquiries: NDArray[np.void],
    batch: Batch,
    findings: NDArray[np.void],
    stop: NDArray[np.int64],
) -> None:
    """Play plans out from ``games[0]``, which is not changed, and add to `findings`, one for each plan.

    An outcome is our `behaviours.common.evaluation.standing` in gold, and `lead` x `close` x asinh(m / `close`) where our estate
    is m above the richest rival's, averaged over the rounds of the playout: round r counts (1 - patience) patience^r, and the
    last one for all that would come after it. So what comes sooner is worth more, and nothing is put off for ever. Of what a
    kill of ours brings that is not struck in the first ply the share `doubt` is taken off, because a hero that is hunted does
    not play on as before. Ends early when ``stop[0]`` is set, or as `Batch` says.
    """
    inquiry, scene = inquiries[0], Scene(grounds[0], weights[0], players.styles[0], inquiries[0])
    styles, draws, habits = players.styles, players.draws, players.habits
    scratch, seats = games[:1].copy(), np.zeros(4, np.int64)
    spent = int64(0)
    for scenario in range(batch.begin, batch.end):
        if stop[0] or spent >= batch.limit:
            return
        for number in batch.chosen:
            state = uint64(random_state(inquiry.seed, scenario))
            for hero in range(4):
                state = next_random(state)
                seats[hero] = draws[hero, below(state, DRAWS)]
            scratch[0] = games[0]
            finding = findings[number]
            before = finding.plies
            _play_out(scratch[0], scene, batch.plans[number], styles, seats, habits, state, finding)
            spent += finding.plies - before
