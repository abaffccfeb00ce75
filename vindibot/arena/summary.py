"""What the games of a tournament come to: a line per bot, a line per pair, how bots' games ended, and the match of two.

Everything here follows from the lines of results, whoever wrote them. `summarise` gathers; `vindibot.arena.table` and
`vindibot.arena.report` show.
"""

from __future__ import annotations

import statistics
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from vindibot.arena.bounds import SprtSettings
from vindibot.arena.ratings import RESAMPLES, Rating, rate
from vindibot.arena.results import Format, GameLine, SeatLine
from vindibot.arena.sprt import EloEstimate, SprtState, block_score, difference, distinct_share, run_sprt, whole_blocks
from vindibot.games import Reason


@dataclass(frozen=True)
class BotStats:
    """How one bot fared. A bot that sits in several seats of a game counts as one game, won once if one of its seats is
    alone on most gold; the other figures are means over its seats.

    `ms_median` is the median of its games' medians, `ms_p99` that of their 99th percentiles, `ms_max` the slowest move of
    all; None if it never moved. `stalled` is rounds per game, None if the results do not tell. `reasons` counts seats
    by how they ended, `sizes` has its places by map size: {size: (mean place, seats)}, `golds` the gold of every seat, sorted.
    """

    bot: str
    games: int = 0
    wins: int = 0
    place: float = 0.0
    gold: float = 0.0
    deaths: float = 0.0
    kills: float = 0.0
    mines: float = 0.0
    mines_taken: float = 0.0
    stalled: float | None = None
    ms_median: float | None = None
    ms_p99: float | None = None
    ms_max: float | None = None
    rating: Rating | None = None
    reasons: dict[Reason, int] = field(default_factory=dict)
    sizes: dict[int, tuple[float, int]] = field(default_factory=dict)
    golds: tuple[int, ...] = field(default=(), repr=False)

    @property
    def seats(self) -> int:
        """How many seats it has played in."""
        return sum(self.reasons.values())

    @property
    def forfeits(self) -> int:
        """Seats that did not end normally."""
        return self.seats - self.reasons.get(Reason.FINISHED, 0)


@dataclass(frozen=True)
class Pair:
    """Two bots in the games in which both sat: in how many pairs of seats `bot` had more gold than `other`, less, and
    equally much."""

    bot: str
    other: str
    ahead: int
    behind: int
    level: int

    @property
    def score(self) -> float:
        """The share in which `bot` was ahead, ties half; 0.5 if they never met."""
        met = self.ahead + self.behind + self.level
        return (self.ahead + self.level / 2) / met if met else 0.5


@dataclass(frozen=True)
class MatchSummary:
    """The A/B match: where the sequential test stands, and the size of the difference, if it may be told: only if the match is
    `complete`, that is, the number of blocks was fixed before the first game and all were played, and they are not too few."""

    a: str
    b: str
    bounds: SprtSettings
    state: SprtState
    blocks: int
    score: float
    complete: bool = False
    difference: EloEstimate | None = None


@dataclass(frozen=True)
class Summary:
    """All of a tournament, or of as much as has been played. `standings` are best first by rating; `distinct` is the share
    of distinct games, None if the lines do not tell; `seconds` the games' own time together."""

    format: Format
    games: int
    blocks: int
    whole: int
    distinct: float | None
    seconds: float
    standings: tuple[BotStats, ...]
    pairs: tuple[Pair, ...]
    reasons: tuple[Reason, ...]
    anchor: str | None = None
    match: MatchSummary | None = None
    interrupted: bool = False


