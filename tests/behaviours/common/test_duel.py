"""Duels: the exchange and the stand-off against the exact rules, every choice tried."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings, strategies as st

from behaviours.common.duel import duel, killed_by, struck
from sim.board import parse
from sim.game import ABSENT, EAST, NORTH, OFFSET, RUNNING, SOUTH, STAY, TAVERN, TILE_BITS, UNDO, WEST, Games, copy_of
from sim.rules import effective_moves, step, step_saving
from vindibot.testing import view

#: Boards on which two heroes meet: beside each other, in line, across a corner; taverns beside either, both, or none.
MEETINGS = {
    "open": "|@1@2    |\n|        |\n|        |\n|        |",
    "enemy tavern": "|@1@2[]  |\n|        |\n|        |\n|        |",
    "my tavern": "|        |\n|[]@1@2  |\n|        |\n|        |",
    "both taverns": "|[]@1@2[]|\n|        |\n|        |\n|        |",
    "one tavern for both": "|  @1    |\n|  []@2  |\n|        |\n|        |",
    "across a corner": "|@1      |\n|  @2    |\n|        |\n|        |",
    "across a corner, taverns": "|@1[]    |\n|  @2    |\n|  []    |\n|        |",
    "in line": "|@1  @2  |\n|        |\n|        |\n|        |",
    "in line, taverns at both": "|@1  @2  |\n|[]  []  |\n|        |\n|        |",
    "in line, a tavern between": "|##[]##  |\n|@1  @2  |\n|        |\n|        |",
    "a wall between": "|@1##@2  |\n|    ##  |\n|        |\n|        |",
    "far apart": "|@1      |\n|      @2|\n|        |\n|        |",
}
LIVES = st.sampled_from([1, 2, 19, 20, 21, 22, 23, 40, 41, 42, 43, 60, 61, 62, 63, 80, 81, 82, 99, 100])


def meeting(board: str, lives: tuple[int, int], gold: tuple[int, int], incomes: tuple[int, int], turn: int, plies: int) -> Games:
    """A game of two heroes; mines are given to them without being on the board."""
    games = parse(board)
    game = games[0]
    game["turn"], game["max_turns"] = turn, turn + plies
    for hero in (0, 1):
        game["hero"][hero]["life"], game["hero"][hero]["gold"] = lives[hero], gold[hero]
        game["hero"][hero]["mines"] = incomes[hero]
        game["hero"][hero]["spawn"] = ABSENT[2 + hero] - 40 * (1 + hero)  # away from all
    return games


def beside(games: Games) -> bool:
    places = games["hero"]["pos"][0].tolist()
    return places[1] - places[0] in OFFSET[1:]


def best(games: Games, me: int, waits: int) -> int:
    """Return the sign of `duel` for hero `me`, which moves first, by trying everything.

    The choices are those of a duel: beside each other to stay or to drink, two apart to come nearer as well, `waits` times in
    all not to. Third parties only let their turns pass.
    """
    game = games[0]
    while game["status"] == RUNNING and int(game["turn"]) % 4 != me:
        step(games, 0, STAY)
    if game["status"] != RUNNING:
        return 0
    close = beside(games)
    outcomes = []
    for move in range(5):
        there = int(game["cell"][int(game["hero"][me]["pos"]) + int(OFFSET[move])]) & TILE_BITS
        if not effective_moves(games, 0, me) >> move & 1 or (there != TAVERN and move != STAY and close):
            continue
        after, saved = copy_of(games), np.zeros(1, UNDO)
        step_saving(after, 0, move, saved, 0)
        if saved["deaths"][0]:
            return 1
        if beside(after):
            outcomes.append(-best(after, 1 - me, waits))
        elif move == STAY or there == TAVERN:
            outcomes.append(-best(after, 1 - me, waits - 1) if waits > 1 else 0)
    return max(outcomes)


@given(
    st.sampled_from(sorted(MEETINGS)),
    st.tuples(LIVES, LIVES),
    st.tuples(st.integers(0, 5), st.integers(0, 5)),
    st.tuples(st.integers(0, 2), st.integers(0, 2)),
    st.integers(0, 1),
    st.integers(0, 3),
    st.integers(1, 37),
)
@settings(max_examples=300)
def test_a_duel_equals_trying_everything_under_the_exact_rules(
    name: str, lives: tuple[int, int], gold: tuple[int, int], incomes: tuple[int, int], me: int, turn: int, plies: int
) -> None:
    games = meeting(MEETINGS[name], lives, gold, incomes, turn, plies)
    while int(games[0]["turn"]) % 4 != me:
        games[0]["turn"] += 1
        games[0]["max_turns"] += 1
    before = games.tobytes()
    found = duel(games, me, 1 - me)
    assert games.tobytes() == before
    assert np.sign(found) == best(copy_of(games), me, 2)


@given(st.tuples(LIVES, LIVES), st.booleans())
@settings(max_examples=100)
def test_the_life_that_is_left_is_that_of_the_fight(lives: tuple[int, int], at_tavern: bool) -> None:
    games = meeting(MEETINGS["both taverns" if at_tavern else "open"], lives, (0, 0), (0, 0), 0, 400)
    found, saved = duel(games, 0, 1), np.zeros(1, UNDO)
    while not saved["deaths"][0]:
        step_saving(games, 0, STAY, saved, 0)
    winner = 1 if saved["deaths"][0] == 1 else 0
    assert found == (1 - 2 * winner) * int(games[0]["hero"][winner]["life"])


def test_fallen_and_struck() -> None:
    here = view("""
        |  @3    |
        |@2  @4  |
        |  @1$-  |
        |        |
        @1 life 20 spawn 3,3
        @2 life 20 spawn 3,0
        @3 life 20 spawn 0,3
        @4 life 21 spawn 1,3
    """)
    # In the middle it strikes all three; on the mine it dies.
    assert (killed_by(here, NORTH), struck(here, NORTH)) == ([1, 2], [1, 2, 3])
    assert (killed_by(here, STAY), struck(here, STAY)) == ([], [])
    assert (killed_by(here, WEST), struck(here, WEST)) == ([1], [1])
    assert (killed_by(here, EAST), struck(here, EAST)) == ([0], [])
    assert killed_by(here, SOUTH) == []


def test_all_of_a_chain_have_fallen() -> None:
    here = view("""
        |@2@1  @3|
        |        |
        @1 spawn 0,3
        @2 life 1 spawn 0,1
        @3 spawn 1,3
    """)
    # @2 comes back on our square, and we on @3's.
    assert killed_by(here, STAY) == [0, 1, 2]
