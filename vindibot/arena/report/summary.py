"""The summary of a tournament: figures per bot and per pair of bots, and the result of a match of two bots.

It is computed from the lines of results. `vindibot.arena.report.table` and `vindibot.arena.report.page` show it.
"""

from __future__ import annotations

import statistics
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import permutations

from vindibot.arena.results import Format, GameLine, SeatLine, that_count
from vindibot.arena.scores import distinct_share, match_scores, rate_games, run_sprt, whole_blocks
from vindibot.arena.settings import SprtSettings
from vindibot.games.outcome import Reason
from vindibot.statistics.differences import EloEstimate, NormalisedDifference, estimate_difference, normalised_difference
from vindibot.statistics.means import rate_interval
from vindibot.statistics.ratings import MIN_BLOCKS, RESAMPLES, Rating
from vindibot.statistics.shares import estimate_share
from vindibot.statistics.sprt import SprtState

#: The lower and the upper end of an interval.
Interval = tuple[float, float]


@dataclass(frozen=True)
class BotStats:
    """The figures of one bot.

    - `games`, `wins`: numbers of games. A game counts once, even if the bot has several seats in it. The bot wins if one of its
      seats alone has the most gold. All other figures are means over its seats.
    - `wins_interval`: the 95 % interval of the share of games that it wins. `deaths_interval`: the 95 % interval of the mean
      number of deaths. Both are None below `MIN_BLOCKS` blocks.
    - `ms_median`, `ms_p99`: the medians, over its games, of the median and of the 99th percentile of milliseconds per move.
      `ms_max`: its slowest move. All three are None if it never moved.
    - `stalled`: stalled rounds per game, None if unknown.
    - `reasons`: number of seats by the reason why the bot's part in the game ended.
    - `sizes`: {map size: (mean place, number of seats)}.
    - `golds`: the gold of every seat at the end, sorted.
    """

    bot: str
    games: int = 0
    wins: int = 0
    wins_interval: Interval | None = None
    place: float = 0.0
    gold: float = 0.0
    deaths: float = 0.0
    deaths_interval: Interval | None = None
    kills: float = 0.0
    mines: float = 0.0
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
        """The number of seats in which the bot has played."""
        return sum(self.reasons.values())


@dataclass(frozen=True)
class Pair:
    """Two bots in the games in which both played. A pair of seats is a seat of `bot` and a seat of `other` in the same game.

    The fields count the pairs in which `bot` had more gold than `other`, less gold, and the same amount.
    """

    bot: str
    other: str
    ahead: int
    behind: int
    level: int

    @property
    def met(self) -> int:
        """The number of pairs of seats."""
        return self.ahead + self.behind + self.level

    @property
    def score(self) -> float:
        """The share of pairs in which `bot` had more gold. A tie counts one half. 0.5 if the bots never met."""
        return (self.ahead + self.level / 2) / self.met if self.met else 0.5


@dataclass(frozen=True)
class MatchSummary:
    """The match of two bots `a` and `b`: the state of the sequential test, and the estimated difference in strength.

    A match is `complete` if its number of blocks was fixed before the first game and all blocks were played. `difference` and
    `normalised` are None unless the match is complete and has enough blocks.
    """

    a: str
    b: str
    settings: SprtSettings
    state: SprtState
    complete: bool = False
    difference: EloEstimate | None = None
    normalised: NormalisedDifference | None = None


@dataclass(frozen=True)
class Summary:
    """The figures of a tournament so far.

    `games` and `blocks` are the numbers of games and blocks, `whole` is the number of complete blocks. `given_up` is the number
    of further games that could not be played; they are in no other figure. `distinct` is the share (0..1) of distinct games,
    None if unknown. `standings` are sorted by rating, best first. `reasons` are all reasons why seats ended. `interrupted` says
    whether games are missing.
    """

    format: Format
    games: int
    blocks: int
    whole: int
    distinct: float | None
    standings: tuple[BotStats, ...]
    pairs: tuple[Pair, ...]
    reasons: tuple[Reason, ...]
    anchor: str | None = None
    match: MatchSummary | None = None
    interrupted: bool = False
    given_up: int = 0

    @property
    def stopped_by_test(self) -> bool:
        """Whether games are missing because the sequential test has stopped the match."""
        match = self.match
        return self.interrupted and match is not None and match.settings.stop and match.state.verdict in ("H0", "H1")

    def has_intervals(self) -> bool:
        """Return whether the standings have intervals. A few blocks have none (see `vindibot.statistics.ratings.MIN_BLOCKS`)."""
        return any(one.rating is not None and one.rating.low is not None for one in self.standings)

    def pairs_that_met(self) -> dict[tuple[str, str], Pair]:
        """Return the pairs of bots that met in any game, by the labels of the two bots."""
        return {(pair.bot, pair.other): pair for pair in self.pairs if pair.met}

    def has_forfeits(self) -> bool:
        """Return whether any bot forfeited."""
        return bool(set(self.reasons) - {Reason.FINISHED})


