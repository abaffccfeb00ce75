"""Elo as the original computes it (against a second implementation, written from the rules), and openskill beside it."""

from __future__ import annotations

import math
from collections import defaultdict

import pytest
from hypothesis import given, strategies as st

from vindibot.server.ratings import FIRST_MU, FIRST_SIGMA, Rated, counts, elo_after, elo_change, skill_after


def four(*gold: int, names: str = "abcd", elo: tuple[int, ...] = (1200,) * 4) -> list[Rated]:
    """Heroes whose users have their ids as names; a space is no user."""
    return [
        Rated(name, coins, None if name == " " else name, rating) for name, coins, rating in zip(names, gold, elo, strict=True)
    ]


def reference(heroes: list[Rated], bonus: bool) -> dict[str, int]:
    """The rules once more, by names and with a sum per user."""
    present = {hero.name: hero.elo for hero in heroes if hero.user is not None}
    change: dict[str, int] = defaultdict(int)
    for hero in heroes:
        for other in heroes:
            if hero.name in present and other.name in present and hero.name != other.name:
                expected = 1 / (1 + math.pow(10, (present[other.name] - present[hero.name]) / 400))
                score = 1 if hero.gold > other.gold else 0 if hero.gold < other.gold else 0.5
                difference = 16 * (score - expected)
                change[hero.name] += math.floor(difference) if difference >= 0 else -math.floor(-difference)
    return {name: rating + change[name] + (1 if bonus else 0) for name, rating in present.items()}


@given(
    st.lists(st.sampled_from("abcd "), min_size=4, max_size=4).filter(lambda names: set(names) != {" "}),
    st.lists(st.integers(0, 3), min_size=4, max_size=4),
    st.fixed_dictionaries({name: st.integers(600, 2400) for name in "abcd"}),
    st.booleans(),
)
def test_elo_follows_the_rules(names: list[str], gold: list[int], elo: dict[str, int], bonus: bool) -> None:
    heroes = four(*gold, names="".join(names), elo=tuple(elo.get(name, 1200) for name in names))
    assert elo_after(heroes, bonus) == reference(heroes, bonus)


def test_four_equal_heroes_with_decreasing_gold() -> None:
    assert elo_after(four(30, 20, 10, 0), False) == {"a": 1224, "b": 1208, "c": 1192, "d": 1176}
    assert elo_after(four(5, 5, 5, 5), False) == dict.fromkeys("abcd", 1200)
    assert elo_after(four(5, 5, 5, 5), True) == dict.fromkeys("abcd", 1201)


def test_differences_are_truncated_toward_zero_pair_by_pair() -> None:
    strong, weak = Rated("a", 1, "a", 1300), Rated("b", 0, "b", 1200)
    expected = 1 / (1 + 10 ** (-100 / 400))
    assert 16 * (1 - expected) == pytest.approx(5.76, abs=0.01)
    assert elo_change(strong, weak) == 5
    assert elo_change(weak, strong) == -5  # not -6
    # Three times 5.76 would be 17 if the sum were truncated.
    assert elo_after(four(1, 0, 0, 0, elo=(1300, 1200, 1200, 1200)), False)["a"] == 1315


def test_two_users_of_one_name_do_not_play_against_each_other() -> None:
    heroes = [Rated("a", 9, "u1"), Rated("a", 0, "u2"), Rated("b", 5, "u3"), Rated("b", 5, "u4")]
    assert elo_after(heroes, False) == {"u1": 1216, "u2": 1184, "u3": 1200, "u4": 1200}


def test_which_games_count() -> None:
    assert counts(four(1, 0, 0, 0))
    assert counts(four(1, 0, 0, 0, names="aaab"))
    assert not counts(four(1, 0, 0, 0, names="aaaa"))
    assert not counts(four(1, 0, 0, 0, names="    "))


def test_skill_follows_the_ranks_of_gold() -> None:
    after = skill_after(four(30, 20, 20, 0))
    assert after["a"][0] > FIRST_MU > after["d"][0]
    assert after["b"] == pytest.approx(after["c"])
    assert all(sigma < FIRST_SIGMA for _, sigma in after.values())
    assert skill_after(four(1, 2, 3, 4, names="a   ")) == {"a": (FIRST_MU, FIRST_SIGMA)}
    twice = skill_after(four(9, 0, 5, 5, names="aabc"))
    assert set(twice) == set("abc")
    assert abs(twice["a"][0] - FIRST_MU) < abs(after["a"][0] - FIRST_MU)  # once first, once last
