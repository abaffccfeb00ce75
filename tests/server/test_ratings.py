"""Elo as the original computes it, and openskill beside it."""

from __future__ import annotations

import pytest

from vindibot.server.ratings import FIRST_MU, FIRST_SIGMA, Rated, counts, elo_after, elo_change, skill_after


def four(*gold: int, names: str = "abcd", elo: tuple[int, ...] = (1200,) * 4) -> list[Rated]:
    """Heroes whose users have their ids as names; a space is no user."""
    return [
        Rated(name, coins, None if name == " " else name, rating) for name, coins, rating in zip(names, gold, elo, strict=True)
    ]


def test_four_equal_heroes_with_decreasing_gold() -> None:
    assert elo_after(four(30, 20, 10, 0), False) == {"a": 1224, "b": 1208, "c": 1192, "d": 1176}
    assert elo_after(four(5, 5, 5, 5), False) == dict.fromkeys("abcd", 1200)
    assert elo_after(four(5, 5, 5, 5), True) == dict.fromkeys("abcd", 1201)
    assert elo_after(four(9, 5, 0, 20, names="ab a", elo=(1300, 1200, 1200, 1300)), False) == {"a": 1310, "b": 1190}


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
