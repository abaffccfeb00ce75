"""The traits that use projected gold or the last turns: leader, homecoming, stalemate."""

from __future__ import annotations

import pytest

from behaviours import RECENT_TURNS
from behaviours.common.projection import lead, projected_gold, rival
from behaviours.tactics.home import Homecoming
from behaviours.tactics.leader import Leader
from behaviours.tactics.stalemate import Stalemate
from sim.game import EAST, NORTH, STAY, WEST
from vindibot.testing import view

# ---- Projected gold ----


def test_prospects_are_gold_and_what_the_mines_still_bring() -> None:
    board = """
        |@1  @2$1|
        |$2$2    |
        |      @4|
        |        |
        turn 4 of 14
        @1 gold 5
        @2 gold 3
        @4 gold 20
    """
    here = view(board)
    # Plies 4 to 13: heroes 1 and 2 move three times, the others twice.
    assert projected_gold(here)[:2] == [5 + 3, 3 + 2 * 3]
    assert projected_gold(here)[3] == 20
    assert (rival(here), lead(here)) == (3, 8 - 20)
    other = view(board, me=3)  # up to its turn, without the games between: ply 7
    assert projected_gold(other)[3] == 20
    assert lead(other) == 20 - (3 + 2 * 2)
    assert (rival(view("|@1  |\n|    |")), lead(view("|@1  |\n|    |\n@1 gold 7"))) == (None, 7)


# ---- Leader ----

TWO_MINES = """
    |          |
    |$2  @1  $3|
    |          |
    |@2      @3|
    |          |
"""


def test_the_richer_neighbour_is_robbed() -> None:
    assert Leader().vote(view(TWO_MINES + "@3 gold 10")) == {EAST: 0.5}
    assert Leader().vote(view(TWO_MINES + "@2 gold 10")) == {WEST: 0.5}
    beside = TWO_MINES.replace("|$2  @1  $3|", "|$2@1    $3|")
    assert Leader().vote(view(beside + "@2 gold 10")) == {WEST: 1}
    assert Leader(reach=2).vote(view(beside + "@3 gold 10")) is None


def test_the_mine_must_leave_life() -> None:
    assert Leader().vote(view(TWO_MINES + "@3 gold 10\n@1 life 42")) == {EAST: 0.5}
    assert Leader().vote(view(TWO_MINES + "@3 gold 10\n@1 life 41")) is None
    assert Leader(life=0).vote(view(TWO_MINES + "@3 gold 10\n@1 life 41")) == {EAST: 0.5}


def test_a_leader_without_mines_cannot_be_robbed() -> None:
    assert Leader().vote(view(TWO_MINES.replace("$3", "$-") + "@3 gold 1000")) is None
    assert Leader().vote(view("|@1  |\n|  $-|")) is None


# ---- Homecoming ----

RICH = """
    |[]      $1|
    |    @1  $1|
    |        $-|
    |        $-|
    |@2        |
    @1 gold 5
"""


def test_with_half_of_the_mines_he_goes_home() -> None:
    assert Homecoming().vote(view(RICH)) == {NORTH: 1, WEST: 1}
    assert Homecoming(share=0.6).vote(view(RICH)) is None
    assert Homecoming().vote(view(RICH.replace("$1|", "$-|", 1))) is None


def test_only_a_hero_that_is_ahead_goes_home() -> None:
    behind = RICH + "@2 gold 700"
    assert Homecoming().vote(view(behind)) is None
    assert Homecoming().vote(view(RICH + "@2 gold 600")) == {NORTH: 1, WEST: 1}
    assert Homecoming(ahead=100).vote(view(RICH + "@2 gold 600")) is None


def test_late_in_the_game_any_lead_is_held() -> None:
    poor = RICH.replace("$1|", "$-|", 1)
    assert Homecoming(late=20).vote(view(poor, turn=1200 - 80)) == {NORTH: 1, WEST: 1}
    assert Homecoming(late=20).vote(view(poor, turn=1200 - 84)) is None
    assert Homecoming(late=20).vote(view(poor.replace("$1", "$-"), turn=1200 - 80)) is None, "nothing to hold"


def test_at_home_he_stays_and_drinks_in_time() -> None:
    home = RICH.replace("|[]      $1|", "|[]@1    $1|").replace("|    @1  $1|", "|        $1|")
    assert Homecoming().vote(view(home)) == {STAY: 1}
    assert Homecoming().vote(view(home + "@1 life 61")) == {STAY: 1}
    assert Homecoming().vote(view(home + "@1 life 60")) == {WEST: 1}
    assert Homecoming().vote(view(home + "@1 life 60 gold 1")) == {STAY: 1}


# ---- Stalemate ----

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
