"""The report of a tournament: one HTML file without scripts. It needs no other file and no network.

The report links to the pages of some games (`vindibot.arena.report.page`). The template (``templates/report.html``) escapes
labels, map names and notes. The chart of gold over time is computed from the game records, if there are any.
"""

from __future__ import annotations

import math
import shlex
import statistics
from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from datetime import datetime
from itertools import zip_longest
from pathlib import Path
from urllib.parse import quote

import numpy as np
from markupsafe import Markup

from sim.game import PLIES_PER_ROUND
from vindibot import __version__
from vindibot.arena.report.plan import to_halve
from vindibot.arena.report.summary import BotStats, Summary, builds, mixed_versions
from vindibot.arena.report.table import ALL_COLUMNS, figures, head_parts, interval, interval_note, match_lines, percent, points
from vindibot.arena.results import GameLine, that_count
from vindibot.arena.store import (
    INSTEAD,
    REPORT_MARK,
    logs_path,
    owned,
    read_origin,
    replays_path,
    report_path,
)
from vindibot.base.errors import UsageError, VindibotError
from vindibot.base.pages import Curve, Range, colour, lines, moment, ranges, render
from vindibot.base.writing import short
from vindibot.games.files.game_files import read_records, records_path
from vindibot.games.files.review import KINDS_OF_LOSS, BotLosses, losses_by_bot, read_reviews, review_path
from vindibot.games.game_record import GameRecord
from vindibot.games.history import GameHistory
from vindibot.viewer.replay import page_output, record_page

#: Largest number of games in the list of games, and largest number of games that are recomputed for the chart of gold over time.
#: In the list, games with forfeits come first.
LISTED, RECOMPUTED = 500, 200


def write_report(
    results: Path,
    summary: Summary,
    games: Sequence[GameLine],
    bots: Sequence[str] = (),
    replays: int = 0,
    *,
    title: str = "",
    refresh: int = 0,
) -> Path:
    """Write the report and the pages of at most `replays` games beside a results file. Return the report's path.

    For `bots`, `title` and `refresh`, see `report`. Raises `VindibotError` if a file cannot be written. Raises `UsageError` if
    the arena did not make a file that would be replaced.
    """
    path = report_path(results)
    pages = write_pages(results, games, replays)
    owned(path, REPORT_MARK).write(report(results, summary, games, bots, pages, title=title, refresh=refresh))
    return path


def report(
    results: Path,
    summary: Summary,
    games: Sequence[GameLine],
    bots: Sequence[str] = (),
    pages: Mapping[GameKey, Path] | None = None,
    *,
    title: str = "",
    refresh: int = 0,
) -> str:
    """Return the report as an HTML page.

    The page links to the file `results` and to the files beside it. `bots` are the labels in the order of the configuration. This
    order determines the colours of the bots. The page shows gold over time if there are game records. `pages` has the paths of
    games' pages by block and number. Without `title`, the title has the labels. A browser loads the page again every `refresh`
    seconds, if this is not 0.
    """
    number = {bot: index for index, bot in enumerate(dict.fromkeys([*bots, *sorted(stats.bot for stats in summary.standings)]))}
    title = title or (f"{summary.match.a} against {summary.match.b}" if summary.match else ", ".join(number))
    played = [stats for stats in summary.standings if stats.seats]
    records = records_path(results) if records_path(results).is_file() else None
    logs = logs_path(results) if logs_path(results).is_dir() else None
    files = [(results, "results, one line per game"), (records, "game records"), (logs, "output of bots")]
    addresses = {key: f"{quote(path.parent.name)}/{quote(path.name)}" for key, path in (pages or {}).items()}
    return render(
        "arena.report/report.html",
        title=title,
        refresh=refresh,
        mark=REPORT_MARK,
        head_line=" · ".join(head_parts(summary)),
        summary=summary,
        columns=ALL_COLUMNS,
        interval_note=interval_note(summary),
        played=played,
        match=match_lines(summary.match, parameters=True) if summary.match is not None else [],
        ratings=_ratings(summary, number),
        gold=_gold(played, number),
        records=records is not None,
        gold_over_time=_gold_over_time(results, games, played, number),
        losses=_losses(results, games),
        kinds=KINDS_OF_LOSS,
        sizes=sorted({size for stats in played for size in stats.sizes}),
        pairs=summary.pairs_that_met(),
        logs={"name": logs.name, "address": quote(logs.name)} if logs is not None else None,
        files=[(quote(path.name), text) for path, text in files if path is not None],
        games=sorted(games, key=lambda game: (not game.has_forfeits, game.key)),
        watched=sorted((game for game in games if game.key in addresses), key=lambda game: game.key),
        addresses=addresses,
        replay=shlex.join(["vindibot", "replay", records.name, "--game", "RECORD", "--html", "game.html"]) if records else "",
        facts=_facts(results, games),
        listed=LISTED,
        mixed_versions=mixed_versions(games),
        colour=lambda bot: colour(number[bot]),
        figures=figures,
        percent=percent,
    )


