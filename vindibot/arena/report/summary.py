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
from vindibot.arena.settings import SprtSettings
from vindibot.config.signature import Build
from vindibot.games.outcome import Reason
from vindibot.statistics.differences import EloEstimate, NormalisedDifference, estimate_difference, normalised_difference
from vindibot.statistics.means import rate_interval
from vindibot.statistics.ratings import MIN_BLOCKS, RESAMPLES, Rating, rate
from vindibot.statistics.shares import estimate_share
from vindibot.statistics.sprt import SequentialTest, SprtState

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
        return any(stats.rating is not None and stats.rating.low is not None for stats in self.standings)

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
    ratings = rate_games(played, names, anchor=anchor, resamples=resamples)
    standings = tuple(bot_stats(rating.bot, played, rating) for rating in ratings)
    whole = whole_blocks(games)
    known = {reason for stats in standings for reason in stats.reasons}
    kind = games[0].format if games else "all"
    return Summary(
        format=kind,
        games=len(played),
        blocks=len({game.block for game in played}),
        whole=len(whole),
        given_up=len(games) - len(played),
        distinct=distinct_share(played),
        standings=standings,
        pairs=_pairs(played, [stats.bot for stats in standings]),
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
        sizes={size: (statistics.fmean(places), len(places)) for size, places in sorted(sizes.items())},
        golds=tuple(sorted(seat.gold for seat in seats)),
    )


def _wins_interval(bot: str, games: Iterable[GameLine]) -> Interval | None:
    """Return the interval of the share of these games that a bot wins, None for too few blocks."""
    wins, trials = _by_block((game.block, game.winner == bot) for game in games)
    if len(trials) < MIN_BLOCKS:
        return None
    share = estimate_share(wins, trials)
    return share.low, share.high


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
    return tuple(Pair(bot, other, *(met[bot, other, sign] for sign in (1, -1, 0))) for bot, other in permutations(names, 2))


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


def rate_games(
    games: Iterable[GameLine], bots: Iterable[str] = (), *, anchor: str | None = None, resamples: int = RESAMPLES
) -> list[Rating]:
    """Return the ratings of all bots, best first (`vindibot.statistics.ratings.rate`).

    Games that could not be played are left out. The result does not depend on the order of the games.
    """
    lines = sorted(that_count(games), key=lambda line: line.key)
    played = [(line.block, line.bots, [seat.place for seat in line.seats]) for line in lines]
    return rate(played, bots, anchor=anchor, resamples=resamples)


def game_score(line: GameLine, a: str) -> float | None:
    """Return the score of bot `a` in one game, None if `a` has no seat or all four seats.

    The score is the share of pairs (a seat of `a`, a seat of another bot) in which `a` has more gold. A tie counts one half.
    """
    own = [seat.gold for seat in line.seats if seat.bot == a]
    others = [seat.gold for seat in line.seats if seat.bot != a]
    pairs = [((gold > other) + (gold >= other)) / 2 for gold in own for other in others]
    return sum(pairs) / len(pairs) if pairs else None


def whole_blocks(games: Iterable[GameLine]) -> dict[int, list[GameLine]]:
    """Return the games of each complete block, by the block's number. Blocks and their games are sorted by number.

    A block is complete if none of its games is still to be played. Games that could not be played are left out. So the list of a
    block may be empty.
    """
    blocks: dict[int, list[GameLine]] = {}
    for line in sorted(games, key=lambda line: line.key):
        blocks.setdefault(line.block, []).append(line)
    return {block: that_count(lines) for block, lines in blocks.items() if len(lines) >= lines[0].games}


def block_score(lines: Iterable[GameLine], a: str) -> float | None:
    """Return the mean score of bot `a` over the games of one block, None if `a` met no other bot in them."""
    scores = [score for line in lines if (score := game_score(line, a)) is not None]
    return sum(scores) / len(scores) if scores else None


def distinct_share(games: Iterable[GameLine]) -> float | None:
    """Return the share (0..1) of distinct games, that is, games with a digest of moves that no earlier game has.

    Games without a digest are left out, and games that could not be played. If no game is left, return None.
    """
    played = [line.played for line in that_count(games) if line.played]
    return len(set(played)) / len(played) if played else None


def run_sprt(games: Iterable[GameLine], a: str, settings: SprtSettings | None = None) -> SprtState:
    """Return the state of the test for bot `a` after these games.

    The blocks are added in their order, up to the first incomplete block or to the verdict. So the verdict does not depend on
    the order in which the games ended, and later games do not change it. A block whose games could not be played is left out.
    """
    test = SequentialTest((settings or SprtSettings()).hypotheses())
    state = test.state()
    distinct: set[str] = set()
    total = 0
    for number, (block, lines) in enumerate(whole_blocks(games).items()):
        if block != number:
            break
        score = block_score(lines, a)
        if score is None:
            continue
        played = [line.played for line in lines if line.played]
        distinct.update(played)
        total += len(played)
        state = test.add(score, len(distinct) / total if total else None)
        if state.verdict in ("H0", "H1"):
            break
    return state


def match_scores(games: Iterable[GameLine], a: str) -> list[float]:
    """Return the score of bot `a` in each complete block that has one, in the order of the blocks."""
    return [score for lines in whole_blocks(games).values() if (score := block_score(lines, a)) is not None]


def builds(games: Iterable[GameLine]) -> list[Build]:
    """Return the different builds that played these games, sorted by their first game."""
    return list(dict.fromkeys(game.build for game in games if game.build is not None))


def mixed_versions(games: Sequence[GameLine]) -> str:
    """Return a warning if several builds, or several versions of a bot, played these games. Otherwise return ""."""
    count = len({game.build for game in games})
    mixed = [f"{count} builds of vindibot"] if count > 1 else []
    digests: defaultdict[str, set[str]] = defaultdict(set)
    for game in games:
        for seat in game.seats:
            digests[seat.bot].add(seat.digest)
    mixed += [f"{len(versions)} versions of {bot}" for bot, versions in digests.items() if len(versions) > 1]
    return f"these games were played by {' and '.join(mixed)}: the table mixes them" if mixed else ""
