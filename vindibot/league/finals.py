"""The knock-out final of a league, after its last day.

The best bots of the standings play, and the standings seed them. In a league with tables of four, the final has the bracket of
races with four starters, such as snowboard cross: in each game of four, the two best bots go on. For 8 bots, the first games are
those of the seeds 1, 8, 4, 5 and 2, 7, 3, 6. In a league of duels, the final is the usual bracket of pairs: 1-8, 4-5, 2-7, 3-6,
and the better bot goes on.

A *heat* is a group of bots that play against each other in a round of the final. A heat plays as many games as a pairing of the
league. Points decide it, then gold, then the better rank in the standings.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from sim.game import SEATS
from vindibot.league.pairing import Tables, fixtures_of_day
from vindibot.league.settings import LeagueSettings
from vindibot.league.standings import Fixture, standings


@dataclass(frozen=True)
class HeatRow:
    """A bot in a heat: its index in the roster, its points and gold there, and whether it goes on to the next round.

    In the last round, the best bot goes on: it has won the final. `goes_on` is False while games of the heat are undecided.
    """

    entrant: int
    points: float
    gold: int
    goes_on: bool


@dataclass(frozen=True)
class FinalRound:
    """A round of the final: its name ("semi-final"), its day, and its heats, each with its rows, the best bot first."""

    name: str
    day: int
    heats: list[list[HeatRow]]


def heat_size(settings: LeagueSettings) -> int:
    """Return the number of bots in a heat."""
    return 2 if settings.table == "duel" else SEATS


def number_of_rounds(settings: LeagueSettings) -> int:
    """Return the number of rounds of the final, 0 for a league without a final. Each round halves the number of bots."""
    return 0 if settings.final is None else (settings.final // heat_size(settings)).bit_length()


def round_name(settings: LeagueSettings, number: int) -> str:
    """Return the name of round `number` (1, 2, ...) of the final."""
    left = number_of_rounds(settings) - number
    heats = 2**left
    return {1: "final", 2: "semi-final", 4: "quarter-final"}.get(heats, f"round {number} of the final")


def bracket(size: int) -> list[int]:
    """Return the seeds (0 for the best bot) in the order of the bracket. Neighbours meet first. `size` is a power of two."""
    order = [0]
    while len(order) < size:
        last = 2 * len(order) - 1
        order = [seed for better in order for seed in (better, last - better)]
    return order


def next_final_fixtures(
    settings: LeagueSettings, names: Sequence[str], ranking: Sequence[int], fixtures: Sequence[Fixture]
) -> list[Fixture]:
    """Return the games of the next round of the final, an empty list if it is over. All `fixtures` so far must be decided.

    `names` are the names of all bots, by index. `ranking` lists all bots by their standings, the best bot first.
    """
    rounds = final_rounds(settings, names, ranking, fixtures)
    if settings.final is None or len(rounds) == number_of_rounds(settings):
        return []
    size = heat_size(settings)
    if rounds:
        order = [row.entrant for heat in rounds[-1].heats for row in heat if row.goes_on]
    else:
        order = [ranking[seed] for seed in bracket(settings.final)]
    heats: Tables = [tuple(order[first : first + size]) for first in range(0, len(order), size)]
    day = max((fixture.day for fixture in fixtures), default=0) + 1
    return list(fixtures_of_day(settings, day, heats, final=True))


def final_rounds(
    settings: LeagueSettings, names: Sequence[str], ranking: Sequence[int], fixtures: Sequence[Fixture]
) -> list[FinalRound]:
    """Return the rounds of the final that have begun. The arguments are those of `next_final_fixtures`, but undecided games are
    allowed."""
    finals = [fixture for fixture in fixtures if fixture.final]
    days = sorted({fixture.day for fixture in finals})
    rounds = []
    for number, day in enumerate(days, 1):
        tables = dict.fromkeys(fixture.entrants for fixture in finals if fixture.day == day)
        ahead = 1 if number == number_of_rounds(settings) else heat_size(settings) // 2
        heats = [
            _heat(names, ranking, [game for game in finals if game.day == day and game.entrants == table], ahead)
            for table in tables
        ]
        rounds.append(FinalRound(round_name(settings, number), day, heats))
    return rounds


def _heat(names: Sequence[str], ranking: Sequence[int], games: Sequence[Fixture], ahead: int) -> list[HeatRow]:
    """Return the rows of a heat, the best bot first. The first `ahead` bots go on once all `games` are decided."""
    entrants = games[0].entrants
    row_of = {row.name: row for row in standings(names, games)}
    rows = [(row_of[names[entrant]], entrant) for entrant in entrants]
    rows.sort(key=lambda pair: (-pair[0].points, -pair[0].gold, ranking.index(pair[1])))
    decided = all(game.result is not None for game in games)
    return [HeatRow(entrant, row.points, row.gold, decided and place < ahead) for place, (row, entrant) in enumerate(rows)]
