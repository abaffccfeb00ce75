"""Fixtures, the games of a league, and its standings: the table, computed from the results of the fixtures.

In a fixture each entrant (bot) is compared with each opponent, and scores 1 for a win, 0.5 for a draw, 0 for a loss. The
entrant's points for the fixture are the mean of these scores. The first of these rules that applies decides a comparison:

1. An absent entrant loses, also against another absent entrant.
2. An entrant with a hero that timed out loses against an entrant whose heroes all played in time.
3. The entrant with more gold wins. In a duel, the gold of an entrant's two heroes is added.

A bye (a fixture without an opponent) counts as a win.
"""

from __future__ import annotations

import csv
import io
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass, fields
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field

from sim.game import SEATS

WIN, DRAW, LOSS = 1.0, 0.5, 0.0
#: The byte order mark at the beginning of CSV: without it, a spreadsheet takes UTF-8 for the encoding of its country.
BOM = "\ufeff"
Index = Annotated[int, Field(ge=0)]
FourGold = Annotated[tuple[int, ...], Field(min_length=SEATS, max_length=SEATS)]
FourFlags = Annotated[tuple[bool, ...], Field(min_length=SEATS, max_length=SEATS)]


class FixtureResult(BaseModel):
    """The result of a fixture (a game of a league). `kind` is one of three:

    - "played": the game was played. `gold` and `crashed` have one entry per seat. `crashed` says which heroes timed out. Fillers
      played for the entrants in `absent`, and these entrants lose.
    - "absent": the entrants in `absent` did not join the game, and lose. `gold` and `crashed` are None.
    - "bye": the entrant had no opponent. `gold` and `crashed` are None.
    """

    model_config = ConfigDict(allow_inf_nan=False, extra="forbid", frozen=True)

    kind: Literal["played", "absent", "bye"]
    gold: FourGold | None = None
    crashed: FourFlags | None = None
    absent: tuple[Index, ...] = ()
    game_id: str = ""


class Fixture(BaseModel):
    """One game of a league. `entrants` are the game's bots, as indices in the roster.

    `seats` has one entry per seat: the index of a bot, or None for a filler or a random bot of the server. It is empty for a bye
    (an entrant without an opponent). `final` says whether the game belongs to the knock-out final. `seed` is the seed of the
    random bots and, if `map` is None, of the map. `attempts` is the number of times that the game was played. `result` is None
    until the game is decided.
    """

    model_config = ConfigDict(allow_inf_nan=False, extra="forbid")

    day: int = Field(ge=1)
    entrants: tuple[Index, ...] = Field(min_length=1, max_length=SEATS)
    seats: tuple[Index | None, ...] = Field(max_length=SEATS)
    seed: int = Field(ge=0)
    map: str | None = None
    final: bool = False
    attempts: int = Field(default=0, ge=0)
    result: FixtureResult | None = None

    @property
    def played(self) -> bool:
        """Whether the game is decided and was played."""
        return self.result is not None and self.result.kind == "played"

    def heroes_of(self, entrant: int) -> int:
        """Return the number of heroes that an entrant has in this game."""
        return self.seats.count(entrant)


@dataclass
class StandingsRow:
    """A row of the table of a league. Entrants with equal points are ranked by `buchholz`, then by gold.

    `buchholz` is the sum of the points of all opponents. An opponent counts once per game that was played against this opponent.
    `opponents_beaten`, `opponents_drawn` and `opponents_lost_to` count opponents: one game at a table of four has three of them.
    `timeouts` and `absences` count games.
    """

    rank: int
    name: str
    points: float = 0.0
    games: int = 0
    opponents_beaten: int = 0
    opponents_drawn: int = 0
    opponents_lost_to: int = 0
    buchholz: float = 0.0
    gold: int = 0
    timeouts: int = 0
    absences: int = 0


def standings(names: Sequence[str], fixtures: Sequence[Fixture]) -> list[StandingsRow]:
    """Return the table of a league, the best entrant first. Entrants with equal points, Buchholz and gold have the same rank.

    `names` are the names of all bots, by index.
    """
    rows = [StandingsRow(0, name) for name in names]
    for fixture in fixtures:
        _count(rows, fixture)
    for index, met in enumerate(opponents(len(names), fixtures)):
        rows[index].points = round(rows[index].points, 6)
        rows[index].buchholz = round(sum(rows[other].points * times for other, times in met.items()), 6)
    table = sorted(rows, key=lambda row: (*_sort_key(row), row.name.casefold(), row.name))
    for place, row in enumerate(table):
        same = place and _sort_key(table[place - 1]) == _sort_key(row)
        row.rank = table[place - 1].rank if same else place + 1
    return table


def _sort_key(row: StandingsRow) -> tuple[float, float, int]:
    return -row.points, -row.buchholz, -row.gold


def opponents(count: int, fixtures: Sequence[Fixture]) -> list[Counter[int]]:
    """Return a counter for each of the `count` entrants: the number of decided fixtures against each opponent."""
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
        row.opponents_beaten += scores.count(WIN)
        row.opponents_drawn += scores.count(DRAW)
        row.opponents_lost_to += scores.count(LOSS)
        row.gold += merit[2]
        row.absences += not merit[0]
        row.timeouts += bool(merit[0] and not merit[1])


def merit_of(fixture: Fixture, entrant: int) -> tuple[bool, bool, int]:
    """Return the merit of an entrant in a decided fixture. A larger tuple is better.

    The tuple says whether the entrant joined the game, whether none of its heroes timed out, and how much gold it has.
    """
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
    """Return the table as CSV with a heading. A name that a spreadsheet would take for a formula begins with an apostrophe.

    The text begins with `BOM`.
    """
    text = io.StringIO()
    writer = csv.DictWriter(text, [field.name for field in fields(StandingsRow)], lineterminator="\n")
    writer.writeheader()
    for row in table:
        values = asdict(row)
        if row.name[0] in "=+-@\t":
            values["name"] = f"'{row.name}"
        writer.writerow(values)
    return BOM + text.getvalue()
