"""The tables of a tournament for a terminal or a text file.

`show` prints all of them to a `rich` console. While games are played, only `standings_table` is shown. All tables and lines fit
`WIDTH` columns. The report (`vindibot.arena.report.page`) also has the figures for which there is no room here.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.markup import escape
from rich.measure import Measurement
from rich.table import Table

from vindibot.arena.report.summary import BotStats, MatchSummary, Summary
from vindibot.base.pages import shortened
from vindibot.base.text import counted, printable
from vindibot.statistics.ratings import MIN_BLOCKS
from vindibot.statistics.sprt import SprtState

#: Largest number of characters of a line.
WIDTH = 80
#: Largest number of characters of a label in a table.
LABEL_LENGTH = 14
#: Largest number of bots for which the table of pairs is printed. With more bots it would be too wide.
MAX_PAIRS = 10
#: The columns after the bot: of the final table, and of the table while games are played.
COLUMNS = ("rating", "95 %", "LOS", "games", "wins", "place", "gold", "deaths")
COLUMNS_SO_FAR = ("rating", "±", "games", "wins", "place", "gold", "deaths", "mines", "ms")
#: The columns of the report.
ALL_COLUMNS = (
    *("rating", "95 %", "LOS", "games", "wins", "wins 95 %", "place", "gold", "deaths", "deaths 95 %"),
    *("kills", "stalled", "mines", "ms", "p99", "most"),
)
#: The columns of the table of intervals.
INTERVALS = ("wins", "wins 95 %", "deaths", "deaths 95 %")


def label(bot: str) -> str:
    """Return a bot's label for a cell of a table."""
    return escape(shortened(printable(bot), LABEL_LENGTH))


def points(value: float | None) -> str:
    """Return a rating or a difference as whole points with a sign, empty if unknown."""
    if value is None or math.isnan(value):
        return ""
    return f"{round(value):+d}" if math.isfinite(value) else f"{value:+}"


def interval(low: float | None, high: float | None) -> str:
    """Return an interval of ratings as text, empty if there is none."""
    return "" if low is None or high is None else f"{points(low)} .. {points(high)}"


def percent(value: float | None, digits: int = 0) -> str:
    """Return a share (0..1) in percent, empty if unknown.

    Only an exact 1 or 0 is shown as 100 or 0 percent. A share that is nearly 1 or 0 is shown as ``>99%`` or ``<1%``.
    """
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


def figures(stats: BotStats) -> dict[str, str]:
    """Return the figures of a bot as texts, by column. Unknown figures are missing or empty."""
    cells = {"games": str(stats.games)}
    if stats.rating is not None:
        rating = stats.rating
        cells |= {"rating": points(rating.rating), "95 %": interval(rating.low, rating.high), "LOS": percent(rating.los)}
        if rating.low is not None and rating.high is not None:
            cells["±"] = f"{(rating.high - rating.low) / 2:.0f}"
    if stats.seats:
        cells |= {
            "wins": percent(stats.wins / stats.games),
            "place": f"{stats.place:.2f}",
            "gold": f"{stats.gold:.0f}",
            "deaths": f"{stats.deaths:.1f}",
            "kills": f"{stats.kills:.1f}",
            "stalled": "" if stats.stalled is None else f"{stats.stalled:.1f}",
            "mines": f"{stats.mines:.1f}",
            "ms": milliseconds(stats.ms_median),
            "p99": milliseconds(stats.ms_p99),
            "most": milliseconds(stats.ms_max),
        }
    if stats.wins_interval is not None:
        cells["wins 95 %"] = " .. ".join(map(percent, stats.wins_interval))
    if stats.deaths_interval is not None:
        cells["deaths 95 %"] = " .. ".join(f"{end:.2f}" for end in stats.deaths_interval)
    return cells


def _table(*columns: str, words: bool = False) -> Table:
    """Return a table without rows. The first column is aligned left. The others are aligned right, or left if `words` is true."""
    table = Table(box=SIMPLE_HEAD, show_edge=False, pad_edge=False, padding=(0, 0, 0, 1))
    for number, column in enumerate(columns):
        table.add_column(column, justify="right" if number and not words else "left", no_wrap=not words)
    return table


