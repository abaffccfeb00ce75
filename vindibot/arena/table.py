"""The tables of a tournament for a terminal or a text file.

`show` prints all of them to a console of rich. `standings_table` alone is shown while games are played.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.markup import escape
from rich.measure import Measurement
from rich.table import Table

from vindibot.arena.charts import shortened
from vindibot.arena.ratings import MIN_BLOCKS
from vindibot.arena.summary import BotStats, MatchSummary, Summary
from vindibot.base import counted, printable

#: Characters of a label; the rest is cut off.
LABEL_LENGTH = 18
#: Number of bots above which the table of pairs is not printed: it would be too wide.
MAX_PAIRS = 10
#: The columns of the final table and of the table so far, after the bot.
COLUMNS = ("rating", "95 %", "LOS", "games", "wins", "place", "gold", "deaths", "kills", "stalled", "mines", "ms", "p99")
COLUMNS_SO_FAR = ("rating", "±", "games", "wins", "place", "gold", "mines", "ms")


def label(bot: str, length: int = LABEL_LENGTH) -> str:
    """Return a bot's label for a cell of a table."""
    return escape(shortened(printable(bot), length))


def points(value: float | None) -> str:
    """Return a rating or a difference as whole points with a sign, empty if unknown."""
    if value is None or math.isnan(value):
        return ""
    return f"{round(value):+d}" if math.isfinite(value) else f"{value:+}"


def interval(low: float | None, high: float | None) -> str:
    """Return an interval of ratings, empty if there is none."""
    return "" if low is None or high is None else f"{points(low)} .. {points(high)}"


def percent(value: float | None, digits: int = 0) -> str:
    """Return a share (0..1) in percent, empty if unknown. It is 100 or 0 only if the share is exactly 1 or 0."""
    if value is None:
        return ""
    text = f"{value:.{digits}%}"
    least = 10.0**-digits
    if value < 1 and text == f"{1:.{digits}%}":
        return f">{100 - least:.{digits}f}%"
    return f"<{least:.{digits}f}%" if value > 0 and text == f"{0:.{digits}%}" else text


def milliseconds(value: float | None) -> str:
    """Return a time per move with about two digits, empty if unknown."""
    if value is None:
        return ""
    return f"{value:.0f}" if value >= 10 else f"{value:.1f}" if value >= 1 else f"{value:.2f}"


def figures(one: BotStats) -> dict[str, str]:
    """Return the figures of a bot as texts, by column; unknown ones may be missing."""
    found = {"games": str(one.games)}
    if one.rating is not None:
        rating = one.rating
        found |= {"rating": points(rating.rating), "95 %": interval(rating.low, rating.high), "LOS": percent(rating.los)}
    if one.seats:
        found |= {
            "wins": percent(one.wins / one.games),
            "place": f"{one.place:.2f}",
            "gold": f"{one.gold:.0f}",
            "deaths": f"{one.deaths:.1f}",
            "kills": f"{one.kills:.1f}",
            "stalled": "" if one.stalled is None else f"{one.stalled:.1f}",
            "mines": f"{one.mines:.1f}",
            "ms": milliseconds(one.ms_median),
            "p99": milliseconds(one.ms_p99),
            "most": milliseconds(one.ms_max),
        }
    return found


def _table(*columns: str) -> Table:
    table = Table(box=SIMPLE_HEAD, pad_edge=False, padding=(0, 0, 0, 1))
    for number, column in enumerate(columns):
        table.add_column(column, justify="right" if number else "left", no_wrap=True)
    return table


def standings_table(standings: Sequence[BotStats], ratings: Mapping[str, tuple[float, float]] | None = None) -> Table:
    """Return a table with a line per bot. With `ratings` so far, as (rating, standard error) by bot, it has these in place of the
    final ones, and fewer columns."""
    columns = COLUMNS if ratings is None else COLUMNS_SO_FAR
    table = _table("bot", *columns)
    for one in standings:
        cells = figures(one)
        if ratings is not None:
            rating, error = ratings[one.bot]
            cells |= {"rating": points(rating), "±": f"{1.96 * error:.0f}"}
        table.add_row(label(one.bot), *(cells.get(column, "") for column in columns))
    return table


