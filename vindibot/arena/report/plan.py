"""The plan of a match: blocks, games and hours until the sequential test has a verdict, from the results of earlier games.

The report of a tournament also says how much longer it takes to halve the intervals.
"""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import stdev

from rich.console import Console
from rich.table import Table

from vindibot.arena.report.live import duration
from vindibot.arena.report.summary import match_scores, whole_blocks
from vindibot.arena.report.table import percent, points
from vindibot.arena.results import GameLine, ResultsError, read_results, that_count, this_machine
from vindibot.arena.settings import RESULTS_FOLDER, ArenaSettings
from vindibot.base.console import plain_table, say
from vindibot.base.errors import UsageError
from vindibot.base.text import counted, printable
from vindibot.config.bots import named_after
from vindibot.config.files import short
from vindibot.config.settings import cores
from vindibot.statistics.hypotheses import Hypotheses
from vindibot.statistics.ratings import MIN_BLOCKS
from vindibot.statistics.sprt import blocks_for_interval, expected_blocks

#: The true differences of the table, as shares of the difference between the hypotheses.
_SHARES = (0.0, 0.5, 1.0, 2.0)
#: The half widths of the intervals in the table, in points.
_WIDTHS = (40, 20, 10)


@dataclass(frozen=True)
class Pace:
    """How long the games of earlier results took: games per block, and seconds per game."""

    games: int
    seconds: float

    @classmethod
    def of(cls, lines: Sequence[GameLine]) -> Pace:
        """Return the pace of games. There must be at least one."""
        return cls(lines[0].games, sum(line.seconds for line in lines) / len(lines))

    def time(self, blocks: float, workers: int) -> str:
        """Return the time for this number of blocks in words, if `workers` games are played at once."""
        return duration(blocks * self.games * self.seconds / workers)


def to_halve(lines: Sequence[GameLine], workers: int | None = None) -> str:
    """Return in words how long it takes to halve the intervals of a tournament, "" without a whole block.

    The width of an interval falls with the square root of the number of blocks. So it takes three times as many blocks more.
    """
    blocks, played = len(whole_blocks(lines)), that_count(lines)
    if not blocks or not played:
        return ""
    time = Pace.of(played).time(3 * blocks, workers or cores())
    return f"{counted(3 * blocks, 'more block')}, about {time} on this machine"


def show_plan(console: Console, settings: ArenaSettings, smallest: float | None) -> None:
    """Print the plan of a match of two bots. `smallest` is the smallest difference of interest in points, None for ``sprt.elo1``.

    The variance comes from the results file of the settings, else from the newest results of the same two bots. Raises
    `UsageError` if there are no such results, or too few.
    """
    path, lines = _earlier_results(settings)
    first = lines[0]
    if first.format != "ab":
        raise UsageError(f"{short(path)}: --plan needs the results of a match of two bots (--match A B)")
    bots = sorted({bot for line in lines for bot in line.bots})
    a = settings.bots[0] if settings.bots[0] in bots else bots[0]
    scores = match_scores(lines, a)
    if len(scores) < MIN_BLOCKS:
        raise UsageError(f"{short(path)}: --plan needs at least {MIN_BLOCKS} whole blocks; it has {len(scores)}")
    spread = stdev(scores)
    if spread == 0:
        raise UsageError(f"{short(path)}: all blocks have the same score, so nothing can be planned from them")
    sprt = settings.sprt
    elo1 = sprt.elo1 if smallest is None else sprt.elo0 + smallest
    if elo1 <= sprt.elo0:
        raise UsageError("--plan needs a difference of more than 0 points")
    hypotheses = Hypotheses(sprt.elo0, elo1, sprt.alpha, sprt.beta, sprt.fewest, sprt.distinct)
    pace, workers = Pace.of(that_count(lines)), settings.workers or cores()
    say(console, f"planned from {counted(len(scores), 'block')} of {' against '.join(map(printable, bots))} in {short(path)}")
    games = f"{counted(pace.games, 'game')} of {first.rounds} rounds"
    say(console, f"a block has {games}, {pace.seconds:.1f} s each, {workers} at once")
    say(console, f"the score of a block varies by {percent(spread, 1)} (standard deviation)")
    names = {line.machine.name for line in lines if line.machine is not None}
    if names and this_machine().name not in names:
        say(console, "these games were played on another machine, so the times are only a guess", "yellow")
    console.print()
    console.print(_verdicts(spread, hypotheses, pace, workers))
    console.print()
    console.print(_widths(spread, pace, workers))


def _verdicts(spread: float, hypotheses: Hypotheses, pace: Pace, workers: int) -> Table:
    """Return a table with the expected length of the sequential test for several true differences."""
    elo0, elo1 = hypotheses.elo0, hypotheses.elo1
    title = f"sequential test of {points(elo1)} points rather than {points(elo0)} (--sprt-stop)"
    table = plain_table("true difference", "stronger", "blocks", "games", "time", title=title)
    for share in _SHARES:
        true = elo0 + share * (elo1 - elo0)
        blocks, chance = expected_blocks(spread, true, hypotheses)
        table.add_row(f"{points(true)}", percent(chance), *_costs(blocks, pace, workers))
    return table


def _widths(spread: float, pace: Pace, workers: int) -> Table:
    """Return a table with the lengths of matches whose intervals have certain widths."""
    table = plain_table("95 % interval", "blocks", "games", "time", title="match of a fixed length (--blocks)")
    for width in _WIDTHS:
        table.add_row(f"±{width}", *_costs(blocks_for_interval(spread, width), pace, workers))
    return table


def _costs(blocks: float, pace: Pace, workers: int) -> tuple[str, str, str]:
    return f"{blocks:.0f}", f"{blocks * pace.games:.0f}", pace.time(blocks, workers)


def _earlier_results(settings: ArenaSettings) -> tuple[Path, list[GameLine]]:
    """Return the results to plan from, with their path."""
    if settings.results is not None:
        lines = read_results(settings.results)
        if not lines:
            raise UsageError(f"{short(settings.results)} has no finished games")
        return settings.results, lines
    bots = {named_after(Path(bot)) if bot.endswith(".toml") else bot for bot in settings.bots}
    files = sorted(RESULTS_FOLDER.glob("*.jsonl"), key=lambda path: path.stat().st_mtime, reverse=True)
    for path in files:
        try:
            lines = read_results(path)
        except ResultsError:
            continue
        if lines and lines[0].format == "ab" and {bot for line in lines for bot in line.bots} == bots:
            return path, lines
    command = shlex.join(["vindibot", "arena", "--match", *settings.bots[:2], "--blocks", "10"])
    raise UsageError(
        f"{RESULTS_FOLDER}/ has no results of a match of {' against '.join(sorted(bots))} to plan from: play some blocks first"
        f" ({command}), or name the results of a similar match with --results"
    )
