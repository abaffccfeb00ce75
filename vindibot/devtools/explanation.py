"""Why a hero made its move on a turn: the votes, their sum, and why another direction lost.

Numbers are votes times the weight, so that they add up to the sums; "-" stands for a direction that would have done nothing.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from rich.console import Console
from rich.table import Table
from rich.text import Text

from behaviours.base import SearchInfo
from sim.game import BEER_COST, DIRECTIONS, HERO_SHIFT, MINE, OFFSET, TAVERN, TILE_BITS, WALL, row_column
from vindibot.base import printable
from vindibot.engine import debug_command
from vindibot.games import Ballot, BallotEntry, RecordedTurn, Recording, write_line
from vindibot.terminal import Picture, Shot, layout, rounds

_STATUS_STYLES = {"ok": "", "late": "yellow", "benched": "red", "killed": "red", "error": "red", "void": "red"}


def explain(
    console: Console, recording: Recording, own: RecordedTurn, why_not: int | None = None, *, board: bool = False
) -> None:
    """Print what was voted on a turn of a recording; `why_not` is a direction (0..4) of which more is wanted."""
    for line in heading(recording, own):
        _say(console, line)
    if board:
        shot = Shot(own.games, recording.me, recording.names)
        lines = layout(shot, console.width, 200, colour=console.color_system is not None)
        if lines is not None:
            console.print(Picture(lines))
    console.print()
    console.print(votes_table(own.ballot))
    for line in [*verdict(own.ballot), *remarks(own.ballot), *how_to_see(own.ballot, recording, own.turn)]:
        _say(console, line)
    if why_not is not None:
        console.print()
        _explain_loss(console, own, recording.me, why_not)


def heading(recording: Recording, own: RecordedTurn) -> list[str]:
    """Which game and turn it is, and how our hero was."""
    hero, (played, total) = own.games[0]["hero"][recording.me], rounds(own.games)
    row, column = row_column(int(hero["pos"]))
    header, name = recording.header, recording.names[recording.me]
    return [
        f"game {printable(header.game)}, bot {printable(header.bot)}, hero @{header.hero} {printable(name)}",
        (
            f"turn {own.turn}, round {played} of {total}: at ({row}, {column}), life {hero['life']}, gold {hero['gold']},"
            f" mines {hero['mines']}"
        ),
    ]


def votes_table(ballot: Ballot, raw: bool = False) -> Table:
    """Each trait's votes, times the weight or `raw`, with its weight and its time or what went wrong; then the sums."""
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), show_footer=True)
    table.add_column("trait", footer="sum", overflow="ellipsis", no_wrap=True)
    table.add_column("weight", justify="right", style="dim")
    for direction, word in enumerate(DIRECTIONS):
        chosen = direction == ballot.direction
        footer = amount(ballot.sums[direction]) if direction in ballot.candidates else "-"
        table.add_column(word, footer=Text(footer, style="bold green" if chosen else "bold"), justify="right", no_wrap=True)
    table.add_column("ms", justify="right", no_wrap=True)
    for entry in ballot.entries:
        values = entry.votes if raw else entry.weighted
        table.add_row(
            Text(printable(entry.label)),
            amount(entry.weight),
            *_cells(ballot, entry, values),
            Text(time_of(entry), style=_style(entry)),
        )
    return table


def _cells(ballot: Ballot, entry: BallotEntry, values: Sequence[float] | None) -> list[Text]:
    if entry.votes is None or values is None:
        return [Text("")] * len(DIRECTIONS)
    cells = []
    for direction, value in enumerate(values):
        if direction not in ballot.candidates:
            cells.append(Text("-", style="dim"))
        else:
            cells.append(Text(amount(value), style="red" if value < 0 else "dim" if value == 0 else ""))
    return cells


def _style(entry: BallotEntry) -> str:
    return _STATUS_STYLES[entry.status]


def time_of(entry: BallotEntry) -> str:
    """The milliseconds of a trait, and its status where that is not "ok"."""
    ms = f"{entry.ms:.1f}" if math.isfinite(entry.ms) and (entry.ms or entry.status == "ok") else ""
    return ms if entry.status == "ok" else f"{ms} {entry.status}".strip()


def amount(value: float) -> str:
    """A vote or a sum in a few characters: 0, 0.75, -1.30, 12720, 1.2e+09; what is not 0 never looks like it."""
    if value == round(value) and abs(value) < 1e7:
        return f"{value:.0f}"
    return f"{value:.2f}" if 0.01 <= abs(value) < 1e6 else f"{value:.1e}"


def runner_up(ballot: Ballot) -> int | None:
    """The best candidate but the one that was chosen; None where there was no other."""
    others = [direction for direction in ballot.candidates if direction != ballot.direction]
    return max(others, key=ballot.sums.__getitem__) if others else None


def verdict(ballot: Ballot) -> list[str]:
    """What the vote came to, by how much, and how much time was left."""
    chosen, other = DIRECTIONS[ballot.direction], runner_up(ballot)
    if ballot.fallback:
        line = f"{chosen}: no trait had answered in time, this is the move that was prepared for that"
    elif other is None:
        line = f"{chosen}: nothing else would have had an effect"
    elif ballot.sums[other] == ballot.sums[ballot.direction]:
        line = f"{chosen}, drawn by lot: {DIRECTIONS[other]} had as much"
    else:
        line = f"{chosen}, {amount(ballot.sums[ballot.direction] - ballot.sums[other])} ahead of {DIRECTIONS[other]}"
    left = ballot.margin_ms
    if not math.isfinite(left):
        return [line]
    return [line, f"decided {left:.0f} ms before the limit" if left >= 0 else f"decided {-left:.0f} ms too late"]


