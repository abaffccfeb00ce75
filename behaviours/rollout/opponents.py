"""Opponent models: find the policies that best predict each rival's last moves."""

from __future__ import annotations

import numpy as np
from numba import types
from numpy.typing import NDArray

from behaviours.base import View
from behaviours.common.evaluation import WEIGHT_ARRAY
from behaviours.common.map_tables import MAP_TABLES_ARRAY, map_tables_of
from behaviours.rollout.playouts import DRAWS, opponent_move
from behaviours.rollout.policy import POLICY_ARRAY
from behaviours.rollout.repetition import REPEATS, SITUATIONS, effect, no_repeats, no_situations, note_move, remember
from sim.game import GAMES, PLIES_PER_ROUND, RUNNING, STAY, Games
from sim.kernel_types import GameRecord, int64
from sim.kernels import entry
from sim.rules import play

#: Odds added to the odds of every policy, so that no policy is ruled out.
MIN_ODDS = 0.02


@entry(
    types.void(
        GAMES, types.int64, MAP_TABLES_ARRAY, WEIGHT_ARRAY, POLICY_ARRAY, types.Array(types.int64, 2, "C"), REPEATS, SITUATIONS
    )
)
def count_hits(
    seen: Games,
    me: int,
    tables_array: NDArray[np.void],
    weights: NDArray[np.void],
    policies: NDArray[np.void],
    hits: NDArray[np.int64],
    repeats: NDArray[np.int8],
    situations: NDArray[np.int64],
) -> None:
    """Add to ``hits[hero, number]`` the number of moves of each rival that policy `number` predicts.

    `seen` has the positions on our turns (at least one), oldest first. A rival's move between two turns is its last direction on
    the later turn. If a round is missing between two turns, this pair of turns is skipped. `repeats` gets the heroes' repeated
    moves (`behaviours.rollout.repetition`), `situations` the moves of their situations (`behaviours.rollout.repetition`).
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
            later = seen[turn + 1].hero[mover]
            move = int64(STAY) if later.last_dir < 0 or later.crashed else int64(later.last_dir)
            if mover != me and not later.crashed:
                done = effect(game, mover, move)
                for number in range(len(policies)):
                    predicted = opponent_move(game, tables_array[0], weights[0], policies[number], repeats, mover)
                    if effect(game, mover, predicted) == done:
                        hits[mover, number] += 1
                remember(repeats, game, mover, move)
                note_move(situations, game, tables_array[0], mover, move)
            play(game, move, None)


def model_opponents(
    view: View, weights: NDArray[np.void], policies: NDArray[np.void], likelihood_weight: float
) -> tuple[NDArray[np.int64], NDArray[np.int8], NDArray[np.int64]]:
    """Return `DRAWS` policy numbers per hero (int64[4, `DRAWS`]), the heroes' repeated moves, and the moves of their situations.

    A policy number is an index into `policies`. Policy 0 is ours and is never among them. The share of a policy among a hero's
    numbers is proportional to exp(`likelihood_weight` x (h - m)) + `MIN_ODDS`. Here h is the number of moves that the policy
    predicted, and m is the largest h of all policies for this hero. This is a tempered likelihood, because no bot plays exactly
    by a policy.
    """
    hits, repeats, situations = np.zeros((4, len(policies)), np.int64), no_repeats(), no_situations()
    if len(view.recent):
        seen = np.concatenate((view.recent, view.games))
        count_hits(seen, view.me, map_tables_of(view.map), weights, policies, hits, repeats, situations)
    odds = np.exp(likelihood_weight * (hits[:, 1:] - hits[:, 1:].max(axis=1, keepdims=True))) + MIN_ODDS
    total = np.cumsum(odds / odds.sum(axis=1, keepdims=True), axis=1)
    quantiles = (np.arange(DRAWS) + 0.5) / DRAWS
    return np.array([1 + np.searchsorted(row[:-1], quantiles) for row in total], np.int64), repeats, situations
