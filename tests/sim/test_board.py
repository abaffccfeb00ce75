"""Boards as text: what is drawn is read back, and what cannot be read is named."""

from __future__ import annotations

import pytest
from hypothesis import given, settings, strategies as st

from sim.board import BoardError, draw, parse, read_tiles, tile_text
from sim.game import ABSENT, MINE, TAVERN, WALL, Games, equal, row_column
from sim.rules import step
from tests.support.worlds import moves, odd_games, played_games


@settings(max_examples=150)
@given(st.one_of(odd_games(), played_games()), st.lists(moves, max_size=40))
def test_parse_gives_back_what_was_drawn(games: Games, given_moves: list[int]) -> None:
    for move in given_moves:
        step(games, 0, move)
    text = draw(games)
    assert equal(parse(text), games)
    assert draw(parse(text)) == text


def test_a_sketch_is_enough() -> None:
    games = parse("""
        @1  $-
        ##  []
    """)
    game = games[0]
    assert tile_text(games) == "@1  $-##  []######"
    assert [row_column(int(game["hero"][0][place])) for place in ("pos", "spawn")] == [(0, 0), (0, 0)]
    assert [int(hero["pos"]) for hero in game["hero"][1:]] == list(ABSENT[1:])
    assert (game["turn"], game["max_turns"], game["hero"][0]["life"], game["hero"][0]["gold"]) == (0, 1200, 100, 0)
    assert equal(parse(draw(games)), games)


def test_facts_are_read() -> None:
    games = parse("""
        @1$2@2
        turn 7 of 40 training
        @1 life 20 gold 3 spawn 0,2 last West crashed
        @2 mines 1
    """)
    game, hero = games[0], games[0]["hero"][0]
    assert (game["turn"], game["max_turns"], game["training"], game["status"]) == (7, 40, 1, 0)
    assert (hero["life"], hero["gold"], hero["last_dir"], hero["crashed"]) == (20, 3, 4, 1)
    assert row_column(int(hero["spawn"])) == (0, 2)
    assert game["hero"][1]["mines"] == 1


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "no board"),
        ("@1??\n    ", r"row 0, column 1: '\?\?'"),
        ("@1  \n@1  ", "row 1, column 0: hero 1 is shown twice"),
        ("|@1  |\n@2  ", "does not begin with a bar"),
        ("|" + "  " * 29 + "##|", "at most 28"),
        ("@1  $\n    ", "odd number"),
        ("@1  \nturn x", "line 2: 'x' is no number"),
        ("@1  \n@1 life 0", "line 2: '0' is no number from 1 to 100"),
        ("@1  \n@1 mines 2", "line 2: hero 1 owns 0 mines"),
        ("@1  \n@1 at 0,1", "shown in the picture"),
        ("@1  \n@1 last Up", "line 2: 'Up' is no direction"),
        ("@1  \nturn 1\nsomething", "line 3: 'something'"),
    ],
)
def test_what_cannot_be_read_is_named(text: str, message: str) -> None:
    with pytest.raises(BoardError, match=message):
        parse(text)


def test_tiles_of_the_wire() -> None:
    tiles, heroes = read_tiles("##[]$-$4@3  $0@1  ", 3)
    assert tiles.tolist() == [[WALL, TAVERN, MINE], [MINE + 4, 0, 0], [MINE + 10, 0, 0]]
    assert heroes == [(2, 1), None, (1, 1), None]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("##[]", "18 characters of tiles, not 4"),
        ("##" * 7 + "é ##", "row 2, column 1"),
        ("##" * 8 + "$x", "row 2, column 2: '\\$x'"),
    ],
)
def test_tiles_that_cannot_be_read(text: str, message: str) -> None:
    with pytest.raises(BoardError, match=message):
        read_tiles(text, 3)


@given(st.text(max_size=60))
def test_nothing_but_a_board_error_comes_out_of_parse(text: str) -> None:
    try:
        games = parse(text)
    except BoardError:
        return
    assert equal(parse(draw(games)), games)