def remarks(ballot: Ballot) -> list[str]:
    """What the traits have to say beside their votes: what went wrong, how deep they searched, where they want to go."""
    found = []
    for entry in ballot.entries:
        if entry.note:
            found.append(f"{printable(entry.label)}: {entry.status}: {printable(entry.note)}")
        if entry.info is not None and (told := info_words(entry.info)):
            found.append(f"{printable(entry.label)}: {told}")
    return found


def how_to_see(ballot: Ballot, recording: Recording, turn: int, bot: str = "") -> list[str]:
    """For each trait that failed, the command that shows it in the debugger; `bot` is as in `debug_command`."""
    return [
        f"to see {printable(entry.label)} fail: {printable(debug_command(recording.path, turn, entry.label, bot))}"
        for entry in ballot.entries
        if entry.note
    ]


def info_words(info: SearchInfo) -> str:
    """A thought in words: depth, score, nodes, the line with a letter for each ply (a group is a round), the goal."""
    told = []
    if info.depth is not None:
        told.append(f"depth {info.depth}")
    if info.score is not None:
        told.append(f"score {info.score:+.1f}")
    if info.nodes is not None:
        told.append(f"{info.nodes:,} nodes")
    if info.pv:
        line = write_line(tuple(info.pv))
        told.append("expects " + " ".join(line[start : start + 4] for start in range(0, len(line), 4)))
    if info.goal is not None:
        told.append("wants to go to ({}, {})".format(*row_column(info.goal)))
    return ", ".join(told)


# ---- Why not ----


def _explain_loss(console: Console, own: RecordedTurn, me: int, wanted: int) -> None:
    ballot = own.ballot
    _say(console, why_not_words(own, me, wanted))
    if wanted == ballot.direction or wanted not in ballot.candidates or ballot.fallback:
        return
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
    table.add_column("trait", overflow="ellipsis", no_wrap=True)
    for head in (DIRECTIONS[wanted], DIRECTIONS[ballot.direction], "difference"):
        table.add_column(head, justify="right", no_wrap=True)
    for entry, difference in sides(ballot, wanted):
        if difference:
            shares = entry.weighted
            style = "red" if difference < 0 else "green"
            for_it = Text(f"{'+' * (difference > 0)}{amount(difference)}", style)
            two = amount(shares[wanted]), amount(shares[ballot.direction])
            table.add_row(Text(printable(entry.label)), *two, for_it)
    if table.row_count:
        console.print(table)
    for line in _consequences(ballot, wanted):
        _say(console, line)


def sides(ballot: Ballot, wanted: int) -> list[tuple[BallotEntry, float]]:
    """What each trait's weighted votes add to a direction's sum over that of the order; who was most against it first."""
    shares = [(entry, entry.weighted[wanted] - entry.weighted[ballot.direction]) for entry in ballot.entries]
    return sorted(shares, key=lambda share: share[1])


def why_not_words(own: RecordedTurn, me: int, wanted: int) -> str:
    """Why a direction was not the order, in a sentence."""
    ballot = own.ballot
    word, chosen, sums = DIRECTIONS[wanted], DIRECTIONS[ballot.direction], ballot.sums
    if wanted == ballot.direction:
        return f"Why not {word}? It was {word}."
    if wanted not in ballot.candidates:
        return f"Why not {word}? {_obstacle(own, me, wanted)}: it would have been Stay by another name."
    if ballot.fallback:
        return f"Why not {word}? No trait had answered in time, so nobody voted for or against it."
    behind, mine, best = sums[ballot.direction] - sums[wanted], amount(sums[wanted]), amount(sums[ballot.direction])
    if behind == 0:
        return f"Why not {word}? It had as much as {chosen} ({mine}); the lot decided."
    return f"Why not {word}? It lost to {chosen} by {amount(behind)}: {mine} against {best}."


def _obstacle(own: RecordedTurn, me: int, wanted: int) -> str:
    """What lies in a direction that has no effect."""
    game = own.games[0]
    cell = int(game["cell"][int(game["hero"][me]["pos"]) + int(OFFSET[wanted])])
    tile = cell & TILE_BITS
    if cell >> HERO_SHIFT:
        return f"@{cell >> HERO_SHIFT} stands there"
    if tile == WALL:
        return "There is a wall"
    if tile == TAVERN:
        return f"There is a tavern, and a beer costs {BEER_COST} gold"
    return "That mine is ours already" if tile >= MINE else "It has no effect"


def _consequences(ballot: Ballot, wanted: int) -> list[str]:
    """Who decided it alone, and who could not be heard."""
    lines = []
    alone = [
        printable(entry.label) for entry in ballot.entries if entry.votes is not None and _wins_without(ballot, entry, wanted)
    ]
    if alone:
        lines.append(f"Without {' or without '.join(alone)} it would have been {DIRECTIONS[wanted]}.")
    unheard = [
        f"{printable(entry.label)} ({entry.status})" for entry in ballot.entries if entry.votes is None and entry.status != "ok"
    ]
    if unheard:
        lines.append(f"Not heard: {', '.join(unheard)}.")
    return lines


def _wins_without(ballot: Ballot, entry: BallotEntry, wanted: int) -> bool:
    sums = [total - share for total, share in zip(ballot.sums, entry.weighted, strict=True)]
    return all(sums[wanted] > sums[other] for other in ballot.candidates if other != wanted)


def _say(console: Console, text: str) -> None:
    console.print(text, markup=False, highlight=False, soft_wrap=True)
