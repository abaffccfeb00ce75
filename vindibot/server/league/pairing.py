"""Pairing: who meets whom on which day. All of it follows from the settings and their seed.

In a duel each entrant has two of the four heroes. There are six ways to seat two pairs, and they come in twos that mirror
each other (A for B), so that an even number of games favours nobody:

    ABBA BAAB   ABAB BABA   AABB BBAA

At a table of four the seats are rotated from game to game. Where the entrants cannot be divided by four, some tables have
three or two of them, and random bots of the server's fill it.
"""

from __future__ import annotations

import random
from collections.abc import Iterable, Sequence
from itertools import combinations
from math import ceil, log2

from vindibot.server.league.fixtures import SEATS, Fixture, FixtureResult
from vindibot.server.league.settings import LeagueSettings
from vindibot.server.league.standings import opponents, standings

SEATINGS = ((0, 1, 1, 0), (1, 0, 0, 1), (0, 1, 0, 1), (1, 0, 1, 0), (0, 0, 1, 1), (1, 1, 0, 0))
ROTATIONS = (0, 2, 1, 3)
#: How many ways to complete a day are looked at before somebody must meet an opponent again.
SEARCHED = 20_000

Tables = list[tuple[int, ...]]


def next_fixtures(settings: LeagueSettings, names: Sequence[str], fixtures: Sequence[Fixture]) -> list[Fixture]:
    """What is to be played after all of `fixtures` have been decided; none when the league is over.

    A round-robin league is known from the beginning; a Swiss one is paired day by day.
    """
    count = len(names)
    if settings.system == "round-robin":
        if fixtures:
            return []
        days = round_robin(settings, count)
        return [fixture for day, tables in enumerate(days, 1) for fixture in _of_day(settings, day, tables)]
    day = max((fixture.day for fixture in fixtures), default=0) + 1
    if day > (settings.days or swiss_days(count)):
        return []
    place = {row.name: number for number, row in enumerate(standings(names, fixtures))} if fixtures else {}
    order = list(range(count))
    _random(settings, day).shuffle(order)
    order.sort(key=lambda entrant: place.get(names[entrant], 0))
    return list(_of_day(settings, day, swiss(settings, order, fixtures)))


def most_fixtures(settings: LeagueSettings, count: int) -> int:
    """At most how many games a league of so many has."""
    days = settings.days or (count if settings.system == "round-robin" else swiss_days(count))
    return days * ceil(count / (2 if settings.table == "duel" else SEATS)) * settings.seatings


def swiss_days(count: int) -> int:
    """Days after which a Swiss league has found its best: one more than a knock-out would take."""
    return ceil(log2(count)) + 1


def _random(settings: LeagueSettings, day: int) -> random.Random:
    return random.Random(f"{settings.seed}/{day}")


def _of_day(settings: LeagueSettings, day: int, tables: Tables) -> Iterable[Fixture]:
    """The games of a day: the first game of every table, then the second of every table, ...; all on one map."""
    seed = _random(settings, day).getrandbits(32)
    game_map = settings.maps[(day - 1) % len(settings.maps)] if settings.maps else None
    games = settings.seatings if settings.table == "duel" else min(settings.seatings, SEATS)
    for game in range(games):
        for table in tables:
            if len(table) > 1:
                seats = _seats(settings, table, game)
                yield Fixture(day=day, entrants=table, seats=seats, seed=seed, map=game_map)
    for table in tables:
        if len(table) == 1 and settings.system == "swiss":
            yield Fixture(day=day, entrants=table, seats=(), seed=seed, result=FixtureResult(kind="bye"))


def _seats(settings: LeagueSettings, table: tuple[int, ...], game: int) -> tuple[int | None, ...]:
    if settings.table == "duel":
        return tuple(table[side] for side in SEATINGS[game])
    seats = [*table, *[None] * (SEATS - len(table))]
    turn = ROTATIONS[game]
    return tuple(seats[turn:] + seats[:turn])


# ---- Everybody against everybody ----


