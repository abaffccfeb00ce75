"""Distances and next steps, on boards a person can read and against the plainest search there is."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings, strategies as st

from sim.board import parse
from sim.game import AIR, CELLS, HERO_SHIFT, OFFSET, SOUTH, STRIDE, TILE_BITS, WALL, Games, square
from sim.maps import map_of
from sim.paths import FAR, NOTHING_BLOCKED, all_pairs, distances_from, next_steps, step_table
from tests.support.worlds import odd_games, played_games


def shown(distances: np.ndarray, size: int) -> list[str]:
    """Distances as a picture; `.` is far."""
    board = distances.reshape(STRIDE, STRIDE)[1 : size + 1, 1 : size + 1].tolist()
    return ["".join("." if distance == FAR else str(distance) for distance in row) for row in board]


def bits(*directions: int) -> int:
    return sum(1 << direction for direction in directions)


def test_distances_from_a_tavern() -> None:
    games = parse("""
        |      ##  |
        |  ##[]##  |
        |      ##@1|
        |$-##    $-|
        |##    ####|
    """)
    distances = distances_from(games, 0, map_of(games).taverns)
    assert shown(distances, 5) == ["321..", "4.0..", "321..", "4.234", ".43.."]
    assert next_steps(games, 0, 0, distances) == 0


def test_heroes_are_in_the_way_or_not() -> None:
    games = parse("""
        |@1@2[]|
        |      |
        |      |
    """)
    taverns = map_of(games).taverns
    around = distances_from(games, 0, taverns)
    assert shown(around, 3) == ["410", "321", "432"]
    assert next_steps(games, 0, 0, around) == bits(SOUTH)
    through = distances_from(games, 0, taverns, through_heroes=True)
    assert shown(through, 3) == ["210", "321", "432"]
    # The way leads through hero 2, who is beside us now: a step against it has no effect. Only the result with
    # `through_heroes` contains it.
    assert next_steps(games, 0, 0, through, through_heroes=True) == bits(3)
    assert next_steps(games, 0, 0, through) == 0


def test_a_source_beside_us_is_a_step_and_our_own_square_is_none() -> None:
    games = parse("@1$-\n##  ")
    mines = map_of(games).mines
    assert next_steps(games, 0, 0, distances_from(games, 0, mines)) == bits(3)
    own = np.array([square(0, 0)])
    assert next_steps(games, 0, 0, distances_from(games, 0, own)) == 0
    assert (distances_from(games, 0, np.zeros(0, np.int64)) == FAR).all()
    assert (distances_from(games, 0, [-5, 3, CELLS + 7]) == FAR).all()


def plain_distances(games: Games, sources: list[int], blocked: np.ndarray, through: bool) -> dict[int, int]:
    """Ring after ring, by the definition."""
    cell = games[0]["cell"]
    distances = dict.fromkeys(sources, 0)
    ring, rounds = list(sources), 0
    while ring:
        rounds += 1
        beside = {here + int(step) for here in ring for step in OFFSET[1:]}
        reached = [there for there in beside if there not in distances and cell[there] & TILE_BITS != WALL]
        distances.update(dict.fromkeys(reached, rounds))
        ring = [
            there
            for there in reached
            if cell[there] & TILE_BITS == AIR and not blocked[there] and (through or not cell[there] >> HERO_SHIFT)
        ]
    return distances


@settings(max_examples=60)
@given(st.one_of(odd_games(), played_games()), st.data())
def test_distances_are_those_of_the_plain_search(games: Games, data: st.DataObject) -> None:
    size = int(games[0]["size"])
    inside = st.tuples(st.integers(0, size - 1), st.integers(0, size - 1)).map(lambda place: square(*place))
    sources = data.draw(st.lists(inside, max_size=5))
    blocked = np.zeros(CELLS, np.uint8)
    blocked[data.draw(st.lists(inside, max_size=8))] = 1
    through = data.draw(st.booleans())
    found = distances_from(games, 0, np.array(sources, np.int64), blocked, through)
    assert {int(place): int(found[place]) for place in np.flatnonzero(found != FAR)} == plain_distances(
        games, sources, blocked, through
    )
    # Every step that is offered is the beginning of a way of the promised length, and there is one wherever there is a way.
    for hero in range(4):
        pos = int(games[0]["hero"][hero]["pos"])
        mask = next_steps(games, 0, hero, found, blocked, through)
        if 0 < found[pos] < FAR:
            assert mask
        for direction in range(5):
            if mask >> direction & 1:
                there = pos + int(OFFSET[direction])
                assert found[there] == found[pos] - 1


@settings(max_examples=10)
@given(played_games(plies=0))
def test_all_pairs_are_single_sources(games: Games) -> None:
    found = map_of(games)
    table = found.distances
    assert (table == table.T).all()
    assert table is found.distances
    assert (table == all_pairs(found.cells)).all()
    for source in (found.open[0], found.mines[0], found.taverns[-1], found.open[-1]):
        single = distances_from(games, 0, [source], NOTHING_BLOCKED, True)
        assert (table[source] == single).all()


@settings(max_examples=20)
@given(played_games())
def test_steps_of_the_table_lead_nearer(games: Games) -> None:
    """The lowest direction to a square that is one nearer and can be walked on, or is where the way ends."""
    where = map_of(games)
    for source in (*where.taverns[:2].tolist(), *where.mines[:2].tolist()):
        distances = where.distances[source]
        steps = step_table(where.cells, distances)
        for place in range(STRIDE, CELLS - STRIDE):
            near = [place + int(offset) for offset in OFFSET]
            fits = [way for way in range(1, 5) if distances[near[way]] == distances[place] - 1]
            fits = [way for way in fits if where.cells[near[way]] == AIR or distances[near[way]] == 0]
            assert steps[place] == (fits[0] if fits else 0)