def standings_table(standings: Sequence[BotStats], columns: Sequence[str] = COLUMNS) -> Table:
    """Return a table with a line per bot. `columns` are the columns after the bot."""
    table = _table("bot", *columns)
    for stats in standings:
        cells = figures(stats)
        table.add_row(label(stats.bot), *(cells.get(column, "") for column in columns))
    return table


def pairs_table(summary: Summary) -> Table:
    """Return a table with a row and a column per bot.

    A cell has the share of pairs of seats in which the bot of the row has more gold than the bot of the column. A tie counts one
    half. The cell is empty if they never met. The heads of the columns are the numbers of the rows.
    """
    bots, met = [stats.bot for stats in summary.standings], summary.pairs_that_met()
    table = _table("ahead of", *(str(number) for number in range(1, len(bots) + 1)))
    for number, bot in enumerate(bots, start=1):
        shares = (percent(met[bot, other].score) if (bot, other) in met else "" for other in bots)
        table.add_row(f"{number} {label(bot)}", *shares)
    return table


def outcomes_table(summary: Summary) -> Table:
    """Return a table with the number of seats of each bot that ended for each reason."""
    table = _table("bot", "its games ended", words=True)
    for stats in summary.standings:
        counts = (f"{reason} {stats.reasons[reason]}" for reason in summary.reasons if reason in stats.reasons)
        table.add_row(label(stats.bot), " · ".join(counts))
    return table


def signed(value: float) -> str:
    """Return a number with a sign and two digits after the point; 0 has the sign +."""
    return f"{round(value, 2) + 0.0:+.2f}"


#: Said beside the log likelihood ratio if `SprtState.by_mean`.
BY_MEAN = "the mean score is five standard errors beyond both"


def llr_text(state: SprtState) -> str:
    """Return the log likelihood ratio of a test and its bounds in words."""
    bounds = f"{signed(state.lower)} .. {signed(state.upper)}"
    return f"LLR {signed(state.llr)} in {bounds} after {counted(state.blocks, 'block')}"


def verdict_line(a: str, b: str, state: SprtState) -> str:
    """Return the verdict of the test of two bots in words."""
    a, b = _name(a), _name(b)
    verdict = {
        "H1": f"{a} is stronger than {b}",
        "H0": f"{a} is not stronger than {b}",
        "running": "no verdict yet: more blocks are needed",
        "repeated": "no verdict: too few of the games are distinct",
    }[state.verdict]
    return f"sequential test: {verdict}"


def progress_lines(a: str, b: str, state: SprtState) -> list[str]:
    """Return lines about a running match of two bots: LLR, bounds and LOS, and the verdict if there is one."""
    los = [f"LOS of {_name(a)} {percent(state.los)}"] if state.los is not None else []
    verdict = [] if state.verdict == "running" else [verdict_line(a, b, state)]
    return [" · ".join([llr_text(state), *los]), *verdict]


def conclusion(match: MatchSummary) -> str:
    """Return in words which bot of a match is stronger, or that nobody can tell yet."""
    a, b, size, verdict = _name(match.a), _name(match.b), match.difference, match.state.verdict
    if verdict == "repeated":
        return f"nobody can tell whether {a} or {b} is stronger"
    if size is not None and size.low > 0:
        return f"{a} is stronger than {b}, 95 %: {interval(size.low, size.high)} points"
    if size is not None and size.high < 0:
        return f"{b} is stronger than {a}, 95 %: {interval(-size.high, -size.low)} points"
    if size is None and verdict in ("H0", "H1"):
        return f"{a} is {'stronger' if verdict == 'H1' else 'not stronger'} than {b}"
    return f"nobody can tell yet whether {a} or {b} is stronger"