def round_robin(settings: LeagueSettings, count: int) -> list[Tables]:
    """The tables of each day. In duels every pair meets once in as many days as that takes, at tables of four at least
    once; with `settings.days` it is that many days, from the beginning again if need be."""
    days = _circle(count) if settings.table == "duel" else _covering(count, random.Random(f"{settings.seed}/tables"))
    wanted = settings.days or len(days)
    return [days[day % len(days)] for day in range(wanted)]


def _circle(count: int) -> list[Tables]:
    """The circle method: one stays, the others go round; with an odd number, one rests each day."""
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
    """Days of tables until everybody has met everybody: each day the best of some drawn ones."""
    met = [[0] * count for _ in range(count)]
    missing = count * (count - 1) // 2
    days: list[Tables] = []
    tries = max(2, min(40, 40_000 // count**2))
    while missing:
        tables = min((_draw(count, met, rng) for _ in range(tries)), key=lambda tables: _repeats(tables, met))
        for table in tables:
            for one, other in combinations(table, 2):
                missing -= not met[one][other]
                met[one][other] += 1
                met[other][one] += 1
        days.append(tables)
    return days


def _draw(count: int, met: list[list[int]], rng: random.Random) -> Tables:
    """Tables for all: each is begun by who has most to meet yet and filled by whom its guests have met least."""
    free = list(range(count))
    rng.shuffle(free)
    free.sort(key=lambda entrant: met[entrant].count(0), reverse=True)
    tables: Tables = []
    for size in table_sizes(count):
        table = [free.pop(0)]
        while len(table) < size:
            following = min(free, key=lambda entrant: sum(met[entrant][guest] ** 2 for guest in table))
            free.remove(following)
            table.append(following)
        tables.append(tuple(table))
    return tables


def _repeats(tables: Tables, met: list[list[int]]) -> int:
    return sum(met[one][other] ** 2 for table in tables for one, other in combinations(table, 2))


def table_sizes(count: int) -> list[int]:
    """Sizes of tables for so many, at most four at each and as equal as can be."""
    tables = ceil(count / SEATS)
    return [count // tables + (number < count % tables) for number in range(tables)]


# ---- Swiss ----


def swiss(settings: LeagueSettings, order: Sequence[int], fixtures: Sequence[Fixture]) -> Tables:
    """The tables of the next day; `order` are all entrants, best first. Neighbours meet, again only if it must be."""
    met = opponents(len(order), fixtures)
    if settings.table == "four":
        return _neighbours(order, [dict(times) for times in met])
    order = list(order)
    bye: Tables = []
    if len(order) % 2:
        rested = {fixture.entrants[0] for fixture in fixtures if fixture.result and fixture.result.kind == "bye"}
        last = next((entrant for entrant in reversed(order) if entrant not in rested), order[-1])
        order.remove(last)
        bye = [(last,)]
    pairs = _pair(order, [set(times) for times in met], [SEARCHED])
    if pairs is None:
        pairs = list(zip(order[::2], order[1::2], strict=True))
    return [*_turned(pairs, fixtures), *bye]


def _pair(order: list[int], met: list[set[int]], budget: list[int]) -> Tables | None:
    """The pairs of neighbours without a repetition, None if there are none (or none were found in time)."""
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


def _turned(pairs: Tables, fixtures: Sequence[Fixture]) -> Tables:
    """Pairs in the order that lets who was second more often be first now."""
    firsts = [fixture.entrants[0] for fixture in fixtures]
    return [pair if firsts.count(pair[0]) <= firsts.count(pair[1]) else pair[::-1] for pair in pairs]


def _neighbours(order: Sequence[int], met: list[dict[int, int]]) -> Tables:
    """Tables from the top: each is filled from the next few, with whom its guests have met least."""
    free = list(order)
    tables: Tables = []
    for size in table_sizes(len(order)):
        table = [free.pop(0)]
        while len(table) < size:
            near = free[: 2 * SEATS]
            following = min(near, key=lambda entrant: sum(met[entrant].get(guest, 0) for guest in table))
            free.remove(following)
            table.append(following)
        tables.append(tuple(table))
    return tables
