"""The report of a tournament: one HTML file that needs nothing else, no script, and no network.

Whatever comes from outside (labels, map names, notes) is escaped. The file looks right in light and dark, on a telephone
and on a desk. Where game records were kept, gold over time is recomputed from them.
"""

from __future__ import annotations

import math
import os
from collections.abc import Iterable, Sequence
from html import escape
from pathlib import Path
from urllib.parse import quote

import numpy as np

from sim.game import PLIES_PER_ROUND
from vindibot import __version__
from vindibot.arena.charts import COLOURS, Line, Range, colour, lines, ranges
from vindibot.arena.results import GameLine
from vindibot.arena.store import REPORT_MARK, logs_path, owned, records_path, report_path
from vindibot.arena.summary import Standing, Summary
from vindibot.arena.table import head_line, interval, match_lines, milliseconds, percent, points, rounds
from vindibot.arena.versions import builds, mixture
from vindibot.base import VindibotError
from vindibot.games import GameHistory, GameRecord, Reason, read_records

#: Games that are listed one by one, those with forfeits first, and those that are recomputed for gold over time.
LISTED, RECOMPUTED = 500, 200

_POLICY = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'"
_LIGHT = ("#0072b2", "#d55e00", "#009e73", "#a3519b", "#b8860b", "#c2185b", "#4a6fe3", "#5f6b1e")
_DARK = ("#5ab4f0", "#ff8f4d", "#3fd0a5", "#e08fd6", "#e8c14a", "#ff7fa8", "#9db2ff", "#bccb5f")


def _palette(colours: Sequence[str]) -> str:
    return "".join(f"--c{index}:{value};" for index, value in enumerate(colours))


_STYLE = f"""
:root {{ color-scheme: light dark; --ink:#1c1e21; --soft:#5b6168; --paper:#ffffff; --card:#f5f6f8; --edge:#d9dce1;
  --rest:#8a9099; --good:26,127,55; --bad:192,48,40; {_palette(_LIGHT)} }}
@media (prefers-color-scheme: dark) {{ :root {{ --ink:#e6e8ea; --soft:#a0a7af; --paper:#15171a; --card:#1f2226; --edge:#3a3f46;
  --rest:#7d848d; --good:70,190,110; --bad:240,100,90; {_palette(_DARK)} }} }}
* {{ box-sizing: border-box }}
body {{ margin: 0 auto; max-width: 66rem; padding: 1rem; background: var(--paper); color: var(--ink);
  font: 15px/1.45 system-ui, sans-serif }}
h1 {{ font-size: 1.4rem; margin: .2rem 0; overflow-wrap: anywhere }} h2 {{ font-size: 1.05rem; margin: 0 0 .4rem }}
p {{ margin: .3rem 0 }} .soft {{ color: var(--soft) }} a {{ color: var(--c0) }}
section {{ background: var(--card); border: 1px solid var(--edge); border-radius: 8px; padding: .8rem; margin: 1rem 0 }}
.cards {{ display: grid; grid-template-columns: repeat(auto-fit, minmax(min(100%, 26rem), 1fr)); gap: 1rem; margin: 1rem 0 }}
.cards section {{ margin: 0; min-width: 0 }}
.wide {{ overflow-x: auto }}
table {{ border-collapse: collapse; font-variant-numeric: tabular-nums; white-space: nowrap }}
th, td {{ text-align: right; padding: .22rem .55rem; border-bottom: 1px solid var(--edge) }}
.tight th, .tight td {{ padding: .22rem .25rem }} .tight {{ font-size: 13px }}
th:first-child, td:first-child {{ text-align: left }} td.left, th.left {{ text-align: left }}
th {{ font-weight: 600; color: var(--soft) }} tr:last-child td {{ border-bottom: 0 }}
td.key::before {{ content: ""; display: inline-block; width: .7em; height: .7em; border-radius: 50%; margin-right: .45em;
  background: currentColor }} td.key bdi {{ color: var(--ink) }}
svg {{ width: 100%; max-width: 36rem; height: auto; display: block; margin: 0 auto; font: 12px system-ui, sans-serif }}
svg text {{ fill: var(--ink) }} svg .small {{ font-size: 11px; fill: var(--soft) }}
svg .grid {{ stroke: var(--edge); stroke-width: 1 }} svg .zero {{ stroke: var(--soft); stroke-dasharray: 3 3 }}
svg .thin {{ stroke-width: 2.5; stroke-linecap: round }} svg .thick {{ stroke-width: 9; opacity: .45 }}
svg .dot {{ stroke: var(--card); stroke-width: 1.5 }} svg .line {{ fill: none; stroke-width: 2; stroke-linejoin: round }}
svg .hit {{ fill: transparent }}
{"".join(f".c{n} {{ --own: var(--c{n}) }} " for n in range(COLOURS))}.rest {{ --own: var(--rest) }}
svg line[class*=" c"], svg line.rest, svg polyline {{ stroke: var(--own) }} svg .dot {{ fill: var(--own) }}
svg text.end {{ fill: var(--own) }} td.key {{ color: var(--own) }}
ul {{ margin: .3rem 0; padding-left: 1.2rem }} summary {{ cursor: pointer; font-weight: 600 }}
"""


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
    page = _Page(summary, games, bots, beside or Path.cwd())
    kept = records if records is not None and records.is_file() else None
    logs = logs_path(results) if results is not None and logs_path(results).is_dir() else None
    parts = [
        f"<h1>{escape(title)}</h1>",
        f'<p class="soft">{escape(head_line(summary))}</p>',
        '<p class="soft">Only a part of the tournament has been played.</p>' if summary.interrupted else "",
        page.match(),
        page.standings(),
        f'<div class="cards">{page.ratings()}{page.gold()}{page.gold_over_time(kept)}{page.places()}'
        f"{page.pairs()}{page.outcomes(logs)}</div>",
        page.games(results, kept, logs),
        f'<p class="soft">{escape(mixture(games))}</p>' if mixture(games) else "",
        f'<p class="soft">Played by vindibot {escape("; ".join(map(str, builds(games))) or __version__)}. {_HOW}</p>',
    ]
    head = (
        f'<meta charset="utf-8">{REPORT_MARK}<meta name="viewport" content="width=device-width, initial-scale=1">'
        f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}">'
        f'<link rel="icon" href="data:,"><title>{escape(title)}</title><style>{_STYLE}</style>'
    )
    return f'<!doctype html><html lang="en"><head>{head}</head><body>{"".join(parts)}</body></html>\n'


