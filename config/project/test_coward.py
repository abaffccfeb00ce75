"""Tests of my trait; `python -m pytest` runs them."""

from pathlib import Path

import pytest
from coward import Coward

from behaviours import STAY, WEST
from vindibot.testing import CHECKS, Check, favourites, view

GAME = Path(__file__).parent / "recordings" / "sample.jsonl"


def test_on_a_drawn_board() -> None:
    here = view("""
        |  @1@2|
        |  ##  |
    """)
    assert favourites(Coward(), here) == {WEST}


def test_on_a_recorded_turn() -> None:
    here = view(GAME, turn=28)  # hero 2 stands beside us, and the bot that played this game stayed
    assert STAY not in favourites(Coward(), here)


@pytest.mark.parametrize("check", CHECKS, ids=str)
def test_it_conforms(check: Check) -> None:
    check(Coward())
