"""Projected gold, the rival and the lead."""

from __future__ import annotations

from behaviours.common.targets import lead, projected_gold, rival
from vindibot.testing import view


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
