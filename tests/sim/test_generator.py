"""The map generator: what every map must be, and the original's statistics."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import event, given, settings, strategies as st

from sim.game import AIR, MINE, TAVERN, WALL, mirrored
from sim.generator import GeneratorError, generate
from sim.maps import Map
from sim.paths import FAR

#: Of 1000 maps of the original each: mean and standard deviation of walls, air and mines per map, of the spawn's row and
#: column, and of the first tavern's row and column in the upper half.
ORIGINAL = {
    (10, 20, 5): [
        (21.160, 10.412),
        (68.252, 10.776),
        (6.588, 3.357),
        (1.058, 0.808),
        (1.066, 0.817),
        (2.183, 1.526),
        (2.275, 1.465),
    ],
    (18, 25, 6): [
        (103.516, 41.021),
        (198.972, 39.928),
        (17.512, 7.870),
        (3.277, 2.002),
        (3.146, 1.971),
        (4.124, 2.677),
        (4.477, 2.586),
    ],
    (28, 35, 4): [
        (418.540, 123.519),
        (339.760, 117.807),
        (21.700, 10.635),
        (6.574, 3.291),
        (6.248, 3.379),
        (6.900, 3.853),
        (7.140, 3.806),
    ],
}

#: Of 4000 arena maps of the original, by size: the share of walls, the mean number of mines.
ARENA = {
    10: (0.267, 6.94),
    12: (0.309, 8.41),
    14: (0.318, 10.92),
    16: (0.327, 13.44),
    18: (0.344, 16.07),
    20: (0.351, 19.27),
    22: (0.338, 25.87),
    24: (0.355, 27.85),
    26: (0.378, 32.14),
    28: (0.364, 39.23),
}


def measured(found: Map) -> list[float]:
    tiles = found.tiles
    tavern = np.argwhere(tiles == TAVERN)[0]
    return [*(np.count_nonzero(tiles == tile) for tile in (WALL, AIR, MINE)), *found.spawns[0], *tavern]  # type: ignore[list-item]


@settings(max_examples=100)
@given(st.integers(0, 2**64 - 1), st.sampled_from(range(8, 29, 2)), st.integers(0, 41), st.integers(2, 20))
def test_every_map_is_fair_and_one_piece(seed: int, size: int, walls: int, mines: int) -> None:
    try:
        found = generate(seed, size, walls, mines)
    except GeneratorError as problem:
        event(str(problem))  # it happens to some percentages, and says why
        return
    tiles = found.tiles
    assert found.size == size
    assert (tiles == tiles[::-1]).all()
    assert (tiles == tiles[:, ::-1]).all()
    assert found.starts == found.spawns == mirrored(*found.spawns[0], size)
    assert max(found.spawns[0]) <= size // 2 - 3
    assert len(set(found.spawns)) == 4
    assert all(tiles[spawn] == AIR for spawn in found.spawns)
    assert len(found.taverns) == 4
    assert len(found.mines) >= 4
    start = int(found.new_game()[0]["hero"][0]["pos"])
    assert found.distances[start][[*found.mines, *found.taverns, *found.open]].max() < FAR


def test_the_same_seed_gives_the_same_map_for_ever() -> None:
    assert generate(7) == generate(7)
    assert generate(7) != generate(8)
    assert generate(-1) == generate(2**64 - 1)
    assert generate(2014, 10, 25, 6).text().splitlines() == [
        "      ##    ##      ",
        "##$-            $-##",
        "    @1  ####  @4    ",
        "  []            []  ",
        "$-                $-",
        "$-                $-",
        "  []            []  ",
        "    @2  ####  @3    ",
        "##$-            $-##",
        "      ##    ##      ",
    ]


def test_what_is_drawn_for_one_argument_does_not_depend_on_the_others() -> None:
    drawn = generate(99)
    assert generate(99, size=drawn.size) == drawn
    assert generate(99, walls=15).size == drawn.size


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"size": 6}, "Board is too small"),
        ({"size": 11}, "Board size is odd"),
        ({"size": 30}, "Board is too large"),
        ({"walls": 101}, "101 percent of walls"),
        ({"mines": -1}, "-1 percent of mines"),
        ({"size": 10, "walls": 100, "mines": 0}, "Can't find a good starting position"),
        ({"size": 10, "walls": 10, "mines": 0}, "Board has no mine"),
    ],
)
def test_refusals(arguments: dict[str, int], message: str) -> None:
    with pytest.raises(GeneratorError, match=message):
        generate(1, **arguments)


@pytest.mark.parametrize("arguments", ORIGINAL)
def test_statistics_of_the_original(arguments: tuple[int, int, int]) -> None:
    """Means within four standard errors of the difference (ours of 1000 maps, the original's of 1000), spreads within 15 %."""
    numbers = np.array([measured(generate(seed, *arguments)) for seed in range(1000)], float)
    for ours, spread, (mean, deviation) in zip(numbers.mean(0), numbers.std(0), ORIGINAL[arguments], strict=True):
        assert abs(ours - mean) < 4 * deviation * np.sqrt(2 / 1000)
        assert abs(spread / deviation - 1) < 0.15


def test_arena_statistics_of_the_original() -> None:
    by_size: dict[int, list[list[float]]] = {}
    for seed in range(2000):
        found = generate(seed)
        by_size.setdefault(found.size, []).append(measured(found))
    for size, (walls, mines) in ARENA.items():
        numbers = np.array(by_size[size])
        share = numbers[:, 0] / size**2
        error = np.sqrt(1 / len(numbers) + 1 / 400)
        assert abs(share.mean() - walls) < 4 * share.std() * error
        assert abs(numbers[:, 2].mean() - mines) < 4 * numbers[:, 2].std() * error