def summarise(
    games: Sequence[GameLine],
    bots: Sequence[str] = (),
    *,
    anchor: str | None = None,
    sprt: SprtSettings | None = None,
    planned: int | None = None,
    resamples: int = RESAMPLES,
) -> Summary:
    """Return the summary of the games of one tournament.

    `bots` are the labels in the order of the configuration (default: the bots of the games). The first bot of a match is A.
    `anchor` is the bot with rating 0, None for a mean of 0. `planned` is the planned number of blocks. The difference of a match
    is estimated only if all blocks are complete and the match was not set to stop at a verdict. Games that could not be played
    count for no bot: they are only counted.
    """
    names = list(dict.fromkeys([*bots, *(bot for game in sorted(games, key=lambda game: game.key) for bot in game.bots)]))
    played = that_count(games)
    standings = tuple(bot_stats(one.bot, played, one) for one in rate_games(played, names, anchor=anchor, resamples=resamples))
    whole = whole_blocks(games)
    known = {reason for one in standings for reason in one.reasons}
    kind = games[0].format if games else "all"
    return Summary(
        format=kind,
        games=len(played),
        blocks=len({game.block for game in played}),
        whole=len(whole),
        given_up=len(games) - len(played),
        distinct=distinct_share(played),
        standings=standings,
        pairs=_pairs(played, [one.bot for one in standings]),
        reasons=tuple(reason for reason in Reason if reason in known),
        anchor=anchor if anchor in names else None,
        match=_match(games, names, sprt or SprtSettings(), planned) if kind == "ab" and len(names) == 2 else None,
        interrupted=planned is not None and len(whole) < planned,
    )


def bot_stats(bot: str, games: Iterable[GameLine], rating: Rating | None = None) -> BotStats:
    """Return the figures of one bot in these games. Games that could not be played are left out."""
    played = [(game, seat) for game in that_count(games) for seat in game.seats if seat.bot == bot]
    if not played:
        return BotStats(bot, rating=rating)
    seats = [seat for _, seat in played]
    moved = [seat for seat in seats if seat.moves]
    stalled = [seat.stalled for seat in seats if seat.stalled is not None]
    sizes: defaultdict[int, list[float]] = defaultdict(list)
    for game, seat in played:
        sizes[game.map.size].append(seat.place)
    own_games = {game.key: game for game, _ in played}
    means = {
        name: statistics.fmean(getattr(seat, name) for seat in seats) for name in ("place", "gold", "deaths", "kills", "mines")
    }
    return BotStats(
        bot,
        games=len(own_games),
        wins=sum(game.winner == bot for game in own_games.values()),
        wins_interval=_wins_interval(bot, own_games.values()),
        deaths_interval=_deaths_interval(played),
        **means,
        stalled=statistics.fmean(stalled) if stalled else None,
        ms_median=statistics.median(seat.ms_median for seat in moved) if moved else None,
        ms_p99=statistics.median(seat.ms_p99 for seat in moved) if moved else None,
        ms_max=max((seat.ms_max for seat in moved), default=None),
        rating=rating,
        reasons=dict(Counter(seat.outcome.reason for seat in seats)),
        sizes={size: (statistics.fmean(found), len(found)) for size, found in sorted(sizes.items())},
        golds=tuple(sorted(seat.gold for seat in seats)),
    )


def _wins_interval(bot: str, games: Iterable[GameLine]) -> Interval | None:
    """Return the interval of the share of these games that a bot wins, None for too few blocks."""
    wins, trials = _by_block((game.block, game.winner == bot) for game in games)
    if len(trials) < MIN_BLOCKS:
        return None
    found = estimate_share(wins, trials)
    return found.low, found.high


def _deaths_interval(played: Iterable[tuple[GameLine, SeatLine]]) -> Interval | None:
    """Return the interval of the mean number of deaths per seat, None for too few blocks."""
    deaths, seats = _by_block((game.block, seat.deaths) for game, seat in played)
    return rate_interval(deaths, seats) if len(seats) >= MIN_BLOCKS else None


def _by_block(values: Iterable[tuple[int, int]]) -> tuple[list[int], list[int]]:
    """Return the sum and the number of values of each block. `values` are pairs: a block and a value."""
    sums, counts = Counter[int](), Counter[int]()
    for block, value in values:
        sums[block] += value
        counts[block] += 1
    return list(sums.values()), list(counts.values())


def _pairs(games: Iterable[GameLine], names: Sequence[str]) -> tuple[Pair, ...]:
    met: Counter[tuple[str, str, int]] = Counter()
    for game in games:
        for seat, rival in permutations(game.seats, 2):
            met[seat.bot, rival.bot, (seat.gold > rival.gold) - (seat.gold < rival.gold)] += 1
    return tuple(Pair(one, other, *(met[one, other, sign] for sign in (1, -1, 0))) for one, other in permutations(names, 2))


def _match(games: Sequence[GameLine], names: Sequence[str], sprt: SprtSettings, planned: int | None) -> MatchSummary:
    a, b = names
    scores = match_scores(games, a)
    complete = not sprt.stop and len(whole_blocks(games)) == planned
    return MatchSummary(
        a,
        b,
        sprt,
        state=run_sprt(games, a, sprt),
        complete=complete,
        difference=estimate_difference(scores) if complete else None,
        normalised=normalised_difference(scores) if complete else None,
    )
