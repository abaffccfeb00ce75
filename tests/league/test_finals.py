"""Knock-out finals: the bracket, who goes on, and a league that is played to its winner."""

from __future__ import annotations

import random
from typing import Any

import pytest

from tests.league.test_league import roster
from vindibot.base.errors import UsageError
from vindibot.league.finals import bracket, heat_size, number_of_rounds
from vindibot.league.league import League
from vindibot.league.settings import LeagueSettings
from vindibot.league.standings import FixtureResult


def league(count: int, **wanted: Any) -> League:
    return League.create("cup", LeagueSettings(**wanted), roster(*(f"b{number:02}" for number in range(count))))


def decide_day(cup: League, strength: Any = None) -> int:
    """Decide all games of the present day. A bot with a smaller index gets more gold, or the bot with the larger `strength`."""
    day = cup.day
    for fixture in [fixture for fixture in cup.pending() if fixture.day == day]:
        gold = tuple(0 if owner is None else strength(owner) if strength else 1000 - owner for owner in fixture.seats)
        cup.decide(fixture, FixtureResult(kind="played", gold=gold, crashed=(False,) * 4))
    return day


def test_the_bracket_is_that_of_races_with_four_starters() -> None:
    """The first heats of 16 starters in snowboard cross, and the usual pairs of a knock-out of 8."""
    seeds = [seed + 1 for seed in bracket(16)]
    heats = [set(seeds[first : first + 4]) for first in range(0, 16, 4)]
    assert heats == [{1, 8, 9, 16}, {4, 5, 12, 13}, {2, 7, 10, 15}, {3, 6, 11, 14}]
    pairs = [seed + 1 for seed in bracket(8)]
    assert list(zip(pairs[::2], pairs[1::2], strict=True)) == [(1, 8), (4, 5), (2, 7), (3, 6)]


@pytest.mark.parametrize("table", ["four", "duel"])
@pytest.mark.parametrize(("final", "more"), [(4, 0), (4, 3), (8, 0), (8, 5), (16, 1)])
def test_each_round_halves_the_bots_and_the_better_ones_go_on(final: int, table: str, more: int) -> None:
    cup = league(final + more, table=table, final=final, system="swiss", days=1, seatings=2)
    decide_day(cup)
    assert cup.day_name(1) == "day 1 of 1"
    before = [row.name for row in cup.table()]
    strengths = list(range(len(cup.names)))
    random.Random(final + more).shuffle(strengths)
    left = final
    for number in range(1, number_of_rounds(cup.settings) + 1):
        playing = {entrant for fixture in cup.pending() for entrant in fixture.entrants}
        assert len(playing) == left
        if number == 1:
            assert {cup.names[entrant] for entrant in playing} == set(before[:final])
        assert all(len(fixture.entrants) == heat_size(cup.settings) for fixture in cup.pending())
        decide_day(cup, lambda owner: strengths[owner])
        for heat in cup.final()[number - 1].heats:
            ranked = [strengths[row.entrant] for row in heat]
            assert ranked == sorted(ranked, reverse=True)
        left //= 2
    assert cup.over
    assert [row.name for row in cup.table()] == before, "games of the final do not count in the standings"
    assert [one.name for one in cup.final()][-1] == "final"
    finalists = {entrant for fixture in cup.fixtures if fixture.day == cup.day for entrant in fixture.entrants}
    assert cup.winner() == cup.names[max(finalists, key=lambda entrant: strengths[entrant])]
    assert League.model_validate_json(cup.text()).final() == cup.final()


def test_equal_bots_are_ranked_by_the_standings() -> None:
    cup = league(8, final=8, system="swiss", days=1, seatings=1)
    decide_day(cup)
    order = [row.name for row in cup.table()]
    while not cup.over:
        decide_day(cup, lambda owner: 7)
    assert cup.winner() == order[0]
    assert {cup.names[row.entrant] for row in cup.final()[-1].heats[0]} == set(order[:4])


def test_an_absence_can_be_undone_until_the_final_has_begun() -> None:
    cup = league(4, final=4, system="round-robin", days=1, seatings=1)
    cup.decide(cup.pending()[0], FixtureResult(kind="absent", absent=(1,)))
    [final] = cup.pending()
    assert final.final
    cup.undo_absences()
    assert [fixture.day for fixture in cup.fixtures] == [1], "the final is paired again"
    cup.decide(cup.pending()[0], FixtureResult(kind="absent", absent=(1,)))
    decide_day(cup)
    with pytest.raises(UsageError, match="no absence to undo: only until"):
        cup.undo_absences()