def summarise(
    games: Sequence[GameLine],
    bots: Sequence[str] = (),
    *,
    anchor: str | None = None,
    bounds: SprtSettings | None = None,
    planned: int | None = None,
    resamples: int = RESAMPLES,
) -> Summary:
    """Gather the games of one tournament.

    `bots` are the labels in the order of the configuration (those of the games, if empty): the first of an A/B match is A.
    `anchor` is the bot whose rating is 0; None: the mean of all is. `planned` is how many blocks the tournament was to
    have: the size of an A/B difference is told only if so many are whole and the match was not to stop at a verdict.
    """
    names = list(dict.fromkeys([*bots, *(bot for game in sorted(games, key=_key) for bot in game.bots)]))
    ratings = rate(games, names, anchor=anchor, resamples=resamples)
    standings = tuple(bot_stats(one.bot, games, one) for one in ratings)
    whole = whole_blocks(games)
    known = {reason for one in standings for reason in one.reasons}
    kind = games[0].format if games else "all"
    return Summary(
        format=kind,
        games=len(games),
        blocks=len({game.block for game in games}),
        whole=len(whole),
        distinct=distinct_share(games),
        seconds=sum(game.seconds for game in games),
        standings=standings,
        pairs=tuple(_pairs(games, [one.bot for one in standings])),
        reasons=tuple(reason for reason in Reason if reason in known),
        anchor=anchor if anchor in names else None,
        match=_match(games, names, bounds or SprtSettings(), planned) if kind == "ab" and len(names) == 2 else None,
        interrupted=planned is not None and len(whole) < planned,
    )


def _key(game: GameLine) -> tuple[int, int]:
    return game.block, game.game


def bot_stats(bot: str, games: Iterable[GameLine], rating: Rating | None = None) -> BotStats:
    """How one bot fared in these games."""
    played = [(game, seat) for game in games for seat in game.seats if seat.bot == bot]
    if not played:
        return BotStats(bot, rating=rating)
    seats = [seat for _, seat in played]
    moved = [seat for seat in seats if seat.moves]
    stalled = [seat.stalled for seat in seats if seat.stalled is not None]
    sizes: dict[int, list[float]] = {}
    for game, seat in played:
        sizes.setdefault(game.map.size, []).append(seat.place)
    return BotStats(
        bot,
        games=len({_key(game) for game, _ in played}),
        wins=sum(game.winner == bot for game in {_key(game): game for game, _ in played}.values()),
        place=_mean(seats, "place"),
        gold=_mean(seats, "gold"),
        deaths=_mean(seats, "deaths"),
        kills=_mean(seats, "kills"),
        mines=_mean(seats, "mines"),
        mines_taken=_mean(seats, "mines_taken"),
        stalled=statistics.fmean(stalled) if stalled else None,
        ms_median=statistics.median(seat.ms_median for seat in moved) if moved else None,
        ms_p99=statistics.median(seat.ms_p99 for seat in moved) if moved else None,
        ms_max=max(seat.ms_max for seat in moved) if moved else None,
        rating=rating,
        reasons=dict(Counter(seat.outcome.reason for seat in seats)),
        sizes={size: (statistics.fmean(found), len(found)) for size, found in sorted(sizes.items())},
        golds=tuple(sorted(seat.gold for seat in seats)),
    )


def _mean(seats: Sequence[SeatLine], name: str) -> float:
    return statistics.fmean(getattr(seat, name) for seat in seats)


def _pairs(games: Iterable[GameLine], names: Sequence[str]) -> Iterable[Pair]:
    met: Counter[tuple[str, str, int]] = Counter()
    for game in games:
        for seat in game.seats:
            for rival in game.seats:
                if seat.bot != rival.bot:
                    met[seat.bot, rival.bot, (seat.gold > rival.gold) - (seat.gold < rival.gold)] += 1
    for one in names:
        for other in names:
            if one != other:
                yield Pair(one, other, met[one, other, 1], met[one, other, -1], met[one, other, 0])


def _match(games: Sequence[GameLine], names: Sequence[str], bounds: SprtSettings, planned: int | None) -> MatchSummary:
    a, b = names
    scores = [score for lines in whole_blocks(games).values() if (score := block_score(lines, a)) is not None]
    complete = not bounds.stop and len(scores) == planned
    return MatchSummary(
        a,
        b,
        bounds,
        state=run_sprt(games, a, bounds),
        blocks=len(scores),
        score=statistics.fmean(scores) if scores else 0.5,
        complete=complete,
        difference=difference(scores) if complete else None,
    )
