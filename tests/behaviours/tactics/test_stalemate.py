"""The trait stalemate: moves that repeat a situation, and mines that change hands."""

from __future__ import annotations

import pytest

from behaviours import RECENT_TURNS
from behaviours.tactics.stalemate import Stalemate
from sim.game import EAST, STAY
from vindibot.testing import view

LEFT = """
    |        |
    |  @1    |
    |  ##    |
    |$1    $2|
"""
RIGHT = LEFT.replace("|  @1    |", "|    @1  |")


def test_what_led_round_in_circles_is_voted_against() -> None:
    to_and_fro = [LEFT + "@1 last West", RIGHT + "@1 last East"] * 3
    here = view(LEFT + "@1 last West", recent=to_and_fro)
    assert Stalemate().vote(here) == {EAST: -3}
    assert Stalemate(push=2).vote(here) == {EAST: -6}
    assert Stalemate(min_repeats=4).vote(here) is None
    assert Stalemate().vote(view(LEFT + "@1 last West", recent=to_and_fro[2:])) == {EAST: -2}
    assert Stalemate().vote(view(LEFT, recent=to_and_fro[:1])) is None


def test_no_more_than_the_window_is_looked_at() -> None:
    to_and_fro = [LEFT + "@1 last West", RIGHT + "@1 last East"] * (RECENT_TURNS // 2)
    here = view(LEFT + "@1 last West", recent=to_and_fro)
    assert Stalemate().vote(here) == Stalemate().vote(view(LEFT + "@1 last West", recent=to_and_fro[-8:])) == {EAST: -4}
    assert Stalemate(window=RECENT_TURNS).vote(here) == {EAST: -RECENT_TURNS // 2}
    assert Stalemate(window=4).vote(here) == {EAST: -2}
    assert Stalemate(window=3).vote(here) is None, "min_repeats is 2, and it was here once in three turns"
    with pytest.raises(ValueError, match=r"min_repeats \(5\) must be at most window \(4\)"):
        Stalemate(window=4, min_repeats=5)


def test_mines_that_were_lost_before_the_window_do_not_count() -> None:
    board = """
        |        |
        |@1$2    |
        |        |
        |      @2|
    """
    lost = [board.replace("$2", "$1"), board]
    assert Stalemate(push=0).vote(view(board, recent=[*lost * 2, *[board] * 5])) == {EAST: -8, STAY: 0}
    assert Stalemate(push=0).vote(view(board, recent=[*lost, *[board] * 8])) == {STAY: 0}


def test_standing_still_and_bumping_walls_are_loops_too() -> None:
    still = [LEFT + "@1 last Stay"] * 3
    assert Stalemate().vote(view(LEFT + "@1 last Stay", recent=still)) == {STAY: -3}
    wall = [LEFT + "@1 last South"] * 3
    assert Stalemate().vote(view(LEFT + "@1 last South", recent=wall)) == {STAY: -3}


def test_progress_is_no_loop() -> None:
    before = [LEFT.replace("$1", "$-")] * 3
    assert Stalemate().vote(view(LEFT, recent=before)) is None, "a mine was taken"
    came = [LEFT.replace("|  @1    |", "|  @1  @2|")] * 3
    assert Stalemate().vote(view(LEFT, recent=came)) is None, "an enemy has gone"
    assert Stalemate().vote(view(LEFT)) is None


def test_a_mine_that_is_retaken_again_and_again() -> None:
    board = """
        |        |
        |@1$2    |
        |        |
        |      @2|
    """
    ours = board.replace("$2", "$1")
    recent = [board, ours, board, ours]
    assert Stalemate(retake=1, push=0).vote(view(board, recent=recent)) == {EAST: -2, STAY: 0}
    assert Stalemate(retake=1).vote(view(board, recent=[board, ours])) == {EAST: -1}
    assert Stalemate(retake=0).vote(view(board, recent=[ours])) is None
