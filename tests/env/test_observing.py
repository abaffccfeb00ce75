"""The observations: features compared with those of nets, and all others with what was recorded."""

from __future__ import annotations

import hashlib

import numpy as np
import pytest

from behaviours.common.map_tables import map_tables_of
from sim.game import SEATS
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


#: Digests of what the kernel wrote when it equalled a second implementation, square by square. A failing test shows the new one.
RECORDED = {
    ("planes", 3): "59c3a4249c555571",
    ("planes", 9): "cc090f116d660338",
    ("planes", 57): "3039521edb9845f2",
    ("compact", 9): "7525a592ae168b26",
}


@pytest.mark.parametrize(("kind", "side"), RECORDED)
def test_planes_and_compact_numbers_are_those_that_were_recorded(kind, side):
    digest = hashlib.sha256()
    for game in STATES:
        rows = look(kind, game, range(SEATS), [ALL] * SEATS, side)
        found = rows.observations if kind == "planes" else np.rint(rows.observations * 1000).astype(np.int64)
        digest.update(np.ascontiguousarray(found).tobytes())
    assert digest.hexdigest()[:16] == RECORDED[kind, side]


def test_features_and_records():
    for game in STATES:
        features, records = (look(kind, game, range(SEATS), [ALL] * SEATS) for kind in ("features", "record"))
        for hero in range(SEATS):
            assert np.array_equal(features.observations[hero], reference.features(game, hero))
            assert records.observations[hero].tobytes() == game.tobytes()
            assert np.array_equal(records.masks[hero], reference.mask(game, hero))