def _losses(results: Path, games: Sequence[GameLine]) -> dict[str, BotLosses]:
    """Return the gold that each bot lost in the games that have a review, by bot.

    Return {} if there is no readable review beside the game records.
    """
    path = review_path(records_path(results))
    if not path.is_file():
        return {}
    lines = {line.record: line for line in that_count(games) if line.record}
    with suppress(VindibotError):
        reviewed = [(lines[review.header.game], review.turns) for review in read_reviews(path) if review.header.game in lines]
        return losses_by_bot((line.block, line.bots, turns, PLIES_PER_ROUND * line.rounds) for line, turns in reviewed)
    return {}


def _starts(games: Sequence[GameLine]) -> Iterator[float]:
    """Yield the known starts of games, in seconds since 1970."""
    for game in games:
        with suppress(ValueError):
            start = datetime.fromisoformat(game.started)
            if start.tzinfo is not None:
                yield start.timestamp()


def _facts(results: Path, games: Sequence[GameLine]) -> list[tuple[str, str, bool]]:
    """Return facts about how the games were played, each as (name, value, whether the value is a command).

    Unknown facts are left out.
    """
    origin = read_origin(results)
    begun = sorted(_starts(games))
    played = Markup("{} to {}").format(moment(begun[0]), moment(begun[-1])) if begun else ""
    facts = [
        ("begun with", origin.command, True),
        ("seed", "" if origin.seed is None else str(origin.seed), False),
        ("played", played, False),
        ("to halve the intervals", to_halve(games), False),
        ("version", "; ".join(f"vindibot {build_}" for build_ in builds(games)) or f"vindibot {__version__}", False),
    ]
    return [fact for fact in facts if fact[1]]


def _ratings(summary: Summary, number: Mapping[str, int]) -> str:
    """Return the chart of the ratings with their intervals."""
    rows = []
    for stats in summary.standings:
        rating = stats.rating
        assert rating is not None
        thin = (rating.low, rating.high) if rating.low is not None and rating.high is not None else None
        note = f"{stats.bot}: {points(rating.rating)}" + (f", 95 % {interval(*thin)}" if thin else "")
        rows.append(Range(stats.bot, number[stats.bot], rating.rating, thin, note=note))
    return ranges(rows, "Ratings with 95 % intervals", "rating, with its 95 % interval", zero=True)


def _gold(played: Sequence[BotStats], number: Mapping[str, int]) -> str:
    """Return the chart of the distribution of gold at the end."""
    rows = []
    for stats in played:
        low, quarter, middle, three, high = np.percentile(stats.golds, (5, 25, 50, 75, 95)).tolist()
        note = f"{stats.bot}: half of its games end with {quarter:.0f} to {three:.0f}, median {middle:.0f}"
        rows.append(Range(stats.bot, number[stats.bot], middle, (low, high), (quarter, three), note))
    return ranges(rows, "Distribution of gold", "gold at the end: median, middle half, 5 % to 95 %")


