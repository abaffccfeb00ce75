"""Look-ahead: the value of our next moves if no other hero interferes, against trying every sequence."""

from __future__ import annotations

import pytest
from hypothesis import given, settings, strategies as st

from behaviours.classic.lookahead import LookAhead, look_ahead
from sim.board import parse
from sim.game import ABSENT, EAST, STAY, Games, mover, place_heroes
from sim.rules import effective_moves, step
from tests.support.worlds import odd_games, played_games
from vindibot.testing import favourites, view


def alone(games: Games, me: int) -> Games:
    """The game with the other heroes off the board, and no end in sight."""
    games = games.copy()
    for other in range(4):
        if other != me:
            games[0]["hero"][other]["pos"] = games[0]["hero"][other]["spawn"] = ABSENT[other]
    games[0]["status"], games[0]["turn"], games[0]["max_turns"] = 0, me, 1 << 30
    place_heroes(games)
    return games


def every_sequence(games: Games, me: int, depth: int) -> list[int]:
    """The slow twin: plays every sequence by the exact rules; the best final worth by first direction, -1 for none."""
    here = alone(games, me)

    def best(games: Games, left: int) -> int:
        hero = games[0]["hero"][me]
        return max(worths(games, left)) if left else 10 * int(hero["gold"]) + 200 * int(hero["mines"])

    def worths(games: Games, left: int) -> list[int]:
        found = []
        for direction in range(5):
            if effective_moves(games, 0, me) >> direction & 1:
                after = games.copy()
                step(after, 0, direction)
                after[0]["turn"] += 3
                found.append(best(after, left - 1))
            else:
                found.append(-1)
        return found

    return worths(here, depth)


@given(st.one_of(odd_games(), played_games(plies=800)), st.integers(1, 4))
@settings(max_examples=60)
def test_it_equals_trying_every_sequence(games: Games, depth: int) -> None:
    me = mover(games)
    assert look_ahead(games, me, depth).tolist() == every_sequence(games, me, depth)


DEEP = """
    |$-  @1  $2|
    |##    []  |
    |$-      $-|
    |  ##$1##  |
    |$-  @2  $-|
"""


@pytest.mark.parametrize("facts", ["@1 life 100 gold 0", "@1 life 20 gold 3 spawn 2,2", "@1 life 63 gold 1 spawn 4,4"])
def test_seven_moves_equal_trying_every_sequence(facts: str) -> None:
    games = parse(DEEP + facts)
    assert look_ahead(games, 0, 7).tolist() == every_sequence(games, 0, 7)


def test_more_mines_than_a_key_can_tell_apart() -> None:
    """Rows of mines with rows of air between: 74 mines within nine moves, too many to remember positions, 52 within seven."""
    rows = ["$-" * 6 + "  " + "$-" * 6, "  " * 13, "$-" * 6 + "  " + "$-" * 6] * 4 + ["$-" * 13]
    rows[7] = "  " * 6 + "@1" + "  " * 6
    games = alone(parse("\n".join(f"|{row}|" for row in rows)), 0)

    def after(games: Games) -> dict[int, Games]:
        found = {}
        for direction in range(5):
            if effective_moves(games, 0, 0) >> direction & 1:
                found[direction] = games.copy()
                step(found[direction], 0, direction)
                found[direction][0]["turn"] += 3
        return found

    values = look_ahead(games, 0, 9)
    for direction, first in after(games).items():
        assert values[direction] == max(look_ahead(second, 0, 7).max() for second in after(first).values())


def test_the_game_ends_sooner_than_the_look_ahead() -> None:
    board = """
        |@1    $-|
        |########|
    """
    assert favourites(LookAhead(), view(board, turn=1196)) == {STAY, EAST}
    assert favourites(LookAhead(), view(board, turn=1188)) == {EAST}
