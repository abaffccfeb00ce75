"""The traits that choose their fights: hunter, tavern peace, feeding, landing."""

from __future__ import annotations

from behaviours.tactics.feeding import Feeding
from behaviours.tactics.hunter import Hunter
from behaviours.tactics.landing import Landing
from behaviours.tactics.peace import TavernPeace
from sim.game import EAST, NORTH, STAY, WEST
from vindibot.testing import view

# ---- Hunter ----

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


# ---- Tavern peace ----

DRINKER = """
    |  []  |
    |  @2  |
    |    @1|
    @2 gold 2
"""


def test_an_enemy_that_can_drink_is_left_alone() -> None:
    assert TavernPeace().vote(view(DRINKER)) == {NORTH: -1, WEST: -1}
    assert TavernPeace().vote(view(DRINKER.replace("gold 2", "gold 1"))) is None
    assert TavernPeace().vote(view(DRINKER.replace("[]", "  "))) is None


def test_but_not_if_the_blow_kills_it() -> None:
    assert TavernPeace().vote(view(DRINKER + "@2 life 20")) is None
    assert TavernPeace().vote(view(DRINKER + "@2 life 21")) == {NORTH: -1, WEST: -1}


def test_where_we_can_drink_as_well_we_may_stand() -> None:
    board = """
        |[][]  |
        |@1@2  |
        |      |
        @1 gold 9
        @2 gold 2
    """
    assert TavernPeace().vote(view(board)) is None
    assert TavernPeace(strict=True).vote(view(board)) == {STAY: -1, NORTH: -1}
    assert TavernPeace().vote(view(board.replace("gold 9", "gold 0"))) == {STAY: -1}


# ---- Feeding ----

OWN = "$1$1$1$1"


def test_a_kill_on_the_enemys_spawn_square_costs_all_mines() -> None:
    board = """
        |@1@2    |
        |        |
        |        |
        |$1$1$1$1|
        @1 spawn 2,3
        @2 life 20 spawn 0,0
    """
    # It respawns on top of us; one step down we do not strike it.
    assert Feeding(exposed=0).vote(view(board)) == {STAY: -1}
    assert Feeding().vote(view(board.replace("$1", "$-"))) is None, "nothing to lose"
    assert Feeding().vote(view(board + "@2 life 21")) is None


def test_a_kill_that_brings_the_enemy_back_beside_us() -> None:
    board = """
        |@1@2    |
        |        |
        |        |
        |$1$1$-$-|
        @1 life 50 spawn 2,3
        @2 life 20 spawn 1,0
    """
    # After the blow, it stands below us with 100 life, and is to move.
    assert Feeding(exposed=0).vote(view(board)) == {STAY: -0.25}
    assert Feeding(exposed=0, beside=2).vote(view(board)) == {STAY: -1}
    assert Feeding(exposed=0).vote(view(board.replace("spawn 1,0", "spawn 2,2"))) is None


def test_the_spawn_square_of_an_enemy_that_may_die_is_voted_against() -> None:
    board = """
        |      @3@2|
        |          |
        |@1        |
        |          |
        |$1$1$1$1  |
        @1 spawn 3,3
        @2 life 20 spawn 2,1
        @3 spawn 3,4
    """
    assert Feeding().vote(view(board)) == {EAST: -1}
    assert Feeding().vote(view(board + "@2 life 21")) is None
    assert Feeding(low=30).vote(view(board + "@2 life 21")) == {EAST: -1}
    assert Feeding().vote(view(board.replace("@3", "  ").replace("  spawn 3,4", ""))) is None, "no hero near it"
    assert Feeding().vote(view(board.replace("@3@2", "$-@2").replace("@3 spawn 3,4", ""))) == {EAST: -0.8}, "a goblin is"
    assert Feeding().vote(view(board.replace("@3@2", "$2@2").replace("@3 spawn 3,4", ""))) is None, "but not in its own mine"


def test_our_own_death_by_the_goblin_is_not_feeding() -> None:
    board = """
        |@1$-    |
        |        |
        |        |
        |$1    @2|
        @1 life 20 spawn 3,3
        @2 spawn 0,3
    """
    assert Feeding().vote(view(board)) is None


# ---- Landing ----

CAMPER = """
    |@1$-    |
    |        |
    |        |
    |$2$2  @2|
    @1 life 20 spawn 3,3
    @2 spawn 3,0
"""


def test_dying_on_top_of_a_camper_brings_its_mines() -> None:
    here = view(CAMPER)
    assert Landing().vote(here) == {EAST: 1}
    assert here.after(EAST)["hero"]["mines"][0].tolist() == [2, 0, 0, 0]


def test_no_death_for_fewer_mines_than_it_costs() -> None:
    assert Landing(mines=2).vote(view(CAMPER)) == {EAST: 1}
    assert Landing(mines=3).vote(view(CAMPER)) is None
    assert Landing().vote(view(CAMPER.replace("$2$2", "$2$1"))) is None
    assert Landing().vote(view(CAMPER.replace("@2 spawn 3,0", "@2 spawn 3,3"))) is None, "it would respawn on top of us"
    assert Landing().vote(view(CAMPER + "@1 life 21")) is None, "the mine would not kill"
    assert Landing().vote(view(CAMPER.replace("  @2|", "@2  |"))) is None, "it stands beside the spawn square"


def test_walking_to_the_mine_needs_a_camper_that_stays() -> None:
    board = CAMPER.replace("|@1$-    |", "|@1  $-  |").replace("$2$2", "##$2")
    there, elsewhere = [board, board], [board.replace("  @2|", "@2  |"), board]
    assert Landing().vote(view(board, recent=there)) == {EAST: 0.5}
    assert Landing().vote(view(board, recent=elsewhere)) is None
    assert Landing().vote(view(board)) is None
    assert Landing(camping=0).vote(view(board)) == {EAST: 0.5}
    assert Landing(reach=1).vote(view(board, recent=there)) is None
    assert Landing().vote(view(board + "@1 life 21", recent=there)) == {EAST: 0.5}, "the step costs one"
    assert Landing().vote(view(board + "@1 life 22", recent=there)) is None