def match_lines(match: MatchSummary, *, parameters: bool = False) -> list[str]:
    """Return lines about a match of two bots: which bot is stronger, the estimated difference, and the verdict of the test.

    With `parameters`, there is also a line with the parameters of the test.
    """
    state, sprt, size = match.state, match.settings, match.difference
    lines = [conclusion(match)]
    if size is None:
        lines.append(f"  the difference is not estimated: {_why_no_size(match)}")
    else:
        ends = f"{percent(size.score_low, 1)} .. {percent(size.score_high, 1)}"
        lines += [
            f"  {points(size.elo)} points in {size.blocks} blocks, 95 % {interval(size.low, size.high)}",
            f"  score {percent(size.score, 1)}, 95 % {ends}",
            f"  (the share of pairs of rivals in which {_name(match.a)} has more gold)",
        ]
    if (difference := match.normalised) is not None:
        ends = f"{signed(difference.low)} .. {signed(difference.high)}"
        lines.append(f"  {signed(difference.value)} standard deviations of a block's score, 95 % {ends}")
    lines += [verdict_line(match.a, match.b, state), f"  {llr_text(state)}", *[f"  {BY_MEAN}"] * state.by_mean]
    if parameters:
        lines.append(f"  test of {points(sprt.elo1)} points, not {points(sprt.elo0)}, alpha {sprt.alpha:g}, beta {sprt.beta:g}")
    return lines


def _name(bot: str) -> str:
    """Return a bot's label for a line of text."""
    return shortened(printable(bot))


def _why_no_size(match: MatchSummary) -> str:
    if match.complete:
        return f"it takes at least {MIN_BLOCKS} blocks"
    if match.settings.stop:
        return "a stop at a verdict exaggerates it"
    return "some of the blocks are missing"


def head_parts(summary: Summary) -> list[str]:
    """Return texts with the number of games and blocks, the share of distinct games, and the bot whose rating is 0."""
    parts = [f"{counted(summary.games, 'game')} in {counted(summary.blocks, 'block')}"]
    if summary.whole < summary.blocks:
        parts[0] += f", {summary.whole} of them whole"
    if summary.given_up:
        parts.append(f"{counted(summary.given_up, 'more game')} could not be played, and counted for no bot")
    if summary.stopped_by_test:
        parts.append("stopped by the test")
    if summary.distinct is not None:
        parts.append(f"{percent(summary.distinct, 1)} of the games distinct")
    scale = f"{_name(summary.anchor)} is 0" if summary.anchor else "the mean is 0"
    return [*parts, f"ratings: {scale}"]


def interval_note(summary: Summary) -> str:
    """Return the reason why the standings have no intervals and no LOS, empty if they have them."""
    if summary.has_intervals() or not summary.games:
        return ""
    return f"no 95 % intervals and no LOS: they need at least {MIN_BLOCKS} blocks"


def joined(parts: Iterable[str]) -> list[str]:
    """Return the parts with " · " between them, in lines of at most `WIDTH` characters. A longer part has a line of its own."""
    lines: list[str] = []
    for part in filter(None, parts):
        if lines and len(lines[-1]) + 3 + len(part) <= WIDTH:
            lines[-1] += f" · {part}"
        else:
            lines.append(part)
    return lines


def _print_whole(console: Console, table: Table) -> None:
    """Print a table and then an empty line. The table is never cut, even if the terminal is narrower."""
    wide = Console(width=10 * WIDTH)
    table.width = min(WIDTH, Measurement.get(wide, wide.options, table).maximum)
    console.print(table, crop=False)
    console.print()


def _print_plain(console: Console, lines: Iterable[str]) -> None:
    for line in lines:
        console.print(escape(line), soft_wrap=True)


def show(console: Console, summary: Summary) -> None:
    """Print the summary of a tournament: its head line, the standings with their intervals, and the pairs of bots (if there are
    not too many).

    If a bot forfeited, also print how the games of each bot ended. For a match of two bots, also print the result of the test.
    """
    _print_plain(console, [*joined(head_parts(summary)), ""])
    _print_whole(console, standings_table(summary.standings))
    if note := interval_note(summary):
        _print_plain(console, [note, ""])
    elif summary.has_intervals():
        _print_whole(console, standings_table(summary.standings, INTERVALS))
    if 1 < len(summary.standings) <= MAX_PAIRS:
        _print_whole(console, pairs_table(summary))
    if summary.has_forfeits():
        _print_whole(console, outcomes_table(summary))
    if summary.match is not None:
        _print_plain(console, match_lines(summary.match))