def _gold_over_time(results: Path, games: Sequence[GameLine], played: Sequence[BotStats], number: Mapping[str, int]) -> str:
    """Return the chart of mean gold after every round, or "" if these games have no records."""
    curves, recomputed = gold_curves(results, {line.record for line in that_count(games) if line.record})
    series = [Curve(stats.bot, number[stats.bot], curves[stats.bot]) for stats in played if stats.bot in curves]
    return lines(series, "Mean gold over time", "round", f"mean gold ({recomputed} games)") if series else ""


def gold_curves(results: Path, ids: set[str], most: int = RECOMPUTED) -> tuple[dict[str, list[float]], int]:
    """Return the mean gold of each bot over time, and the number of game records that were used.

    A bot's first value is before the first round; then there is one value after each round. `ids` are those of game records. At
    most `most` of them are used, spread evenly.
    """
    records = records_of(results, set(sorted(ids)[:: max(1, math.ceil(len(ids) / most))]))
    golds: defaultdict[str, list[Sequence[int]]] = defaultdict(list)
    for record in records.values():
        by_round = [games["hero"]["gold"][0].tolist() for games in GameHistory.of(record).states(every=PLIES_PER_ROUND)]
        for bot, own in zip(record.names, zip(*by_round, strict=True), strict=True):
            golds[bot].append(own)
    curves = {
        bot: [statistics.fmean(gold for gold in at_once if gold is not None) for at_once in zip_longest(*series)]
        for bot, series in golds.items()
    }
    return curves, len(records)


#: The number of a game's block, and the number of the game in the block.
GameKey = tuple[int, int]


def page_name(key: GameKey) -> str:
    """Return the file name of a game's page: ``block3-game2.html``."""
    return f"block{key[0]}-game{key[1]}.html"


def check_pages(results: Path) -> None:
    """Raise `UsageError` if the pages of games cannot be written without replacing a file that the arena did not make.

    `results` is the path of the results file.
    """
    folder = replays_path(results)
    if folder.exists() and not folder.is_dir():
        raise UsageError(f"{short(folder)} is there already and is no folder: move it away, or {INSTEAD}")
    for path in sorted(folder.glob("block*-game*.html")):
        page_output(path, INSTEAD).check()


def choose(games: Sequence[GameLine], most: int) -> list[GameLine]:
    """Return at most `most` games that have records, in descending order of block and number.

    At most half of them are the latest games with forfeits. The others are the latest games of any kind that were played.
    """
    latest = sorted((game for game in that_count(games) if game.record), key=lambda game: game.key, reverse=True)
    chosen = {game.key: game for game in [game for game in latest if game.has_forfeits][: most // 2]}
    for game in latest:
        if len(chosen) < most:
            chosen[game.key] = game
    return [chosen[key] for key in sorted(chosen, reverse=True)]


def write_pages(results: Path, games: Sequence[GameLine], most: int) -> dict[GameKey, Path]:
    """Write the pages of at most `most` games (see `choose`) beside the results. Return their paths by block and number.

    A game without a readable record has no page. Raises `UsageError` or `VindibotError` if a page cannot be written.
    """
    chosen = choose(games, most)
    records = records_of(results, {game.record for game in chosen})
    pages: dict[GameKey, Path] = {}
    for game in chosen:
        try:
            page = record_page(records[game.record])
        except (KeyError, VindibotError):  # the game has no record, was aborted, or its record is damaged
            continue
        path = replays_path(results) / page_name(game.key)
        page_output(path, INSTEAD).write(page)
        pages[game.key] = path
    return pages


def records_of(results: Path, ids: Collection[str]) -> dict[str, GameRecord]:
    """Return the game records whose ids are in `ids`, by id. If two records have the same id, the last one counts.

    `results` is the path of the results file. Reading stops at the first record that cannot be read, because the last record may
    be unfinished after a crash.
    """
    records: dict[str, GameRecord] = {}
    with suppress(VindibotError):
        records.update((record.id, record) for record in read_records(records_path(results)) if record.id in ids)
    return records
