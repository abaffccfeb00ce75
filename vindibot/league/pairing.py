"""Pairing: the games of each day. They depend only on the settings (with the seed) and, in a Swiss league, on earlier results.

An *entrant* is a bot of the league, as its index in the roster. A *table* is a tuple of the entrants that play together.

In a duel each of the two entrants, A and B, has two of the four heroes. There are six ways to assign the four seats. In the
following list, each way is followed by the way with A and B exchanged. The games of a pairing use the ways in this order, so an
even number of games is fair:

    ABBA BAAB   ABAB BABA   AABB BBAA

At a table of four entrants, the seats rotate from game to game. If the number of entrants is not a multiple of four, some tables
have only three or two entrants. Fillers or random bots of the server take the other seats.
"""

from __future__ import annotations

import random
from collections.abc import Iterable, Mapping, Sequence
from itertools import combinations
from math import ceil, log2

from sim.game import SEATS
from vindibot.league.settings import LeagueSettings
from vindibot.league.standings import Fixture, FixtureResult, opponents, standings

SEATINGS = ((0, 1, 1, 0), (1, 0, 0, 1), (0, 1, 0, 1), (1, 0, 1, 0), (0, 0, 1, 1), (1, 1, 0, 0))
ROTATIONS = (0, 2, 1, 3)
#: Largest number of partial pairings that are tried for a day. If all of them fail, entrants that have met before may meet again.
MAX_TRIED = 20_000

Tables = list[tuple[int, ...]]


def next_fixtures(settings: LeagueSettings, names: Sequence[str], fixtures: Sequence[Fixture]) -> list[Fixture]:
    """Return the next fixtures of a league, or an empty list if there are no more. All `fixtures` so far must be decided.

    `names` are the names of all bots, by index. In a round-robin league the first call returns all fixtures. In a Swiss league
    each call returns the fixtures of one day.
    """
    count = len(names)
    if settings.system == "round-robin":
        if fixtures:
            return []
        days = round_robin(settings, count)
        return [fixture for day, tables in enumerate(days, 1) for fixture in fixtures_of_day(settings, day, tables)]
    day = max((fixture.day for fixture in fixtures), default=0) + 1
    if day > number_of_days(settings, count, fixtures):
        return []
    place = {row.name: number for number, row in enumerate(standings(names, fixtures))} if fixtures else {}
    order = list(range(count))
    _random(settings, day).shuffle(order)
    order.sort(key=lambda entrant: place.get(names[entrant], 0))
    return list(fixtures_of_day(settings, day, swiss(settings, order, fixtures)))


def number_of_days(settings: LeagueSettings, count: int, fixtures: Sequence[Fixture]) -> int:
    """Return the number of days of a league with `count` entrants and these `fixtures`. The fixtures are those made so far."""
    if settings.system == "swiss":
        return settings.days or swiss_days(count)
    return max((fixture.day for fixture in fixtures), default=0)


def swiss_days(count: int) -> int:
    """Return the number of days of a Swiss league with `count` entrants: the rounds of a knock-out tournament, plus one."""
    return ceil(log2(count)) + 1


def _random(settings: LeagueSettings, day: int) -> random.Random:
    return random.Random(f"{settings.seed}/{day}")


def fixtures_of_day(settings: LeagueSettings, day: int, tables: Tables, *, final: bool = False) -> Iterable[Fixture]:
    """Yield the games of a day, all on one map: the first game of every table, then the second game of every table, and so on.

    `final` says whether the day belongs to the final.
    """
    seed = _random(settings, day).getrandbits(32)
    game_map = settings.maps[(day - 1) % len(settings.maps)] if settings.maps else None
    games = settings.seatings if settings.table == "duel" else min(settings.seatings, SEATS)
    for game in range(games):
        for table in tables:
            if len(table) > 1:
                seats = _seats(settings, table, day, game)
                yield Fixture(day=day, entrants=table, seats=seats, seed=seed, map=game_map, final=final)
    for table in tables:
        if len(table) == 1 and settings.system == "swiss" and not final:
            yield Fixture(day=day, entrants=table, seats=(), seed=seed, result=FixtureResult(kind="bye"))


def _seats(settings: LeagueSettings, table: tuple[int, ...], day: int, game: int) -> tuple[int | None, ...]:
    """Return the entrants on the four seats (None: the random bot) of game number `game` of a table on a day.

    At a table of four, the order around the map is random, because a weak neighbour is an advantage.
    """
    if settings.table == "duel":
        return tuple(table[side] for side in SEATINGS[game])
    seats = [*table, *[None] * (SEATS - len(table))]
    random.Random(f"{settings.seed}/{day}/{table}").shuffle(seats)
    turn = ROTATIONS[game]
    return tuple(seats[turn:] + seats[:turn])


# ---- Round-robin ----


def round_robin(settings: LeagueSettings, count: int) -> list[Tables]:
    """Return the tables of each day, for `count` entrants.

    All pairs of entrants meet: exactly once in duels, at least once at tables of four. If `settings.days` is larger than the
    number of days that this takes, the days are repeated from the first day on. If `settings.days` is smaller, the last days are
    left out.
    """
    days = _circle(count) if settings.table == "duel" else _covering(count, random.Random(f"{settings.seed}/tables"))
    wanted = settings.days or len(days)
    return [days[day % len(days)] for day in range(wanted)]


