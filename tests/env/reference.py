"""Observations, worths and rivals computed in plain Python, from states that `sim.rules.step` computes."""

from __future__ import annotations

import numpy as np

from behaviours.common.map_tables import map_tables_of
from behaviours.net.features import FOUND, MOVE_SLOTS
from sim.game import RUNNING
from sim.maps import map_of
from sim.rules import effective_moves
from tests.support.nets import features_in


def gold_of(game):
    return game["hero"]["gold"][0].astype(float)


def worth(game, hero, kind):
    """The worth of a state, by its definition."""
    gold = gold_of(game)
    others = np.delete(gold, hero)
    if kind == "lead":
        return gold[hero] - others.mean()
    if kind == "gold":
        return gold[hero]
    if game["status"][0] == RUNNING:
        return 0.0
    if kind == "place":
        return ((others < gold[hero]).sum() - (others > gold[hero]).sum()) / 3
    return float((others < gold[hero]).all())


def mask(game, hero):
    found = effective_moves(game, 0, hero)
    return np.array([found >> move & 1 for move in range(5)], np.int8)


def features(game, hero):
    found = np.zeros(1, FOUND)
    features_in(game, 0, hero, map_tables_of(map_of(game)), found)
    moves = found["moves"][0].reshape(5, MOVE_SLOTS).copy()
    moves[moves[:, 0] < 0] = 0
    return np.concatenate([found["state"][0], moves.ravel()])
