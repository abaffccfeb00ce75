"""The report of a tournament: one HTML file that needs nothing else, no script, and no network.

The template (``templates/report.html``) escapes what it inserts: labels, map names, notes. The file looks right in light and
dark, on a telephone and on a desk. Where game records were kept, gold over time is recomputed from them.
"""

from __future__ import annotations

import math
import os
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from urllib.parse import quote

import numpy as np

from sim.game import PLIES_PER_ROUND
from vindibot import __version__
from vindibot.arena.charts import Curve, Range, colour, lines, ranges
from vindibot.arena.results import GameLine
from vindibot.arena.store import REPORT_MARK, logs_path, owned, records_path, report_path
from vindibot.arena.summary import BotStats, Summary
from vindibot.arena.table import head_line, interval, match_lines, milliseconds, percent, points, rounds
from vindibot.arena.versions import builds, mixed_versions
from vindibot.base import VindibotError, render
from vindibot.games import GameHistory, GameRecord, Reason, read_records

#: Games that are listed one by one, those with forfeits first, and those that are recomputed for gold over time.
LISTED, RECOMPUTED = 500, 200


def write_beside(results: Path, summary: Summary, games: Sequence[GameLine], bots: Sequence[str]) -> Path:
    """Write the report of a results file beside it, and return where; see `write_report`."""
    path = report_path(results)
    title = f"{bots[0]} against {bots[1]}" if summary.match else ", ".join(bots)
    write_report(path, summary, games, title=title, bots=bots, results=results, records=records_path(results))
    return path


def write_report(
    path: Path,
    summary: Summary,
    games: Sequence[GameLine],
    *,
    title: str,
    bots: Sequence[str] = (),
    results: Path | None = None,
    records: Path | None = None,
) -> None:
    """Write the report of these games to `path`, whole or not at all.

    `bots` are the labels in the order of the configuration, which gives them their colours. `results` and `records` are
    the files of results and game records, to link to if they are there, as to the logs beside the results. Raises
    `VindibotError` if the file cannot be written or the records cannot be read, `UsageError` if a file is there that is no
    report.
    """
    text = report(summary, games, title=title, bots=bots, beside=path.parent, results=results, records=records)
    owned(path, REPORT_MARK).write(text)


def report(
    summary: Summary,
    games: Sequence[GameLine],
    *,
    title: str,
    bots: Sequence[str] = (),
    beside: Path | None = None,
    results: Path | None = None,
    records: Path | None = None,
) -> str:
    """The page as text; see `write_report`. Links are relative to the folder `beside`."""
    order = dict.fromkeys([*bots, *sorted(one.bot for one in summary.standings)])
    number = {bot: index for index, bot in enumerate(order)}
    played = [one for one in summary.standings if one.seats]
    kept = records if records is not None and records.is_file() else None
    logs = logs_path(results) if results is not None and logs_path(results).is_dir() else None
    files = [(results, "results, a line per game"), (kept, "game records"), (logs, "what bots wrote")]
    folder = beside or Path.cwd()
    return render(
        "arena/report.html",
        title=title,
        mark=REPORT_MARK,
        head_line=head_line(summary),
        summary=summary,
        played=played,
        match=match_lines(summary.match) if summary.match is not None else [],
        ratings=_ratings(summary, number),
        gold=_gold(played, number),
        records=kept is not None,
        gold_over_time=_gold_over_time(kept, games, played, number) if kept is not None else "",
        sizes=sorted({size for one in played for size in one.sizes}),
        pairs={(pair.bot, pair.other): pair for pair in summary.pairs if pair.ahead + pair.behind + pair.level},
        forfeits=bool(set(summary.reasons) - {Reason.FINISHED}),
        logs={"name": logs.name, "address": _address(logs, folder)} if logs is not None else None,
        files=[(_address(path, folder), said) for path, said in files if path is not None],
        games=sorted(games, key=lambda game: (all(seat.outcome.finished for seat in game.seats), game.block, game.game)),
        listed=LISTED,
        mixed_versions=mixed_versions(games),
        builds="; ".join(map(str, builds(games))) or __version__,
        colour=lambda bot: colour(number[bot]),
        **{function.__name__: function for function in (interval, milliseconds, percent, points, rounds)},
    )


def _address(path: Path, beside: Path) -> str:
    """Where a file is, for a link in a page in the folder `beside`."""
    try:
        where = os.path.relpath(path, beside)
    except ValueError:  # another drive
        where = str(path)
    return quote(where.replace(os.sep, "/"))


def _ratings(summary: Summary, number: Mapping[str, int]) -> str:
    """Ratings with their intervals."""
    rows = []
    for one in summary.standings:
        rating = one.rating
        assert rating is not None
        note = f"{one.bot}: {points(rating.rating)}"
        note += f", 95 % {interval(rating.low, rating.high)}" if rating.low is not None else ""
        rows.append(Range(one.bot, number[one.bot], rating.rating, rating.low, rating.high, note=note))
    return ranges(rows, "Ratings with 95 % intervals", "rating, with its 95 % interval", zero=True)


def _gold(played: Sequence[BotStats], number: Mapping[str, int]) -> str:
    """How gold at the end is spread."""
    rows = []
    for one in played:
        low, quarter, middle, three, high = np.percentile(one.golds, (5, 25, 50, 75, 95)).tolist()
        note = f"{one.bot}: half of its games end with {quarter:.0f} to {three:.0f}, median {middle:.0f}"
        rows.append(Range(one.bot, number[one.bot], middle, low, high, (quarter, three), note))
    return ranges(rows, "Distribution of gold", "gold at the end: median, middle half, 5 % to 95 %")


def _gold_over_time(records: Path, games: Sequence[GameLine], played: Sequence[BotStats], number: Mapping[str, int]) -> str:
    """Mean gold after every round, recomputed from game records; "" if none of them is of these games."""
    curves, recomputed = gold_curves(records, {line.record for line in games if line.record})
    series = [Curve(one.bot, number[one.bot], curves[one.bot]) for one in played if one.bot in curves]
    return lines(series, "Mean gold over time", "round", f"mean gold ({recomputed} games)") if series else ""


def gold_curves(records: Path, wanted: set[str], most: int = RECOMPUTED) -> tuple[dict[str, list[float]], int]:
    """Mean gold of every bot before the first and after every round, from at most so many of the `wanted` records (ids),
    spread evenly over them; and how many these were. A file that was cut off is read up to there."""
    chosen = set(sorted(wanted)[:: max(1, math.ceil(len(wanted) / most))])
    kept = {record.id: record for record in _readable(records) if record.id in chosen}  # of two, the last counts
    totals: dict[str, np.ndarray] = {}
    counts: dict[str, np.ndarray] = {}
    for record in kept.values():
        golds = np.array([games["hero"]["gold"][0] for games in GameHistory.of(record).states(every=PLIES_PER_ROUND)])
        for seat, bot in enumerate(record.names):
            for table, values in ((totals, golds[:, seat]), (counts, np.ones(len(golds)))):
                longer, shorter = sorted((table.get(bot, np.zeros(0)), values.astype(float)), key=len, reverse=True)
                longer = longer.copy()
                longer[: len(shorter)] += shorter
                table[bot] = longer
    return {bot: (totals[bot] / counts[bot]).tolist() for bot in totals}, len(kept)


def _readable(records: Path) -> Iterable[GameRecord]:
    """The records up to the first that cannot be read: after a crash the last may be unfinished."""
    try:
        yield from read_records(records)
    except VindibotError:
        return
