"""``vindibot turn``: one recorded turn run again, and what was voted then beside what is voted now."""

from __future__ import annotations

import math
from collections.abc import Sequence

from rich.console import Console
from rich.table import Table
from rich.text import Text

from behaviours.base import View
from sim.game import DIRECTIONS
from vindibot.base import printable
from vindibot.config import Bot, short
from vindibot.devtools.asking import LIMIT_WITH_NODES, SECONDS, ask, debug, traits_of
from vindibot.devtools.explanation import amount, heading, how_to_see, remarks, time_of, verdict
from vindibot.engine import TraitHealth, entry, is_anytime, warm
from vindibot.games import NODES, Ballot, BallotEntry, RecordedTurn, Recording, tally, view

#: Times the limit of the game that a trait may take here.
GENEROUS = 10


def rerun_turn(
    console: Console,
    recording: Recording,
    own: RecordedTurn,
    bot: Bot,
    *,
    nodes: int | None = None,
    only: Sequence[str] = (),
    debugger: bool = False,
    limit_ms: float | None = None,
) -> Ballot | None:
    """Ask a bot's traits on a recorded turn, in this process, and print the votes of then and now; returns those of now.

    With `nodes` traits have that budget, else as long as a turn lasts; under the debugger there is no clock. A trait that is
    still at work after `limit_ms` is ended and named; the default is 10 times the limit of the game, with `nodes` a minute.
    `only` are labels of traits. None if the user has left the debugger. Raises `UsageError` for a label that the bot has not.
    """
    traits = traits_of(bot, only)
    warm(console)
    if limit_ms is None:
        limit_ms = GENEROUS * (recording.header.limit_ms or 1000.0) if nodes is None else 1000 * LIMIT_WITH_NODES
    limit = limit_ms / 1000

    def fresh() -> View:
        return view(recording, own.turn, nodes=NODES if debugger and nodes is None else nodes)

    here = fresh()
    _ = here.map  # so that it is in nobody's time
    if debugger:
        votes = []
        for number, (_, behaviour) in enumerate(traits):
            vote = debug(number, behaviour, fresh, limit)
            if vote is None:
                return None
            votes.append(vote)
    else:
        votes = ask([behaviour for _, behaviour in traits], here, SECONDS if nodes is None else None, limit)
    health_records = [TraitHealth(spec.label, spec.weight, is_anytime(behaviour)) for spec, behaviour in traits]
    entries = [entry(health, vote) for health, vote in zip(health_records, votes, strict=True)]
    ballot = tally(entries, here.moves, lambda: here.rng("tie"), margin_ms=math.inf)
    for line in heading(recording, own):
        _say(console, line)
    console.print()
    console.print(comparison(ballot, own.ballot, whole=not only))
    for when, one in (("now", ballot), ("then", own.ballot)):
        if when == "then" or not only:
            _say(console, f"{when}: {verdict(one)[0]}")
    for line in remarks(ballot):
        _say(console, line)
    if not debugger:
        bot_file = "" if bot.path == str(recording.path) else short(bot.path)
        for line in how_to_see(ballot, recording, own.turn, bot_file):
            _say(console, line)
    return ballot


def comparison(now: Ballot, then: Ballot, *, whole: bool = True) -> Table:
    """Weighted votes of now and then: a trait that votes as it did has one row ("same"). `whole` adds the sums."""
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
    table.add_column("trait", overflow="ellipsis", no_wrap=True)
    table.add_column("")
    for word in (*DIRECTIONS, "ms"):
        table.add_column(word, justify="right", no_wrap=True)
    before = {one.label: one for one in then.entries}
    for one in now.entries:
        other = before.pop(one.label, None)
        if other is not None and _alike(one, other):
            _row(table, one.label, "same", now, one, time_of(one))
            continue
        _row(table, one.label, "now", now, one, time_of(one))
        if other is not None:
            _row(table, "", "then", then, other, time_of(other), "dim")
    if whole:
        for one in before.values():
            _row(table, one.label, "then only", then, one, time_of(one), "dim")
        _row(table, "sum", "now", now, BallotEntry("", 1.0, now.sums), "", "bold")
        _row(table, "", "then", then, BallotEntry("", 1.0, then.sums), "", "dim")
    return table


def _row(table: Table, label: str, when: str, ballot: Ballot, one: BallotEntry, ms: str, style: str = "") -> None:
    cells = [""] * len(DIRECTIONS)
    if one.votes is not None:
        cells = [amount(value) if move in ballot.candidates else "-" for move, value in enumerate(one.weighted)]
    table.add_row(*(Text(cell, style=style) for cell in (printable(label), when, *cells, ms)))


def _alike(one: BallotEntry, other: BallotEntry) -> bool:
    """Whether a trait votes as it did, but for what rounding does."""
    if one.votes is None or other.votes is None:
        return one.votes is other.votes and one.status == other.status
    pairs = zip(one.weighted, other.weighted, strict=True)
    return all(math.isclose(mine, theirs, rel_tol=1e-9, abs_tol=1e-12) for mine, theirs in pairs)


def _say(console: Console, text: str) -> None:
    console.print(text, markup=False, highlight=False, soft_wrap=True)
