"""The observations, compared with others that are computed square by square."""

from __future__ import annotations

import numpy as np
import pytest

from behaviours.common.map_tables import map_tables_of
from sim.game import CELLS, MAX_LIFE, MINE, OFFSET, SEATS, STRIDE, TILE_BITS, row_column
from sim.maps import map_of
from tests.env import reference
from tests.support.recorded import states_of
from vindibot.env.observing import ALL, MASK, NOTHING, Lookout, Observations, Rows

STATES = [state for seed in range(4) for state in states_of(seed, 200, crashes=0.01)[seed::23]]


def look(kind, game, heroes, wanted, side=9):
    rows = Observations(Lookout(kind, side), len(heroes))
    rows.observations[:], rows.masks[:] = 77, 77
    numbers, zeros = np.arange(len(heroes)), np.zeros(len(heroes), np.int64)
    tables = map_tables_of(map_of(game))
    rows.look(game, tables, Rows(numbers, zeros, zeros, np.array(heroes), np.array(wanted, np.int8)))
    return rows


@pytest.mark.parametrize("kind", ["features", "compact", "planes", "record"])
def test_only_the_wanted_rows_are_written(kind):
    rows = look(kind, STATES[0], [0, 1, 2], [NOTHING, MASK, ALL])
    assert (rows.observations[:2] == 77).all()
    assert (rows.observations[2] != 77).any()
    assert (rows.masks[0] == 77).all()
    assert (rows.masks[1:] <= 1).all()


@pytest.mark.parametrize("side", [3, 9, 57])
def test_planes(side):
    for game in STATES[:: 1 if side == 9 else 9]:
        rows = look("planes", game, range(SEATS), [ALL] * SEATS, side)
        for hero in range(SEATS):
            assert np.array_equal(rows.observations[hero], reference.planes(game, hero, side))
            assert np.array_equal(rows.masks[hero], reference.mask(game, hero))


def test_features_and_records():
    for game in STATES:
        features, records = (look(kind, game, range(SEATS), [ALL] * SEATS) for kind in ("features", "record"))
        for hero in range(SEATS):
            assert np.array_equal(features.observations[hero], reference.features(game, hero))
            assert records.observations[hero].tobytes() == game.tobytes()


def test_compact():
    for game in STATES:
        rows = look("compact", game, range(SEATS), [ALL] * SEATS)
        for hero in range(SEATS):
            assert np.allclose(rows.observations[hero], compact(game, hero), atol=1e-6)


def near(moves):
    return 1 - min(moves, 32) / 32


def compact(game, me):
    """The numbers of `compact`, from distances between squares."""
    tables, cells = map_tables_of(map_of(game))[0], game["cell"][0]
    away = np.minimum(tables["to_square"].reshape(CELLS, CELLS).astype(int), 255)
    mines = tables["mine"][: tables["mines"]]
    heroes, out = [game["hero"][0][(me + step) % SEATS] for step in range(SEATS)], []
    here, size, total = int(heroes[0]["pos"]), int(game["size"][0]), len(mines)
    row, column = row_column(here)
    for hero in heroes:
        pos = int(hero["pos"])
        down, right = row_column(pos)
        out += [hero["life"] / MAX_LIFE, min(np.log1p(hero["gold"]) / 10, 1), hero["mines"] / total]
        out += [near(tables["to_tavern"][pos]), near(away[here, pos]), (down - row) / size, (right - column) / size]
    out += [1 - int(game["turn"][0]) / int(game["max_turns"][0]), 1 - sum(hero["mines"] for hero in heroes) / total]
    out += [size / 28, total / 128]
    mask = reference.mask(game, me)
    foreign = [int(mine) for mine in mines if cells[mine] & TILE_BITS != MINE + 1 + me]
    for move in range(5):
        there = here + int(OFFSET[move])
        walks = cells[there] == 0
        square = there if walks else here
        tile = int(cells[there]) & TILE_BITS
        enemies = [(away[int(hero["pos"]), square], order, hero) for order, hero in enumerate(heroes[1:])]
        nearest = min(enemies, key=lambda found: found[:2])
        out += [mask[move], walks, mask[move] and move and tile >= MINE, mask[move] and move and tile == 2]
        out += [near(min([int(away[mine, square]) for mine in foreign], default=255)), near(tables["to_tavern"][square])]
        out += [near(nearest[0]), (int(heroes[0]["life"]) - int(nearest[2]["life"])) / MAX_LIFE if nearest[0] < 255 else 0]
    assert STRIDE * STRIDE == CELLS
    return np.array(out, np.float32)
