"""The traits of the sparring bots."""

from __future__ import annotations

from behaviours.sparring.camp import Camp
from behaviours.sparring.dodge import Dodge
from behaviours.sparring.goals import GoalScorer
from behaviours.sparring.maxn import MaxN
from behaviours.sparring.rules import DecisionList
from behaviours.sparring.stall import Stall
from sim.game import EAST, SOUTH, STAY, WEST
from vindibot.testing import favourites, view

# ---- Decision list ----

ALONE = """
    |$-@1  []|
    |        |
    |        |
    |        |
"""
BESIDE = """
    |@1@2    |
    |        |
    |        |
    |    []$2|
"""


def test_the_first_rule_that_applies_decides() -> None:
    assert DecisionList(rules=("mine", "rest")).vote(view(ALONE)) == {WEST: 1.0}
    assert DecisionList(rules=("rest", "mine")).vote(view(ALONE)) == {EAST: 1.0}
    assert DecisionList(rules=("kill", "strike", "hunt")).vote(view(ALONE)) is None
    assert DecisionList(rules=()).vote(view(ALONE)) is None


def test_a_mine_needs_life() -> None:
    assert DecisionList(rules=("mine",), reserve=5).vote(view(ALONE + "@1 life 26")) == {WEST: 1.0}
    assert DecisionList(rules=("mine",), reserve=5).vote(view(ALONE + "@1 life 25")) is None


def test_it_goes_to_a_tavern_and_drinks_by_its_life() -> None:
    tavern = DecisionList(rules=("drink", "tavern"), drink=60, thirst=30)
    assert tavern.vote(view(ALONE + "@1 life 31 gold 2")) is None
    assert tavern.vote(view(ALONE + "@1 life 30 gold 2")) == {EAST: 1.0}
    assert tavern.vote(view(ALONE + "@1 life 30 gold 0")) is None, "it cannot pay"
    beside = ALONE.replace("$-@1  []", "$-  @1[]")
    assert tavern.vote(view(beside + "@1 life 60 gold 2")) == {EAST: 1.0}
    assert tavern.vote(view(beside + "@1 life 61 gold 2")) is None


def test_it_fights_and_flees_by_the_lives() -> None:
    fights = DecisionList(rules=("kill", "strike", "flee"))
    assert fights.vote(view(BESIDE + "@2 life 20")) == {STAY: 1.0}
    assert fights.vote(view(BESIDE + "@2 life 60")) == {STAY: 1.0}
    assert fights.vote(view(BESIDE + "@1 life 30\n@2 life 90")) == {SOUTH: 1.0}


def test_it_hunts_weaker_heroes_with_mines() -> None:
    board = BESIDE.replace("|@1@2    |", "|@1    @2|")
    hunts = DecisionList(rules=("hunt",), reach=4, margin=5)
    assert hunts.vote(view(board + "@2 life 50")) == {EAST: 1.0}
    assert hunts.vote(view(board + "@2 life 99")) is None
    assert DecisionList(rules=("hunt",), reach=2).vote(view(board + "@2 life 50")) is None
    assert DecisionList(rules=("hunt",), greed=2).vote(view(board + "@2 life 50")) is None


# ---- Camp ----

CAMP = """
    |$-@1[]  |
    |        |
    |        |
    |      @2|
"""


def test_a_camper_takes_the_mines_around_its_tavern() -> None:
    assert Camp().vote(view(CAMP)) == {WEST: 1.0}
    assert Camp().vote(view(CAMP.replace("$-", "$1"))) == STAY
    far = "|$-              []@1|\n" + "|                    |\n" * 9
    assert Camp(leash=6).vote(view(far)) == STAY
    assert Camp(leash=12).vote(view(far)) != STAY


def test_a_camper_stays_and_drinks_with_an_enemy_near() -> None:
    near = CAMP.replace("|        |", "|    @2  |", 1).replace("|      @2|", "|        |")
    assert Camp().vote(view(near)) == STAY
    assert Camp().vote(view(near + "@1 life 80 gold 2")) == {EAST: 1.0}
    assert Camp(guard=1).vote(view(near)) == {WEST: 1.0}


# ---- Dodge ----


def test_a_dodger_keeps_away_from_stronger_heroes_only() -> None:
    board = "|@1  @2  |\n|        |\n|        |\n|        |"
    weak = Dodge().vote(view(board + "\n@1 life 30"))
    assert isinstance(weak, dict)
    assert weak[EAST] < weak[STAY] < weak[SOUTH] < 0
    assert Dodge().vote(view(board + "\n@2 life 10")) is None
    assert Dodge(reach=1).vote(view(board.replace("@2  ", "  @2") + "\n@1 life 30")) is None


# ---- Stall ----


def test_a_staller_waits_at_the_tavern_with_an_enemy_near() -> None:
    board = "|[]@1    |\n|        |\n|        |\n|      @2|"
    near = "|[]@1  @2|\n|        |\n|        |\n|        |"
    assert Stall().vote(view(board)) is None
    assert Stall().vote(view(near)) == STAY
    assert Stall().vote(view(near + "\n@1 life 70 gold 2")) == {WEST: 1.0}
    assert Stall().vote(view(near.replace("@1  @2", "  @1@2"))) == {WEST: 1.0}


def test_a_staller_keeps_a_lead() -> None:
    board = "|[]    @1|\n|        |\n|        |\n|@2      |"
    assert Stall(lead=100).vote(view(board + "\n@1 gold 99")) is None
    assert Stall(lead=100).vote(view(board + "\n@1 gold 100")) == {WEST: 1.0}


# ---- Goal scorer ----


def test_a_scorer_takes_the_nearest_mine() -> None:
    assert favourites(GoalScorer(), view(ALONE)) == {WEST}
    assert GoalScorer().vote(view(ALONE.replace("$-", "$1"))) is None
    assert favourites(GoalScorer(), view(ALONE + "@1 life 15 gold 10")) == {EAST}


def test_a_scorer_prefers_the_mine_of_the_richest() -> None:
    board = "|$-  @1  $2|\n|          |\n|          |\n|          |\n|@2        |\n@2 gold 50"
    assert favourites(GoalScorer(leader=1), view(board)) == {EAST}


# ---- Max-n ----


def test_max_n_takes_a_mine_and_drinks() -> None:
    assert favourites(MaxN(), view(ALONE)) == {WEST}
    assert favourites(MaxN(), view(ALONE.replace("$-@1  []", "$-  @1[]") + "@1 life 20 gold 10")) == {EAST}
