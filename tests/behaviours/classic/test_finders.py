"""Tavern finder and mine finder, and what they share."""

from __future__ import annotations

from behaviours.classic.mine import MineFinder
from behaviours.classic.tavern import TavernFinder
from sim.game import EAST, NORTH, SOUTH, STAY, WEST
from vindibot.testing import view

CORRIDOR = """
    |@1        []|
    |##  ########|
    |[]        ##|
"""


def tavern(board: str, **parameters: object) -> object:
    """What the tavern finder of hero 1 says to a board."""
    return TavernFinder(**parameters).vote(view(board))


# ---- Tavern finder ----


def test_low_life_goes_to_the_nearest_tavern() -> None:
    assert tavern(CORRIDOR + "@1 life 30 gold 2") == EAST
    assert tavern(CORRIDOR + "@1 life 31 gold 2") is None
    assert tavern(CORRIDOR + "@1 life 31 gold 2", life_threshold=31) == EAST
    assert tavern("|$1@1      []|\n@1 life 5 gold 0") == EAST, "an income is as good as gold on the way"
    assert tavern("|@1  |\n@1 life 1 gold 9") is None


def test_beside_a_tavern_it_drinks_sooner() -> None:
    board = """
        |[]@1  |
        |##    |
    """
    assert tavern(board + "@1 life 50 gold 2") == {WEST: 20}
    assert tavern(board + "@1 life 51 gold 2") is None
    assert tavern(board + "@1 life 75 gold 2", beer_push=10, beer_life=75) == {WEST: 10}


def test_a_hero_without_gold_does_not_bump_the_tavern_for_ever() -> None:
    board = """
        |[]@1  |
        |##  $1|
        |##  $-|
    """
    poor = board.replace("$1", "$2")
    assert tavern(poor + "@1 life 5 gold 1") is None, "broke: no opinion"
    assert tavern(board + "@1 life 5 gold 1") == STAY, "its mine will pay for the beer"
    assert tavern(CORRIDOR + "@1 life 5 gold 1") is None


def test_heroes_walls_and_mines_are_in_the_way_of_a_beer() -> None:
    board = """
        |@1@2    []|
        |  ########|
        |      $-[]|
        |  ########|
        |        []|
        @1 life 9 gold 9
    """
    assert tavern(board) == SOUTH
    blocked = """
        |@1@2  []|
        |########|
        @1 life 9 gold 9
    """
    assert tavern(blocked) is None


def test_one_of_equally_short_ways_or_all_of_them() -> None:
    board = """
        |@1    |
        |    []|
        @1 life 9 gold 9
    """
    assert tavern(board, every_step=True) == {SOUTH: 1, EAST: 1}
    drawn = {TavernFinder().vote(view(board, seed=seed)) for seed in range(30)}
    assert drawn == {SOUTH, EAST}


def test_the_later_one_walks_around_danger() -> None:
    board = """
        |@1        []|
        |  ####  ####|
        |  ##  @2  ##|
        |  ##########|
        |          []|
        @1 life 9 gold 9
    """
    assert tavern(board) == EAST
    assert tavern(board, avoid_danger=True) == SOUTH


# ---- Mine finder ----

MINES = """
    |$1@1    $2|
    |##  ##  ##|
    |##      $-|
"""


def test_it_goes_to_the_nearest_mine_that_is_not_ours() -> None:
    assert MineFinder().vote(view(MINES)) == EAST
    assert MineFinder().vote(view(MINES.replace("$2", "$1"))) in {EAST, SOUTH}


def test_a_broke_hero_goes_mining() -> None:
    broke = "|[]@1    $-|\n@1 life 3 gold 1"
    assert MineFinder().vote(view(broke)) == EAST
    assert MineFinder(when_broke=False).vote(view(broke)) is None
    assert MineFinder().vote(view(broke.replace("gold 1", "gold 2"))) is None
    assert MineFinder().vote(view(broke.replace("[]", "$1"))) is None


def test_taverns_and_heroes_are_in_the_way_to_a_mine() -> None:
    assert MineFinder().vote(view("|$7@1[]|")) == WEST
    assert MineFinder().vote(view("|@1  $1|\n|$1  ##|")) is None, "all are ours"
    assert MineFinder().vote(view("|@1[]$-|\n|######|")) is None
    assert MineFinder().vote(view("|@1@2$-|\n|######|")) is None


def test_ties_are_drawn_from_the_seed() -> None:
    board = """
        |##$-##|
        |$-@1$-|
        |##$-##|
    """
    drawn = {MineFinder().vote(view(board, seed=seed)) for seed in range(60)}
    assert drawn == {NORTH, SOUTH, EAST, WEST}
    assert len({MineFinder().vote(view(board, seed=7)) for _ in range(5)}) == 1
