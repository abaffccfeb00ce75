"""Pairings and standings: the opponents of each day, and the table from the results."""

from __future__ import annotations

from collections import Counter
from itertools import combinations

import pytest
from hypothesis import given, settings, strategies as st

from vindibot.league.pairing import next_fixtures, swiss_days
from vindibot.league.settings import LeagueSettings
from vindibot.league.standings import Fixture, FixtureResult, standings

counts = st.integers(2, 20)


def names(count: int) -> list[str]:
    return [f"bot{number}" for number in range(count)]


def played(fixture: Fixture, gold: tuple[int, ...], crashed: tuple[bool, ...] = (False,) * 4) -> Fixture:
    fixture.result = FixtureResult(kind="played", gold=gold, crashed=crashed)
    return fixture


def fixture(*seats: int | None) -> Fixture:
    return Fixture(day=1, entrants=tuple(sorted({seat for seat in seats if seat is not None})), seats=seats, seed=1)


@settings(max_examples=30)
@given(counts, st.integers(1, 6))
def test_a_round_robin_of_duels_is_complete_and_fair(count: int, seatings: int) -> None:
    wanted = LeagueSettings(table="duel", seatings=seatings)
    found = next_fixtures(wanted, names(count), [])
    met = Counter(frozenset(one.entrants) for one in found)
    assert met == {frozenset(pair): seatings for pair in combinations(range(count), 2)}
    for one in found:
        assert all(one.heroes_of(entrant) == 2 for entrant in one.entrants)
    for day in {one.day for one in found}:
        today = Counter(entrant for one in found if one.day == day for entrant in one.entrants)
        assert set(today.values()) == {seatings}
        assert len(today) == count - count % 2
    if seatings % 2 == 0:  # each entrant has each seat as many times as its opponent
        for pair in combinations(range(count), 2):
            mine = [one for one in found if set(one.entrants) == set(pair)]
            assert all(sum(one.seats[seat] == pair[0] for one in mine) == seatings / 2 for seat in range(4))


@settings(max_examples=15)
@given(counts, st.integers(1, 6), st.integers(0, 99))
def test_at_tables_of_four_everybody_meets_everybody(count: int, seatings: int, seed: int) -> None:
    wanted = LeagueSettings(seatings=seatings, seed=seed)
    found = next_fixtures(wanted, names(count), [])
    met = {frozenset(pair) for one in found for pair in combinations(one.entrants, 2)}
    assert len(met) == count * (count - 1) / 2
    games = min(seatings, 4)
    for day in {one.day for one in found}:
        today = [one for one in found if one.day == day]
        assert Counter(entrant for one in today for entrant in one.entrants) == dict.fromkeys(range(count), games)
        assert len({one.seed for one in today}) == 1
        sizes = {len(one.entrants) for one in today}
        assert max(sizes) <= 4
        assert max(sizes) - min(sizes) <= 1
    if seatings >= 4:  # each table's bots have all had all seats
        for entrants in {one.entrants for one in found}:
            seats = [one.seats for one in found if one.entrants == entrants]
            assert all(Counter(line)[entrant] == len(seats) / 4 for line in zip(*seats, strict=True) for entrant in entrants)
    assert next_fixtures(wanted, names(count), []) == found


def pairable(free: frozenset[int], met: set[frozenset[int]]) -> bool:
    """Whether all can be paired so that nobody meets again."""
    first = min(free, default=None)
    return first is None or any(
        pairable(free - {first, other}, met) for other in free - {first} if frozenset((first, other)) not in met
    )


@settings(max_examples=30)
@given(st.integers(4, 30), st.sampled_from(["duel", "four"]), st.randoms(use_true_random=False))
def test_a_swiss_league(count: int, table: str, rng: object) -> None:
    wanted = LeagueSettings(table=table, system="swiss", seatings=1)
    fixtures: list[Fixture] = []
    days = 0
    while following := next_fixtures(wanted, names(count), fixtures):
        days += 1
        assert {one.day for one in following} == {days}
        assert sorted(entrant for one in following for entrant in one.entrants) == list(range(count))
        for one in following:
            if one.result is None:
                played(one, tuple(rng.randrange(5) for _ in range(4)))
        if table == "duel":  # with few entrants, some must meet again
            met, pairs = ({frozenset(one.entrants) for one in some if len(one.entrants) == 2} for some in (fixtures, following))
            assert not pairs & met or not pairable(frozenset().union(*pairs), met)
        fixtures += following
    assert days == swiss_days(count)
    if table == "duel":
        byes = Counter(one.entrants[0] for one in fixtures if len(one.entrants) == 1)
        assert set(byes.values()) <= {1}


def test_the_winners_meet_on_the_second_day() -> None:
    wanted = LeagueSettings(table="duel", system="swiss", seatings=1)
    first = next_fixtures(wanted, names(8), [])
    for one in first:
        played(one, tuple(1 if seat == one.entrants[0] else 0 for seat in one.seats))
    winners = {one.entrants[0] for one in first}
    second = next_fixtures(wanted, names(8), first)
    assert sum(set(one.entrants) <= winners for one in second) == 2


@pytest.mark.parametrize(
    ("one", "points"),
    [
        (played(fixture(0, 1, 2, 3), (5, 3, 3, 0)), [1.0, 0.5, 0.5, 0.0]),
        (played(fixture(0, 1, 2, 3), (7, 7, 7, 7)), [0.5, 0.5, 0.5, 0.5]),
        # Both heroes of a side count together: 5 + 0 against 3 + 3.
        (played(fixture(0, 1, 1, 0), (5, 3, 3, 0)), [0.0, 1.0, 0.0, 0.0]),
        # Random bots are nobody's opponents.
        (played(fixture(0, None, 1, None), (1, 99, 2, 99)), [0.0, 1.0, 0.0, 0.0]),
        # An entrant that timed out loses against one that did not, with any gold.
        (played(fixture(0, 1, 2, 3), (9, 1, 2, 8), (True, False, False, True)), [1 / 3, 2 / 3, 1.0, 0.0]),
    ],
)
def test_what_a_game_gives(one: Fixture, points: list[float]) -> None:
    table = {row.name: row for row in standings(names(4), [one])}
    assert [table[name].points for name in names(4)] == pytest.approx(points)


def test_absence_byes_and_ties() -> None:
    away = fixture(0, 1, 1, 0)
    away.result = FixtureResult(kind="absent", absent=(1,))
    both = fixture(2, 3, 3, 2)
    both.result = FixtureResult(kind="absent", absent=(2, 3))
    rest = Fixture(day=1, entrants=(3,), seats=(), seed=1, result=FixtureResult(kind="bye"))
    table = {row.name: row for row in standings(names(5), [away, both, rest, fixture(0, 1, 1, 0)])}
    assert [table[name].points for name in names(5)] == [1.0, 0.0, 0.0, 1.0, 0.0]
    assert [table[name].absences for name in names(5)] == [0, 1, 1, 1, 0]
    # bot1 and bot2 have met the same points; bot0 and bot3 tie in points, bot2's opponent had more than bot0's.
    assert table["bot0"].rank == table["bot3"].rank == 1
    assert table["bot1"].rank == 3
