"""The tables of a tournament for a terminal or a text file: who is better, how sure that is, and what went wrong.

`show` prints all of it to a console of rich; `standings_table` alone is what is seen while games are played.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.markup import escape
from rich.measure import Measurement
from rich.table import Table

from vindibot.arena.ratings import MIN_BLOCKS
from vindibot.arena.sprt import Verdict
from vindibot.arena.summary import BotStats, MatchSummary, Summary
from vindibot.base import counted, printable
from vindibot.games import Reason

#: Labels are cut to so many characters.
LABEL = 18
#: Wider than this, the table of pairs is not printed: a line per pair says it better than a row of 30 columns.
MOST_PAIRS = 10


def label(bot: str, width: int = LABEL) -> str:
    """A bot's label for a cell of a table."""
    text = printable(bot)
    return escape(text if len(text) <= width else f"{text[: width - 1]}…")


def points(value: float | None) -> str:
    """A rating or difference: with its sign, in whole points."""
    if value is None or math.isnan(value):
        return ""
    return f"{round(value):+d}" if math.isfinite(value) else ("+inf" if value > 0 else "-inf")


def interval(low: float | None, high: float | None) -> str:
    """An interval of ratings, empty where there is none."""
    return "" if low is None or high is None else f"{points(low)} .. {points(high)}"


def percent(value: float | None, digits: int = 0) -> str:
    """A share (0..1) in percent; never 100 or 0 where it is not."""
    if value is None:
        return ""
    text = f"{value:.{digits}%}"
    least = 10.0**-digits
    if value < 1 and text == f"{1:.{digits}%}":
        return f">{100 - least:.{digits}f}%"
    return f"<{least:.{digits}f}%" if value > 0 and text == f"{0:.{digits}%}" else text


def milliseconds(value: float | None) -> str:
    """A time per move with about two digits."""
    if value is None:
        return ""
    return f"{value:.0f}" if value >= 10 else f"{value:.1f}" if value >= 1 else f"{value:.2f}"


def rounds(value: float | None) -> str:
    """A mean number of rounds; empty where it is not known."""
    return "" if value is None else f"{value:.1f}"


def _table(*columns: str) -> Table:
    table = Table(box=SIMPLE_HEAD, pad_edge=False, padding=(0, 0, 0, 1))
    for number, column in enumerate(columns):
        table.add_column(column, justify="right" if number else "left", no_wrap=True)
    return table


def standings_table(standings: Sequence[BotStats], ratings: dict[str, tuple[float, float]] | None = None) -> Table:
    """A line per bot. `ratings`, if given, are (rating, standard error) of ratings that follow the games, and stand for the
    final ones: the table so far, which is narrower."""
    rated = ("rating", "±") if ratings is not None else ("rating", "95 %", "LOS")
    deeds = ("deaths", "kills", "stalled", "mines", "ms", "p99") if ratings is None else ("mines", "ms")
    table = _table("bot", *rated, "games", "wins", "place", "gold", *deeds)
    for one in standings:
        if ratings is not None:
            rating, error = ratings.get(one.bot, (0.0, math.inf))
            cells = [points(rating), f"{1.96 * error:.0f}" if math.isfinite(error) else ""]
        else:
            final = one.rating
            assert final is not None
            cells = [points(final.rating), interval(final.low, final.high), percent(final.los)]
        cells += [str(one.games), percent(one.wins / one.games) if one.games else ""]
        if one.seats:
            cells += [f"{one.place:.2f}", f"{one.gold:.0f}"]
            cells += [f"{one.deaths:.1f}", f"{one.kills:.1f}", rounds(one.stalled)] if ratings is None else []
            cells += [f"{one.mines:.1f}", milliseconds(one.ms_median)]
            cells += [milliseconds(one.ms_p99)] if ratings is None else []
        table.add_row(label(one.bot), *cells)
    return table


