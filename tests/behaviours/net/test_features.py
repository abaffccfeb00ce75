"""The features of a net: what was recorded of all slots, the groups of features, and duels blow by blow."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest

from behaviours.common.duel import exchange
from behaviours.common.map_tables import map_tables_of
from behaviours.net.features import FEATURES, FOUND, GROUPS, MOVE_SLOTS, STATE_SLOTS
from behaviours.net.move_features import SLOTS
from behaviours.net.object_features import NEAR_MINES, duel_results
from sim.game import Games, mover
from sim.maps import map_of
from tests.support.nets import features_in
from tests.support.positions import digest, played_positions, small_positions

#: Digests of the features when they equalled a second implementation in Python. A failing test shows the new ones.
RECORDED = {
    "small boards": (small_positions(7, 200), ("d986b25b27c8dc91", "9d67bf8a9ec14101")),
    "played games": (played_positions(7, 15), ("a061ada305fb4d9b", "c407eb31964bb76e")),
}


def all_features(games: Games) -> tuple[np.ndarray, np.ndarray]:
    """Return the features of the position, and of the five moves (5 x `MOVE_SLOTS`), of the hero to move."""
    found = np.zeros(1, FOUND)
    features_in(games, 0, mover(games), map_tables_of(map_of(games)), found)
    return found["state"][0], found["moves"][0].reshape(5, MOVE_SLOTS)


@pytest.mark.parametrize(("positions", "recorded"), RECORDED.values(), ids=RECORDED)
def test_features_are_those_that_were_recorded(positions: Iterator[Games], recorded: tuple[str, str]) -> None:
    states, moves = zip(*(all_features(games) for games in positions), strict=True)
    assert (digest(states), digest(moves)) == recorded


def test_groups_do_not_overlap() -> None:
    """The features of a slot lie in one group, and no other slot has features of this group, except those of the enemies."""
    ends = np.cumsum(list(GROUPS.values()))
    seen: dict[int, set[str]] = {}
    for games in [*small_positions(9, 100), *played_positions(9, 5)]:
        state, moves = all_features(games)
        assert len(state) == STATE_SLOTS
        for slot, number in enumerate(state.tolist()):
            if number:
                seen.setdefault(int(np.searchsorted(ends, number, "right")), set()).add(f"position {slot}")
        for row in moves[moves[:, 0] >= 0]:
            for slot in (SLOTS + np.flatnonzero(row[SLOTS:])).tolist():
                seen.setdefault(int(np.searchsorted(ends, row[slot], "right")), set()).add(f"move {slot}")
    assert set(seen) == set(range(1, len(GROUPS)))
    several = {"enemy": 3, "mines: way x nearer x owner x race x life": NEAR_MINES}
    for group, slots in seen.items():
        name = list(GROUPS)[group]
        assert len(slots) == several.get(name, several.get(name.partition(":")[0], 1)), name
    assert sum(GROUPS.values()) == FEATURES


def test_results_of_duels_are_those_of_exchanges() -> None:
    """All lives, with and without taverns, against the kernel that plays a duel blow by blow."""
    results = duel_results().reshape(2, 2, 101, 101)
    for drinks, its_drinks in ((False, False), (False, True), (True, False), (True, True)):
        for life in range(1, 101):
            for its_life in range(1, 101, 3):
                left = exchange.py_func(life, 999, 0, drinks, its_life, 999, 0, its_drinks, 64)
                expected = 0 if left == 0 else int(np.sign(left)) * min(1 + (abs(left) - 1) // 20, 4)
                assert results[int(drinks), int(its_drinks), life, its_life] == 4 + expected
