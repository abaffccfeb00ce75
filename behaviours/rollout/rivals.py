"""Rivals: which styles the others seem to have, from the orders that they gave in the last rounds."""

from __future__ import annotations

import numpy as np
from numba import types
from numpy.typing import NDArray

from behaviours.base import View
from behaviours.evaluation import WEIGHT_ARRAY
from behaviours.ground import GROUNDS, ground_of
from behaviours.rollout.follow import NO_GOAL, styled_order
from behaviours.rollout.playouts import DRAWS
from behaviours.rollout.style import STYLES
from sim.game import AIR, BEER_COST, GAMES, LAST_MINE, MINE, OFFSET, PLIES_PER_ROUND, RUNNING, STAY, TAVERN
from sim.kernels import entry, kernel
from sim.rules import play

_WORD = np.uintp
#: What an order does when it drinks: whichever tavern it was.
_DRINKS = 5
#: What every style has besides, so that none is ruled out.
LEAST = 0.02


@kernel
def _effect(game, hero, order):
    """What an order comes to: itself, `_DRINKS`, or `STAY` where it does nothing."""
    there = np.int64(game.cell[_WORD(np.int64(game.hero[hero].pos) + OFFSET[_WORD(order)])])
    if order == STAY or there == AIR:
        return order
    if there == TAVERN:
        return np.int64(_DRINKS) if game.hero[hero].gold >= BEER_COST else np.int64(STAY)
    foreign = TAVERN < there and there <= LAST_MINE and there != MINE + 1 + hero
    return order if foreign else np.int64(STAY)


@entry(types.void(GAMES, types.int64, GROUNDS, WEIGHT_ARRAY, STYLES, GAMES, types.Array(types.int64, 2, "C")))
def count_hits(seen, me, grounds, weights, styles, scratch, hits):
    """Add to ``hits[hero, style]`` how often each style foretold what each other hero did.

    `seen` are the games on our turns, oldest first; a round that is missing is passed over. The orders in between are the
    heroes' last directions one turn of ours later. `scratch` is one game of working memory.
    """
    game = scratch[0]
    for turn in range(len(seen) - 1):
        if seen[turn + 1].turn != seen[turn].turn + PLIES_PER_ROUND:
            continue
        scratch[0] = seen[turn]
        for _ in range(PLIES_PER_ROUND):
            if game.status != RUNNING:
                break
            mover = np.int64(game.turn) & 3
            then = seen[turn + 1].hero[mover]
            order = np.int64(STAY) if then.last_dir < 0 or then.crashed else np.int64(then.last_dir)
            if mover != me and not then.crashed:
                effect = _effect(game, mover, order)
                for style in range(len(styles)):
                    foretold = styled_order(game, grounds[0], weights[0], styles[style], mover, np.int64(NO_GOAL))
                    if _effect(game, mover, foretold) == effect:
                        hits[mover, style] += 1
            play(game, order, None)


def styles_drawn(view: View, weights: NDArray[np.void], styles: NDArray[np.void], trust: float) -> NDArray[np.int64]:
    """For each hero `DRAWS` numbers of styles (of ``styles[1:]``; the first is ours): int64[4, `DRAWS`].

    How often a style is among them goes with exp(`trust` x the orders that it foretold), and a little for each (a tempered
    likelihood, for no style is anybody's own).
    """
    hits = np.zeros((4, len(styles)), np.int64)
    if trust and len(view.history):
        seen = np.concatenate((view.history, view.games))
        count_hits(seen, view.me, ground_of(view.map), weights, styles, view.games.copy(), hits)
    odds = np.exp(trust * (hits[:, 1:] - hits[:, 1:].max(axis=1, keepdims=True))) + LEAST
    total = np.cumsum(odds / odds.sum(axis=1, keepdims=True), axis=1)
    middles = (np.arange(DRAWS) + 0.5) / DRAWS
    return np.array([1 + np.searchsorted(row[:-1], middles) for row in total], np.int64)
