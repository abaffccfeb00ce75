"""Standings: the table of a league from the results of its fixtures.

A fixture gives each entrant a score from 0 to 1: the mean over its opponents of 1 for a win, 0.5 for a draw, 0 for a loss. More
gold wins, the gold of both heroes together in a duel. An entrant that timed out loses against one that did not, an absent one
against one that came; two absent ones both get 0. A bye is a win.
"""

from __future__ import annotations

import csv
import io
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass, fields

from vindibot.server.league.fixtures import Fixture

WIN, DRAW, LOSS = 1.0, 0.5, 0.0


@dataclass
class StandingsRow:
    """A row of the table. `buchholz`, the tie-break before gold, is the sum of the points of all opponents, once per game."""

    rank: int
    name: str
    points: float = 0.0
    games: int = 0
    wins: int = 0
    draws: int = 0
    losses: int = 0
    buchholz: float = 0.0
    gold: int = 0
    timeouts: int = 0
    absences: int = 0


def standings(names: Sequence[str], fixtures: Sequence[Fixture]) -> list[StandingsRow]:
    """Return the table, best first. Entrants with equal points, Buchholz and gold have the same rank."""
    rows = [StandingsRow(0, name) for name in names]
    for fixture in fixtures:
        _count(rows, fixture)
    for index, met in enumerate(opponents(len(names), fixtures)):
        rows[index].points = round(rows[index].points, 6)
        rows[index].buchholz = round(sum(rows[other].points * times for other, times in met.items()), 6)
    table = sorted(rows, key=lambda row: (*_sort_key(row), row.name))
    for place, row in enumerate(table):
        same = place and _sort_key(table[place - 1]) == _sort_key(row)
        row.rank = table[place - 1].rank if same else place + 1
    return table


def _sort_key(row: StandingsRow) -> tuple[float, float, int]:
    return -row.points, -row.buchholz, -row.gold


def opponents(count: int, fixtures: Sequence[Fixture]) -> list[Counter[int]]:
    """Return the number of decided fixtures of each entrant with each other one."""
    met: list[Counter[int]] = [Counter() for _ in range(count)]
    for fixture in fixtures:
        if fixture.result is not None:
            for entrant in fixture.entrants:
                met[entrant].update(other for other in fixture.entrants if other != entrant)
    return met


def _count(rows: list[StandingsRow], fixture: Fixture) -> None:
    result = fixture.result
    if result is None:
        return
    if result.kind == "bye":
        rows[fixture.entrants[0]].points += WIN
        return
    for entrant in fixture.entrants:
        row, merit = rows[entrant], merit_of(fixture, entrant)
        scores = [_score(merit, merit_of(fixture, other)) for other in fixture.entrants if other != entrant]
        row.games += 1
        row.points += sum(scores) / len(scores)
        row.wins += scores.count(WIN)
        row.draws += scores.count(DRAW)
        row.losses += scores.count(LOSS)
        row.gold += merit[2]
        row.absences += not merit[0]
        row.timeouts += bool(merit[0] and not merit[1])


def merit_of(fixture: Fixture, entrant: int) -> tuple[bool, bool, int]:
    """Return the sort key of an entrant in a decided fixture: whether it came, whether no hero of it timed out, its gold."""
    result = fixture.result
    assert result is not None
    if entrant in result.absent:
        return False, False, 0
    if result.gold is None or result.crashed is None:
        return True, True, 0
    mine = [seat for seat, owner in enumerate(fixture.seats) if owner == entrant]
    return True, not any(result.crashed[seat] for seat in mine), sum(result.gold[seat] for seat in mine)


def _score(mine: tuple[bool, bool, int], other: tuple[bool, bool, int]) -> float:
    if not mine[0]:
        return LOSS
    return WIN if mine > other else DRAW if mine == other else LOSS


def as_csv(table: Sequence[StandingsRow]) -> str:
    """Return the table as CSV with a heading. A name that a spreadsheet reads as a formula gets an apostrophe before it."""
    text = io.StringIO()
    writer = csv.DictWriter(text, [field.name for field in fields(StandingsRow)], lineterminator="\n")
    writer.writeheader()
    for row in table:
        values = asdict(row)
        if row.name[0] in "=+-@\t":
            values["name"] = f"'{row.name}"
        writer.writerow(values)
    return text.getvalue()
