"""Rivals: which styles the others seem to have, from the moves that they made in the last rounds."""

from __future__ import annotations

import numpy as np
from numba import types
from numpy.typing import NDArray

from behaviours.base import View
from behaviours.common.evaluation import WEIGHT_ARRAY
from behaviours.common.kernel_types import GameRecord, int64
from behaviours.common.map_tables import MAP_TABLES_ARRAY, map_tables_of
from behaviours.rollout.playouts import DRAWS, opponent_move
from behaviours.rollout.policy_params import POLICY_ARRAY
from behaviours.rollout.repetition import REPEATS, effect, no_repeats, remember
from sim.game import GAMES, PLIES_PER_ROUND, RUNNING, STAY, Games
from sim.kernels import entry
from sim.rules import play

#: What every style has besides, so that none is ruled out.
LEAST = 0.02


@entry(types.void(GAMES, types.int64, MAP_TABLES_ARRAY, WEIGHT_ARRAY, POLICY_ARRAY, types.Array(types.int64, 2, "C"), REPEATS))
def count_hits(
    seen: Games,
    me: int,
    tables_array: NDArray[np.void],
    weights: NDArray[np.void],
    policies: NDArray[np.void],
    hits: NDArray[np.int64],
    repeats: NDArray[np.int8],
) -> None:
    """Add to ``hits[hero, params]`` how often each policy predicted the move of each other hero, and to its `repeats`.

    `seen` are the games on our turns (at least one), oldest first; a round that is missing is passed over. The moves in between
    are the heroes' last directions one turn of ours later.
    """
    scratch = seen[:1].copy()
    game: GameRecord = scratch[0]
    for turn in range(len(seen) - 1):
        if seen[turn + 1].turn != seen[turn].turn + PLIES_PER_ROUND:
            continue
        scratch[0] = seen[turn]
        for _ in range(PLIES_PER_ROUND):
            if game.status != RUNNING:
                break
            mover = int64(game.turn) & 3
            then = seen[turn + 1].hero[mover]
            move = int64(STAY) if then.last_dir < 0 or then.crashed else int64(then.last_dir)
            if mover != me and not then.crashed:
                done = effect(game, mover, move)
                for params in range(len(policies)):
                    predicted = opponent_move(game, tables_array[0], weights[0], policies[params], repeats, mover)
                    if effect(game, mover, predicted) == done:
                        hits[mover, params] += 1
                remember(repeats, game, mover, move)
            play(game, move, None)


def study(
    view: View, weights: NDArray[np.void], policies: NDArray[np.void], likelihood_weight: float
) -> tuple[NDArray[np.int64], NDArray[np.int8]]:
    """For each hero `DRAWS` numbers of styles (of ``policies[1:]``; the first is ours): int64[4, `DRAWS`]; and their habits.

    The number of draws of a policy grows with exp(`likelihood_weight` x the moves that it predicted), and a little for each (a
    tempered likelihood, because no bot plays exactly by a style).
    """
    hits, repeats = np.zeros((4, len(policies)), np.int64), no_repeats()
    if len(view.recent):
        seen = np.concatenate((view.recent, view.games))
        count_hits(seen, view.me, map_tables_of(view.map), weights, policies, hits, repeats)
    odds = np.exp(likelihood_weight * (hits[:, 1:] - hits[:, 1:].max(axis=1, keepdims=True))) + LEAST
    total = np.cumsum(odds / odds.sum(axis=1, keepdims=True), axis=1)
    middles = (np.arange(DRAWS) + 0.5) / DRAWS
    return np.array([1 + np.searchsorted(row[:-1], middles) for row in total], np.int64), repeats