def pairs_table(summary: Summary) -> Table:
    """Return a table with the share of pairs of seats in which the bot of the row has more gold than the bot of the column, ties
    half; empty if they never met."""
    bots = [one.bot for one in summary.standings]
    met = summary.pairs_that_met()
    table = _table("ahead of", *(label(bot, 14) for bot in bots))
    for bot in bots:
        table.add_row(label(bot), *(percent(met[bot, other].score) if (bot, other) in met else "" for other in bots))
    return table


def outcomes_table(summary: Summary) -> Table:
    """Return a table with the number of seats of each bot that ended for each reason."""
    table = _table("its games ended", *summary.reasons)
    for one in summary.standings:
        table.add_row(label(one.bot), *(str(one.reasons.get(reason, "")) for reason in summary.reasons))
    return table


def match_lines(match: MatchSummary) -> list[str]:
    """Return the match of two in words: the verdict of the test with its figures, then the size of the difference."""
    a, b = printable(match.a), printable(match.b)
    state, sprt, size = match.state, match.settings, match.difference
    verdict = {
        "H1": f"{a} is stronger than {b}",
        "H0": f"{a} is not stronger than {b}",
        "running": "no verdict yet: more blocks are needed",
        "repeated": "no verdict: too few of the games are distinct",
    }[state.verdict]
    hypotheses = f"{points(sprt.elo1)} rather than {points(sprt.elo0)}, alpha {sprt.alpha:g}, beta {sprt.beta:g}"
    # The test also ends if the mean is far outside of both hypotheses.
    far = state.verdict in ("H0", "H1") and state.lower < state.llr < state.upper
    lines = [
        f"sequential test ({hypotheses}): {verdict}",
        f"  LLR {state.llr:+.2f} in {state.lower:+.2f} .. {state.upper:+.2f} after {state.blocks} blocks"
        + (", and the mean score five standard errors beyond both" if far else ""),
    ]
    if size is None:
        return [*lines, f"the difference is not estimated: {_why_no_size(match)}"]
    return [
        *lines,
        f"difference of {a} to {b}, {size.blocks} blocks: {points(size.elo)} points, 95 % {interval(size.low, size.high)}",
        f"  score {size.score:.1%}, 95 % {size.score_low:.1%} .. {size.score_high:.1%}",
    ]


def _why_no_size(match: MatchSummary) -> str:
    if match.complete:
        return f"it takes at least {MIN_BLOCKS} blocks"
    why = "the match was to stop at a verdict" if match.settings.stop else "not all of its blocks have been played"
    return f"{why}, so any figure would exaggerate"


def head_line(summary: Summary) -> str:
    """Return the number of games and blocks, the share of distinct games, and the bot whose rating is 0, in one line."""
    parts = [f"{counted(summary.games, 'game')} in {counted(summary.blocks, 'block')}"]
    if summary.whole < summary.blocks:
        parts[0] += f", {summary.whole} of them whole"
    if summary.distinct is not None:
        parts.append(f"{percent(summary.distinct, 1)} of the games distinct")
    scale = f"{printable(summary.anchor)} is 0" if summary.anchor else "the mean is 0"
    return " · ".join([*parts, f"ratings: {scale}"])


def _print_whole(console: Console, table: Table) -> None:
    """Print a table at its own width, even if the terminal is narrower: cut cells would be useless."""
    table.width = Measurement.get(console, console.options.update(max_width=1000), table).maximum
    console.print(table, crop=False)


def _print_plain(console: Console, lines: Iterable[str]) -> None:
    for line in lines:
        console.print(escape(line), soft_wrap=True)


def show(console: Console, summary: Summary) -> None:
    """Print the summary of a tournament: standings, pairs, the ends of games if any bot forfeited, and the match of two."""
    _print_plain(console, [head_line(summary)])
    _print_whole(console, standings_table(summary.standings))
    if 1 < len(summary.standings) <= MAX_PAIRS:
        _print_whole(console, pairs_table(summary))
    if summary.has_forfeits():
        _print_whole(console, outcomes_table(summary))
    if summary.match is not None:
        _print_plain(console, match_lines(summary.match))
