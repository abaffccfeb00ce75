"""Tests of the trait `guard`."""

import pytest
from vindibot_guard import Guard

from behaviours import EAST
from vindibot.testing import CHECKS, Check, favourites, view


def test_it_walks_to_the_mine_in_danger() -> None:
    here = view("""
        |$1            |
        |              |
        |@1        $1@2|
        |              |
        |              |
        @2 life 60
    """)
    assert favourites(Guard(), here) == {EAST}


def test_it_does_not_go_to_a_stronger_enemy() -> None:
    here = view("""
        |$1            |
        |              |
        |@1        $1@2|
        |              |
        |              |
        @1 life 50
        @2 life 60
    """)
    assert favourites(Guard(), here) == set()


def test_far_enemies_do_not_matter() -> None:
    here = view("""
        |$1            |
        |              |
        |            @2|
        |              |
        |@1            |
        @2 life 60
    """)
    assert favourites(Guard(alarm=4), here) == set()
    assert favourites(Guard(alarm=10), here) != set()


@pytest.mark.parametrize("check", CHECKS, ids=str)
def test_it_keeps_the_rules_for_traits(check: Check) -> None:
    check(Guard())
