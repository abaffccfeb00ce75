"""The moves of a net at 18x18, beside the moves of a policy of `rollout`: ``python -m tests.benchmarks nets``."""

from __future__ import annotations

import time

import numba
import numpy as np

from behaviours.common.evaluation import Weights, compiled_weights
from behaviours.common.map_tables import map_tables_of
from behaviours.common.policy import policy
from behaviours.net.features import FOUND, MOVE_SLOTS, find_features
from behaviours.net.network import compiled_networks
from behaviours.net.scoring import UNITS, best_move
from behaviours.rollout.policy import LIBRARY, NO_GOAL, compiled_policies, policy_move
from sim.game import GAME, PLIES_PER_ROUND, mover
from sim.generator import generate
from sim.rules import step
from tests.support.nets import random_network

from . import Row, best, sized

SIZE, HIDDEN, MAPS = 18, 64, sized(8, 1)
#: Plies between two positions of a game, and the share of random moves.
SKIP, STRAY = 20, 0.15


@numba.njit(error_model="numpy", nogil=True)
def _moves(games, where, tables, weights, policies, networks, found, units, scores, what):
    """Choose a move in each position: by a policy (0), by no more than the features of a net (1), or by the net (2).

    Return the number of moves that the net compares.
    """
    total, count = np.int64(0), np.int64(0)
    for number in range(len(games)):
        game, own, me = games[number], tables[where[number]], np.int64(games[number].turn) & 3
        if what == 0:
            total += policy_move(game, own, weights[0], policies[0], me, np.int64(NO_GOAL))
            continue
        find_features(game, own, me, found[0])
        if what == 2:
            total += best_move(networks[0], found[0], units[0], scores)
        for move in range(5):
            count += found[0].moves[np.uintp(move * MOVE_SLOTS)] >= 0
    return count + (total >> 62)


def rows() -> list[Row]:
    """Return the time of the features and of a whole move of a net, in microseconds and as a ratio to a move of a policy."""
    maps = [generate(seed, size=SIZE) for seed in range(MAPS)]
    games, where = [], []
    for number, one in enumerate(maps):
        game, rng = one.new_game(), np.random.default_rng(number)
        for ply in range(250 * PLIES_PER_ROUND):
            step(game, 0, int(rng.integers(5)) if rng.random() < STRAY else policy(game, 0, mover(game), map_tables_of(one)))
            if ply % SKIP == SKIP - 1:
                games.append(game.copy())
                where.append(number)
    arguments = (
        np.concatenate(games).astype(GAME),
        np.array(where),
        np.concatenate([map_tables_of(one) for one in maps]),
        compiled_weights(Weights()).copy(),
        compiled_policies(LIBRARY).copy(),
        compiled_networks([random_network(np.random.default_rng(1), HIDDEN, 300)]),
        np.zeros(1, FOUND),
        np.zeros(1, UNITS),
        np.zeros(5, np.int64),
    )

    def seconds(what: int) -> float:
        begin = time.process_time()
        _moves(*arguments, what)
        return time.process_time() - begin

    moves = _moves(*arguments, 1)
    _moves(*arguments, 0)
    times = np.array([[best(lambda what=what: seconds(what), 3) for what in range(3)] for _ in range(5)])
    plain, features, whole = times.min(axis=0).tolist()
    note = (
        f"{moves / len(games):.1f} moves a turn, {len(games)} positions; a turn of the policy: {plain / len(games) * 1e6:.2f} us"
    )
    return [
        Row(f"Net, {name}, {SIZE}x{SIZE}", f"{cost / moves * 1e6:.2f} us a move", f"{cost / plain:.1f} of the policy", note)
        for name, cost, note in (
            ("features", features, note),
            (f"features and scores, {HIDDEN} hidden units", whole, f"wanted 1.00; {whole / len(games) * 1e6:.1f} us a turn"),
        )
    ]