_HOW = (
    "Ratings are on the scale of Elo: 100 more is ahead in 64 % of the games in which both sit. They come from a Plackett-Luce "
    "fit to the places of all games, their intervals (95 %) from a bootstrap over blocks. LOS is the likelihood of being "
    "stronger than the next bot of the table. A win is being alone on most gold. Stalled are rounds per game in runs of at least "
    "40 in which a bot stayed within 5x5 squares."
)


def _name(bot: str) -> str:
    """A label as text, set apart from the direction in which the rest is written."""
    return f"<bdi>{escape(bot)}</bdi>"


def _section(title: str, body: str) -> str:
    return f"<section><h2>{escape(title)}</h2>{body}</section>" if body else ""


def _rows(head: Iterable[str], rows: Iterable[Iterable[str]], kind: str = "") -> str:
    """A table (of class `kind`) of cells that are markup; a cell that begins with <td is taken as it is."""
    top = "".join(f"<th>{cell}</th>" for cell in head)
    body = "".join(
        "<tr>" + "".join(cell if cell.startswith("<td") else f"<td>{cell}</td>" for cell in row) + "</tr>" for row in rows
    )
    return f'<div class="wide"><table class="{kind}"><thead><tr>{top}</tr></thead><tbody>{body}</tbody></table></div>'