def pairs_table(summary: Summary) -> Table:
    """How often the bot of the row has more gold than that of the column, ties half; empty where they never met."""
    bots = [one.bot for one in summary.standings]
    scores = {(pair.bot, pair.other): pair for pair in summary.pairs if pair.ahead + pair.behind + pair.level}
    table = _table("ahead of", *(label(bot, 14) for bot in bots))
    for bot in bots:
        row = [scores.get((bot, other)) for other in bots]
        table.add_row(label(bot), *(percent(pair.score) if pair is not None else "" for pair in row))
    return table


def outcomes_table(summary: Summary) -> Table:
    """How bots' games ended, in seats."""
    table = _table("its games ended", *summary.reasons)
    for one in summary.standings:
        table.add_row(label(one.bot), *(str(one.reasons.get(reason, 0) or "") for reason in summary.reasons))
    return table


def _verdicts(a: str, b: str) -> dict[Verdict, str]:
    return {
        "H1": f"{a} is stronger than {b}",
        "H0": f"{a} is not stronger than {b}",
        "running": "no verdict yet: more blocks are needed",
        "repeated": "no verdict: too few of the games are distinct",
    }


def match_lines(match: MatchSummary) -> list[str]:
    """The A/B match in words: the verdict of the test with its figures, then the size of the difference."""
    a, b = printable(match.a), printable(match.b)
    state, bounds = match.state, match.bounds
    asked = f"{points(bounds.elo1)} rather than {points(bounds.elo0)}, alpha {bounds.alpha:g}, beta {bounds.beta:g}"
    # The test also ends where the mean is far outside of both hypotheses.
    far = state.verdict in ("H0", "H1") and state.lower < state.llr < state.upper
    lines = [
        f"sequential test ({asked}): {_verdicts(a, b)[state.verdict]}",
        f"  LLR {state.llr:+.2f} in {state.lower:+.2f} .. {state.upper:+.2f} after {state.blocks} blocks"
        + (", and the mean score five standard errors beyond both" if far else ""),
    ]
    size = match.difference
    if size is not None:
        lines += [
            f"difference of {a} to {b}, {size.blocks} blocks: {points(size.elo)} points, 95 % {interval(size.low, size.high)}",
            f"  score {size.score:.1%}, 95 % {size.score_low:.1%} .. {size.score_high:.1%}",
        ]
    else:
        lines.append(f"no size of the difference is told: {_why_no_size(match)}")
    return lines


def _why_no_size(match: MatchSummary) -> str:
    if match.complete:
        return f"it takes at least {MIN_BLOCKS} blocks"
    why = "the match was to stop at a verdict" if match.bounds.stop else "not all of its blocks have been played"
    return f"{why}, so any figure would exaggerate"


def head_line(summary: Summary) -> str:
    """What was played, in one line."""
    parts = [f"{counted(summary.games, 'game')} in {counted(summary.blocks, 'block')}"]
    if summary.whole < summary.blocks:
        parts[0] += f", {summary.whole} of them whole"
    if summary.distinct is not None:
        parts.append(f"{percent(summary.distinct, 1)} of the games distinct")
    scale = f"{printable(summary.anchor)} is 0" if summary.anchor else "the mean is 0"
    return " · ".join([*parts, f"ratings: {scale}"])


def _whole(console: Console, table: Table) -> None:
    """Print a table at its own width, however narrow the terminal: cells that are cut to fit say nothing."""
    table.width = Measurement.get(console, console.options.update(max_width=1000), table).maximum
    console.print(table, crop=False)


def _plain(console: Console, lines: Iterable[str]) -> None:
    for line in lines:
        console.print(escape(line), soft_wrap=True)


def show(console: Console, summary: Summary) -> None:
    """Print the end of a tournament: standings, pairs, how the games ended if any bot forfeited, and the A/B match."""
    _plain(console, [head_line(summary)])
    _whole(console, standings_table(summary.standings))
    if 1 < len(summary.standings) <= MOST_PAIRS:
        _whole(console, pairs_table(summary))
    if set(summary.reasons) - {Reason.FINISHED}:
        _whole(console, outcomes_table(summary))
    if summary.match is not None:
        _plain(console, match_lines(summary.match))
