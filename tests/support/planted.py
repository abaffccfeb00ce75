"""Bad moves on boards that a person can read, each with the words that a review must find for it."""

from __future__ import annotations

from dataclasses import dataclass

from sim.game import EAST, SOUTH, STAY

#: Number of rounds before the turn in which the hero stood where it stands.
WAITED = 14
#: Three heroes that take no part in the game.
ASLEEP = "@2 crashed\n@3 crashed\n@4 crashed"


@dataclass(frozen=True)
class Planted:
    """A bad move of hero 1: the board before it, the direction, and the kind. `waited`: the hero stood there for some rounds."""

    kind: str
    board: str
    move: int
    waited: bool = False


PLANTED = (
    Planted(
        "left a tavern open",
        """
        |##[]####    ##|
        |##@1  @2    $-|
        |######      $1|
        |##    ##    $1|
        |            $1|
        |  @3      @4  |
        |##    []    ##|
        turn 400 of 1200
        @1 life 10 gold 50
        @2 life 90
        """,
        EAST,
    ),
    Planted(
        "walked into a fight",
        """
        |##  ##[]##  ##|
        |  @1    @2  $1|
        |          ##$1|
        |##    ##    $1|
        |            $1|
        |  @3      @4  |
        |##    []    ##|
        turn 400 of 1200
        @1 life 35 gold 50
        @2 life 95
        """,
        EAST,
    ),
    Planted(
        "stood still",
        """
        |##  ##  ##  ##|
        |  @1  @2    $1|
        |          ##$1|
        |##    ##    $1|
        |            $1|
        |  @3      @4  |
        |##    ##    ##|
        turn 400 of 1200
        @1 life 15 gold 50
        @2 life 95
        """,
        STAY,
    ),
    Planted(
        "drank too late",
        """
        |##[]####    ##|
        |##@1  @2    $-|
        |######      $1|
        |##    ##    $1|
        |            $1|
        |  @3      @4  |
        |##    []    ##|
        turn 400 of 1200
        @1 life 10 gold 50
        @2 life 90
        """,
        STAY,
    ),
    Planted(
        "passed by a mine",
        f"""
        |##$-##    ##  |
        |$-@1$-        |
        |              |
        |##            |
        |  []        ##|
        |  @3  ##  @4  |
        |  @2        ##|
        turn 400 of 1200
        @1 life 100 gold 50
        {ASLEEP}
        """,
        SOUTH,
    ),
    Planted(
        "stalled",
        f"""
        |##$-##    ##  |
        |$-@1$-$-$-$-  |
        |      $-  $-$-|
        |##    []    $-|
        |  $-        ##|
        |  @3  ##  @4  |
        |  @2  []    ##|
        turn 400 of 1200
        @1 life 100 gold 50
        {ASLEEP}
        """,
        STAY,
        True,
    ),
)
