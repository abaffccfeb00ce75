"""Observations, worths and rivals computed in plain Python, from states that `sim.rules.step` computes."""

from __future__ import annotations

import numpy as np

from behaviours.common.map_tables import map_tables_of
from behaviours.net.features import FOUND, MOVE_SLOTS
from sim.board import board_of
from sim.game import HERO_SHIFT, MINE, RUNNING, TAVERN, TILE_BITS, WALL, row_column
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


def planes(game, hero, side):
    """The layers, square by square."""
    board, size = board_of(game), int(game["size"][0])
    heroes, half = game["hero"][0], side // 2
    row, column = row_column(int(heroes["pos"][hero]))
    out = np.zeros((14, side, side), np.uint8)
    for down in range(side):
        for right in range(side):
            there = row + down - half, column + right - half
            cell = int(board[there]) if 0 <= there[0] < size and 0 <= there[1] < size else WALL
            tile, who = cell & TILE_BITS, cell >> HERO_SHIFT
            if who:
                out[7 + (who - 1 - hero) % 4, down, right] = int(heroes["life"][who - 1]) * 255 // 100
            layer = {WALL: 0, TAVERN: 1, MINE: 2}.get(tile)
            if MINE < tile <= MINE + 4:
                layer = 3 + (tile - MINE - 1 - hero) % 4
            if layer is not None:
                out[layer, down, right] = 255
    gold = gold_of(game)
    most = int(game["max_turns"][0])
    out[11] = 255 * (most - int(game["turn"][0])) // most
    out[12] = int(255 * min(np.log1p(gold[hero]) / 10, 1))
    out[13] = int(255 * min(np.log1p(np.delete(gold, hero).max()) / 10, 1))
    return out
