"""Maps: texts in and out, our own maps, the map of a running game."""

from __future__ import annotations

import re

import pytest
from hypothesis import given, settings, strategies as st

from sim.game import MINE, Games, equal, mirrored
from sim.maps import ALIASES, MAX_CACHED_MAPS, NAMES, MapError, map_of, named_map, parse_map
from sim.paths import FAR
from sim.rules import step
from tests.support.worlds import moves, odd_games, played_games

SMALL = "@1  \n$-@2\n@3@4".ljust(8)


def test_a_map_as_the_original_reads_it() -> None:
    found = parse_map("\n@2  $7\r\n##@4\n[]@8$x@9\n\n")
    assert found.size == 4
    assert found.starts == [(0, 0), (1, 1), (2, 1), (2, 3)]
    assert found.spawns == mirrored(0, 0, 4)
    assert found.text() == "@1  $7  \n##@2    \n[]@3$-@4\n        \n"


def test_of_two_places_with_one_digit_the_later_counts() -> None:
    found = parse_map("@1@2@3\n@4  @1\n")
    assert found.starts == [(1, 2), (0, 1), (0, 2), (1, 0)]
    assert found.spawns == mirrored(1, 2, 3)


@pytest.mark.parametrize(
    ("text", "line", "column", "message"),
    [
        ("", 1, 1, "empty"),
        ("\n@1@2\n@3??\n", 3, 3, "no square"),
        ("@1@2\n@3@", 2, 3, "no square"),
        ("@1@2 \n@3@4", 1, 5, "odd number"),
        ("@1@2\n@3@4\n  ", 3, 1, "3 lines for 2 columns"),
        ("@1@2\n@3  ", 2, 5, "four heroes, here is @1, @2, @3"),
        ("@1@2@3\n@4@5", 2, 3, "fifth hero"),
        ("##" * 29, 1, 57, "at most 28"),
    ],
)
def test_a_bad_map_is_refused_with_line_and_column(text: str, line: int, column: int, message: str) -> None:
    with pytest.raises(MapError, match=re.escape(message)) as caught:
        parse_map(text)
    assert (caught.value.line, caught.value.column) == (line, column)
    assert str(caught.value).startswith(f"line {line}, column {column}: ")


@settings(max_examples=50)
@given(odd_games())
def test_a_text_gives_back_the_map(games: Games) -> None:
    given_map = map_of(games)
    text = type(given_map)(given_map.tiles, given_map.starts, given_map.spawns)
    if len(set(given_map.starts)) == 4:
        again = parse_map(text.text())
        # The text shows heroes in place of what is below them, and all spawns follow from hero 1's.
        shown = given_map.tiles.copy()
        for row, column in again.starts:
            shown[row, column] = 0
        assert again.tiles.tolist() == shown.tolist()
        assert again.starts == given_map.starts


@pytest.mark.parametrize("name", NAMES)
def test_our_maps_are_fair_and_whole(name: str) -> None:
    found = named_map(name)
    assert found.name == name
    assert found.starts == found.spawns == mirrored(*found.starts[0], found.size)
    assert (found.tiles == found.tiles[::-1]).all()
    assert (found.tiles == found.tiles[:, ::-1]).all()
    game = found.new_game()[0]
    start = int(game["hero"][0]["pos"])
    everything = [*found.mines, *found.taverns, *found.open]
    assert len(found.taverns) >= 4
    assert len(found.mines) >= 4
    assert found.distances[start][everything].max() < FAR
    assert parse_map(found.text()) == found


def test_names() -> None:
    assert sorted(named_map(name).size for name in NAMES) == [10, 12, 14, 16, 18, 20, 22, 24, 26, 28]
    assert list(ALIASES) == ["m1", "m2", "m3", "m4", "m5", "m6"]
    assert named_map("m3") == named_map(NAMES[2])
    with pytest.raises(KeyError):
        named_map("m7")


@settings(max_examples=30)
@given(played_games(), st.lists(moves, max_size=60))
def test_the_map_of_a_game_stays_the_same_object(games: Games, given_moves: list[int]) -> None:
    before = map_of(games)
    for move in given_moves:
        step(games, 0, move)
    assert map_of(games) is before
    assert before.tiles.max() <= MINE
    assert (before.cells[before.mines] == MINE).all()


def test_the_cache_of_maps_is_small() -> None:
    first = named_map("courtyard").new_game()
    kept = map_of(first)
    for column in range(MAX_CACHED_MAPS):
        other = first.copy()
        other[0]["cell"][33 + column] ^= 1
        map_of(other)
    assert map_of(first) is not kept
    assert map_of(first) == kept


def test_equal_maps() -> None:
    one, other = named_map("garden"), parse_map(named_map("garden").text(), "another name")
    assert one == other
    assert hash(one) == hash(other)
    assert one != named_map("quarry")
    assert equal(one.new_game(), other.new_game())
    assert "garden" in repr(one)