class _Page:
    """The parts of one report."""

    def __init__(self, summary: Summary, games: Sequence[GameLine], bots: Sequence[str], beside: Path) -> None:
        self._summary, self._games, self._beside = summary, games, beside
        order = dict.fromkeys([*bots, *sorted(one.bot for one in summary.standings)])
        self._number = {bot: index for index, bot in enumerate(order)}

    def _key(self, bot: str) -> str:
        return f'<td class="key {colour(self._number[bot])}">{_name(bot)}</td>'

    def _played(self) -> list[Standing]:
        return [one for one in self._summary.standings if one.seats]

    def match(self) -> str:
        """The A/B match in words."""
        match = self._summary.match
        return "" if match is None else _section("The match", "".join(f"<p>{escape(said)}</p>" for said in match_lines(match)))

    def standings(self) -> str:
        """The main table."""
        head = ["bot", "rating", "95 %", "LOS", "games", "wins", "place", "gold", "deaths", "kills", "stalled", "mines"]
        head += ["ms", "p99", "most"]
        rows = []
        for one in self._summary.standings:
            rating = one.rating
            assert rating is not None
            row = [self._key(one.bot), points(rating.rating), interval(rating.low, rating.high), percent(rating.los)]
            row.append(str(one.games))
            if one.seats:
                row += [percent(one.wins / one.games), f"{one.place:.2f}", f"{one.gold:.0f}"]
                row += [f"{one.deaths:.1f}", f"{one.kills:.1f}", rounds(one.stalled), f"{one.mines:.1f}"]
                row += [milliseconds(value) for value in (one.ms_median, one.ms_p99, one.ms_max)]
            rows.append([row[0], *(cell if cell.startswith("<td") else escape(cell) for cell in row[1:])])
        return _section("Standings", _rows(head, rows))

    def ratings(self) -> str:
        """Ratings with their intervals."""
        rows = []
        for one in self._summary.standings:
            rating = one.rating
            assert rating is not None
            note = f"{one.bot}: {points(rating.rating)}"
            note += f", 95 % {interval(rating.low, rating.high)}" if rating.low is not None else ""
            rows.append(Range(one.bot, self._number[one.bot], rating.rating, rating.low, rating.high, note=note))
        return _section("Ratings", ranges(rows, "Ratings with 95 % intervals", "rating, with its 95 % interval", zero=True))

    def gold(self) -> str:
        """How gold at the end is spread."""
        rows = []
        for one in self._played():
            low, quarter, middle, three, high = np.percentile(one.golds, (5, 25, 50, 75, 95)).tolist()
            note = f"{one.bot}: half of its games end with {quarter:.0f} to {three:.0f}, median {middle:.0f}"
            rows.append(Range(one.bot, self._number[one.bot], middle, low, high, (quarter, three), note))
        unit = "gold at the end: median, middle half, 5 % to 95 %"
        return _section("Gold", ranges(rows, "Distribution of gold", unit)) if rows else ""

    def gold_over_time(self, records: Path | None) -> str:
        """Mean gold after every round, recomputed from game records."""
        if records is None:
            return _section("Gold over time", '<p class="soft">No game records were kept, from which it follows.</p>')
        curves, played = gold_curves(records, {line.record for line in self._games if line.record})
        series = [Line(one.bot, self._number[one.bot], curves[one.bot]) for one in self._played() if one.bot in curves]
        if not series:
            return ""
        drawn = lines(series, "Mean gold over time", "round", f"mean gold ({played} games)")
        return _section("Gold over time", drawn)

    def places(self) -> str:
        """Mean places by map size, coloured by how far they are from the middle."""
        sizes = sorted({size for one in self._played() for size in one.sizes})
        rows = []
        for one in self._played():
            row = [self._key(one.bot)]
            for size in sizes:
                place, seats = one.sizes.get(size, (math.nan, 0))
                tone, share = ("good" if place < 2.5 else "bad"), min(0.75, abs(place - 2.5) / 1.5 * 0.75) if seats else 0.0
                style = f"background:rgba(var(--{tone}),{share:.2f})"
                row.append(f'<td style="{style}" title="{seats} seats">{place:.2f}</td>' if seats else "<td></td>")
            rows.append(row)
        return _section("Places by map size", _rows(["bot", *map(str, sizes)], rows, "tight")) if rows else ""

    def pairs(self) -> str:
        """How often the bot of the row has more gold than the one of the column."""
        bots = [one.bot for one in self._summary.standings]
        met = {(pair.bot, pair.other): pair for pair in self._summary.pairs if pair.ahead + pair.behind + pair.level}
        if not met:
            return ""
        rows = []
        for bot in bots:
            row = [self._key(bot)]
            for other in bots:
                pair = met.get((bot, other))
                said = f"{pair.ahead} ahead, {pair.level} level, {pair.behind} behind" if pair else ""
                row.append(f'<td title="{said}">{escape(percent(pair.score))}</td>' if pair else "<td></td>")
            rows.append(row)
        return _section("Ahead of", _rows(["bot", *map(_name, bots)], rows))

    def outcomes(self, logs: Path | None) -> str:
        """How bots' games ended, with a link to the folder of what they wrote."""
        reasons = self._summary.reasons
        if not set(reasons) - {Reason.FINISHED}:
            return ""
        rows = [[self._key(one.bot), *(str(one.reasons.get(reason, "")) for reason in reasons)] for one in self._played()]
        kept = f"<p>What bots wrote is in the folder {self._link(logs, escape(logs.name))}.</p>" if logs is not None else ""
        return _section("How their games ended, in seats", _rows(["bot", *reasons], rows) + kept)

    def _link(self, path: Path, said: str) -> str:
        try:
            where = os.path.relpath(path, self._beside)
        except ValueError:  # another drive
            where = str(path)
        return f'<a href="{escape(quote(where.replace(os.sep, "/")), quote=True)}">{said}</a>'

    def games(self, results: Path | None, records: Path | None, logs: Path | None) -> str:
        """The files, and the games one by one."""
        files = [self._link(results, "results, a line per game")] if results is not None else []
        files += [self._link(records, "game records")] if records is not None else []
        files += [self._link(logs, "what bots wrote")] if logs is not None else []
        ordered = sorted(self._games, key=lambda game: (all(seat.outcome.finished for seat in game.seats), game.block, game.game))
        rows = []
        for game in ordered[:LISTED]:
            row = [f"{game.block}/{game.game}", f'<td class="left">{escape(game.map.name)}</td>', str(game.map.size)]
            for seat in game.seats:
                ended = "" if seat.outcome.finished else f" ({seat.outcome.reason})"
                known = escape(seat.outcome.message, quote=True)
                row.append(f'<td class="left" title="{known}">{_name(seat.bot)} {seat.gold}{ended}</td>')
            row.append(f'<td class="left">{escape(game.record)}</td>')
            rows.append(row)
        if not rows:
            return ""
        more = f'<p class="soft">{len(ordered) - LISTED} more are in the file of results.</p>' if len(ordered) > LISTED else ""
        links = f"<p>{' · '.join(files)}</p>" if files else ""
        table = _rows(["game", "map", "size", "@1", "@2", "@3", "@4", "record"], rows)
        return f"<section><details><summary>Games</summary>{links}{table}{more}</details></section>"


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
