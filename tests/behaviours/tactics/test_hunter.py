"""The trait hunter: which enemies it follows and strikes."""

from __future__ import annotations

from behaviours.tactics.hunter import Hunter
from sim.game import EAST
from vindibot.testing import view

PREY = """
    |          |
    |@1  @2    |
    |$2      []|
    |          |
    |          |
"""


def test_a_prey_in_reach_is_struck() -> None:
    assert Hunter(mines=1).vote(view(PREY + "@2 life 20")) == {EAST: 1.0}
    assert Hunter(mines=1).vote(view(PREY + "@2 life 40")) == {EAST: 1.0}
    assert Hunter(mines=1, blows=1).vote(view(PREY + "@2 life 40")) is None
    assert Hunter(mines=1).vote(view(PREY + "@2 life 41")) is None, "three blows"


def test_an_enemy_that_can_drink_in_time_is_no_prey() -> None:
    beside = PREY.replace("|@1  @2    |", "|@1  @2[]  |")
    assert Hunter(mines=1).vote(view(beside + "@2 life 40 gold 2")) is None
    assert Hunter(mines=1).vote(view(beside + "@2 life 40 gold 1")) == {EAST: 1.0}, "it cannot pay"
    assert Hunter(mines=1).vote(view(beside + "@2 life 20 gold 2")) == {EAST: 1.0}, "the first blow kills"
    one_step = PREY.replace("|@1  @2    |", "|@1  @2  []|")
    assert Hunter(mines=1).vote(view(one_step + "@2 life 40 gold 2")) == {EAST: 1.0}
    assert Hunter(mines=1, blows=3).vote(view(one_step + "@2 life 60 gold 2")) is None
    assert Hunter(mines=1, blows=3).vote(view(one_step + "@2 life 60 gold 0")) == {EAST: 1.0}, "one coin is too little"


def test_an_enemy_that_would_win_is_no_prey() -> None:
    board = PREY.replace("[]", "  ")
    assert Hunter(mines=1).vote(view(board + "@2 life 40\n@1 life 23")) == {EAST: 1.0}
    assert Hunter(mines=1).vote(view(board + "@2 life 40\n@1 life 21")) is None


def test_only_a_prey_with_mines_is_worth_it() -> None:
    assert Hunter(mines=1).vote(view(PREY.replace("$2", "$-") + "@2 life 20")) is None
    rich = PREY.replace("|          |", "|      $2$-|", 1)
    assert Hunter(mines=2).vote(view(rich + "@2 life 20")) == {EAST: 2 / 3}
    assert Hunter(mines=3).vote(view(rich + "@2 life 20")) is None


def test_an_enemy_that_runs_away_is_no_prey() -> None:
    board = """
        |              |
        |  @1    @2    |
        |$2            |
        |              |
        |              |
        |              |
        |              |
        @2 life 20
    """
    nearer, farther = board.replace("@2  ", "  @2"), board.replace("  @2", "@2  ")
    assert Hunter(mines=1).vote(view(board, recent=[nearer])) == {EAST: 0.5}, "it came nearer"
    assert Hunter(mines=1).vote(view(board, recent=[farther])) is None
    assert Hunter(mines=1).vote(view(board, recent=[board])) is None
    assert Hunter(mines=1, reach=1).vote(view(board, recent=[nearer])) is None
    assert Hunter(mines=1).vote(view(board)) is None