def _circle(count: int) -> list[Tables]:
    """Return the days of the circle method: one entrant keeps its place, and the other entrants rotate.

    If the number of entrants is odd, one entrant rests each day and is alone at its table.
    """
    places: list[int] = [*range(count), *[-1] * (count % 2)]
    days = []
    for day in range(len(places) - 1):
        half = len(places) // 2
        pairs = list(zip(places[:half], reversed(places[half:]), strict=True))
        if day % 2:
            pairs = [(second, first) for first, second in pairs]
        days.append([tuple(entrant for entrant in pair if entrant >= 0) for pair in pairs])
        places = [places[0], places[-1], *places[1:-1]]
    return days


def _covering(count: int, rng: random.Random) -> list[Tables]:
    """Return the tables of each day, until all of the `count` entrants have met.

    The tables of a day are the best of several random draws.
    """
    met = [[0] * count for _ in range(count)]
    missing = count * (count - 1) // 2
    days: list[Tables] = []
    tries = max(2, min(40, 40_000 // count**2))
    while missing:
        costs = [[times**2 for times in row] for row in met]
        tables = min((_draw(costs, rng) for _ in range(tries)), key=lambda tables: _total(tables, costs))
        for table in tables:
            for first, second in combinations(table, 2):
                missing -= not met[first][second]
                met[first][second] += 1
                met[second][first] += 1
        days.append(tables)
    return days


def _draw(costs: list[list[int]], rng: random.Random) -> Tables:
    """Return random tables for one day. `costs[a][b]` is larger if entrants a and b have met more often, 0 if never.

    Each table begins with the free entrant that has met the fewest others. Then each table gets the free entrants that its
    entrants have met least often.
    """
    free = list(range(len(costs)))
    rng.shuffle(free)
    free.sort(key=lambda entrant: costs[entrant].count(0), reverse=True)
    return _fill_tables(free, len(free), costs)


def _fill_tables(free: list[int], near: int, costs: Sequence[Sequence[int] | Mapping[int, int]]) -> Tables:
    """Return tables for all entrants in `free`. The list `free` is then empty.

    Each table begins with the first free entrant. Then entrants are added one by one: always the entrant with the lowest cost
    among the next `near` free entrants. The cost of an entrant is the sum of `costs[entrant][other]` over the other entrants at
    the table.
    """
    tables: Tables = []
    for size in table_sizes(len(free)):
        table = [free.pop(0)]
        while len(table) < size:
            following = min(free[:near], key=lambda entrant: sum(costs[entrant][other] for other in table))
            free.remove(following)
            table.append(following)
        tables.append(tuple(table))
    return tables


def _total(tables: Tables, costs: list[list[int]]) -> int:
    return sum(costs[first][second] for table in tables for first, second in combinations(table, 2))


def table_sizes(count: int) -> list[int]:
    """Return the sizes of the tables for `count` entrants. A size is at most four, and the sizes are as equal as possible."""
    tables = ceil(count / SEATS)
    return [count // tables + (number < count % tables) for number in range(tables)]


# ---- Swiss ----


def swiss(settings: LeagueSettings, ranking: Sequence[int], fixtures: Sequence[Fixture]) -> Tables:
    """Return the tables of the next day of a Swiss league. `ranking` lists all entrants, the best entrant first.

    Entrants of similar rank meet. If possible, they have not met in `fixtures`.
    """
    met = opponents(len(ranking), fixtures)
    order = list(ranking)
    if settings.table == "four":
        return _fill_tables(order, 2 * SEATS, met)
    bye: Tables = []
    if len(order) % 2:
        rested = {fixture.entrants[0] for fixture in fixtures if fixture.result and fixture.result.kind == "bye"}
        last = next((entrant for entrant in reversed(order) if entrant not in rested), order[-1])
        order.remove(last)
        bye = [(last,)]
    pairs = _pair(order, [set(times) for times in met], [MAX_TRIED])
    if pairs is None:
        pairs = list(zip(order[::2], order[1::2], strict=True))
    return [*_with_fair_sides(pairs, fixtures), *bye]


def _pair(order: list[int], met: list[set[int]], budget: list[int]) -> Tables | None:
    """Return pairs of entrants that have not met, or None if there are no such pairs or `budget` is used up.

    `order` lists the entrants by rank; entrants of similar rank are paired. `met` has, for each entrant, the entrants that it has
    met. `budget` holds one number: the number of partial pairings that may still be tried.
    """
    if not order:
        return []
    first, rest = order[0], order[1:]
    for place, other in enumerate(rest):
        if other in met[first]:
            continue
        budget[0] -= 1
        if budget[0] < 0:
            return None
        following = _pair(rest[:place] + rest[place + 1 :], met, budget)
        if following is not None:
            return [(first, other), *following]
    return None


def _with_fair_sides(pairs: Tables, fixtures: Sequence[Fixture]) -> Tables:
    """Return the pairs. In each pair, the entrant that was first in fewer `fixtures` comes first."""
    firsts = [fixture.entrants[0] for fixture in fixtures]
    return [pair if firsts.count(pair[0]) <= firsts.count(pair[1]) else pair[::-1] for pair in pairs]
