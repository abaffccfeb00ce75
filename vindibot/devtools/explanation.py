"""The explanation of a hero's move on a turn: the votes, their sums, and why another direction lost.

Each number is a vote times the weight of its trait. So the numbers of a direction add up to its sum. "-" stands for a direction
without an effect.
"""

from __future__ import annotations

import math
from pathlib import Path

from rich.console import Console
from rich.segment import SegmentLines
from rich.table import Table
from rich.text import Text

from behaviours.base import SearchInfo
from behaviours.notes import Note
from sim.game import BEER_COST, DIRECTIONS, HERO_SHIFT, MINE, OFFSET, TAVERN, TILE_BITS, WALL, Games, row_column
from vindibot.base.console import plain_table, say
from vindibot.base.errors import UsageError
from vindibot.base.text import printable, weight_text
from vindibot.engine.runner import debug_command
from vindibot.games.ballot import Ballot, BallotEntry
from vindibot.games.files.game_files import kind_of
from vindibot.games.files.recorded_turn import choose_turn
from vindibot.games.files.recording import RecordedTurn, Recording, read_recording
from vindibot.games.position import write_moves
from vindibot.terminal.board import Frame, layout, rounds

_STATUS_STYLES = {"ok": "", "late": "yellow", "benched": "red", "killed": "red", "error": "red", "void": "red"}


def explain(console: Console, path: Path, *, why_not: str | None = None, board: bool = False, **choice: int | None) -> None:
    """Print the votes on a turn of the recording in a file. `choice` are the arguments of `choose_turn`.

    With `why_not`, a word for a direction, also explain why this direction lost. Raises `UsageError` for a file without votes.
    """
    if kind_of(path) != "recording":
        raise UsageError(f"{path}: this file has no votes; a recording of `vindibot play` is needed")
    recording = read_recording(path)
    own = choose_turn(recording, **choice)
    for line in heading(recording, own):
        say(console, line)
    if board:
        frame = Frame(own.games, recording.me, recording.names)
        lines = layout(frame, console.width, 200, colour=console.color_system is not None)
        if lines is not None:
            console.print(SegmentLines(lines, new_lines=True))
    console.print()
    console.print(votes_table(own.ballot))
    for line in [*verdict(own.ballot), *remarks(own.ballot), *how_to_see(own.ballot, recording, own.turn)]:
        say(console, line)
    if why_not is not None:
        console.print()
        _explain_loss(console, own, recording.me, DIRECTIONS.index(why_not.capitalize()))


def heading(recording: Recording, own: RecordedTurn) -> list[str]:
    """Return two lines of text: the game, and the turn with the state of our hero."""
    header, name = recording.header, recording.names[recording.me]
    return [
        f"game {printable(header.game)}, bot {printable(header.bot)}, hero @{header.hero} {printable(name)}",
        state_line(own.turn, own.games, recording.me),
    ]


def state_line(turn: int, games: Games, me: int) -> str:
    """Return a line of text: the turn, and the state of hero `me` (0..3)."""
    hero, (played, total) = games[0]["hero"][me], rounds(games)
    row, column = row_column(int(hero["pos"]))
    facts = f"life {hero['life']}, gold {hero['gold']}, mines {hero['mines']}"
    return f"turn {turn}, round {played} of {total}: at ({row}, {column}), {facts}"


def votes_table(ballot: Ballot) -> Table:
    """Return a table with a row per trait (weight, weighted votes, time, status if it failed), and a last row with the sums."""
    table = trait_table("weight", *DIRECTIONS, "ms")
    for entry in ballot.entries:
        time = Text(time_of(entry), _STATUS_STYLES[entry.status])
        table.add_row(Text(printable(entry.label)), Text(weight_text(entry.weight), "dim"), *vote_cells(ballot, entry), time)
    sums = vote_cells(ballot, BallotEntry("", 1.0, ballot.sums))
    for cell in sums:
        cell.style = "bold"
    sums[ballot.direction].style = "bold green"
    table.add_row("sum", "", *sums, style="bold")
    return table


def trait_table(*heads: str) -> Table:
    """Return an empty table: a column for the trait, then a column of numbers for each head."""
    return plain_table("trait", *heads, left=("trait",))


def vote_cells(ballot: Ballot, entry: BallotEntry) -> list[Text]:
    """Return the weighted votes of a trait as five cells. The cells are empty if the trait has no votes."""
    if entry.votes is None:
        return [Text("")] * len(DIRECTIONS)
    return [
        Text(amount(vote), "red" if vote < 0 else "dim" if vote == 0 else "")
        if direction in ballot.candidates
        else Text("-", "dim")
        for direction, vote in enumerate(entry.weighted)
    ]


def time_of(entry: BallotEntry) -> str:
    """Return the milliseconds of a trait, followed by its status if the status is not "ok"."""
    ms = f"{entry.ms:.1f}" if math.isfinite(entry.ms) and (entry.ms or entry.status == "ok") else ""
    return ms if entry.status == "ok" else f"{ms} {entry.status}".strip()


def amount(value: float) -> str:
    """Return a vote or a sum as a short text: 0, 0.75, -1.30, 12720, 1.2e+09; only 0 gives "0"."""
    value += 0.0  # -0 becomes 0
    if value == round(value) and abs(value) < 1e7:
        return f"{value:.0f}"
    return f"{value:.2f}" if 0.01 <= abs(value) < 1e6 else f"{value:.1e}"


def runner_up(ballot: Ballot) -> int | None:
    """Return the best candidate other than the chosen direction; None if there is no other candidate."""
    others = [direction for direction in ballot.candidates if direction != ballot.direction]
    return max(others, key=ballot.sums.__getitem__) if others else None


def verdict(ballot: Ballot) -> list[str]:
    """Return one or two lines: the chosen move with its lead, and the time left."""
    chosen, other = DIRECTIONS[ballot.direction], runner_up(ballot)
    if ballot.fallback:
        line = f"{chosen}: no trait answered in time, this is the fallback move"
    elif other is None:
        line = f"{chosen}: no other move has an effect"
    elif ballot.sums[other] == ballot.sums[ballot.direction]:
        line = f"{chosen}, chosen at random: {DIRECTIONS[other]} has the same sum"
    else:
        line = f"{chosen}, {amount(ballot.sums[ballot.direction] - ballot.sums[other])} ahead of {DIRECTIONS[other]}"
    left = ballot.margin_ms
    if not math.isfinite(left):
        return [line]
    return [line, f"decided {left:.0f} ms before the limit" if left >= 0 else f"decided {-left:.0f} ms too late"]


def remarks(ballot: Ballot) -> list[str]:
    """Return lines on what the traits reported: errors, search depths, targets, notes."""
    lines = []
    for entry in ballot.entries:
        if entry.note:
            lines.append(f"{printable(entry.label)}: {entry.status}: {printable(entry.note)}")
        if entry.info is not None and (words := info_words(entry.info)):
            lines.append(f"{printable(entry.label)}: {words}")
        lines += [f"{printable(entry.label)} says: {note_words(note)}" for note in entry.notes]
    return lines


def note_words(note: Note) -> str:
    """Return a note as text: the marked square, if any, then what was said."""
    place = "" if note.square is None else "({}, {})".format(*row_column(note.square))
    return " ".join(filter(None, (place, printable(note.text))))


def how_to_see(ballot: Ballot, recording: Recording, turn: int, bot: str = "") -> list[str]:
    """Return a line per failed trait with the command that shows the failure in the debugger. For `bot` see `debug_command`."""
    return [
        f"to see {printable(entry.label)} fail: {printable(debug_command(recording.path, turn, entry.label, bot))}"
        for entry in ballot.entries
        if entry.note
    ]


def info_words(info: SearchInfo) -> str:
    """Return what a search reported, as text: depth, score, nodes, principal variation and target.

    The principal variation has a letter per ply and a group of letters per round.
    """
    words = []
    if info.depth is not None:
        words.append(f"depth {info.depth}")
    if info.score is not None:
        words.append(f"score {info.score:+z.1f}")
    if info.nodes is not None:
        words.append(f"{info.nodes:,} {'node' if info.nodes == 1 else 'nodes'}")
    if info.pv:
        line = write_moves(info.pv)
        words.append("expects " + " ".join(line[start : start + 4] for start in range(0, len(line), 4)))
    if info.goal is not None:
        words.append("target ({}, {})".format(*row_column(info.goal)))
    return ", ".join(words)


# ---- Why not ----


def _explain_loss(console: Console, own: RecordedTurn, me: int, wanted: int) -> None:
    ballot = own.ballot
    say(console, why_not_words(own, me, wanted))
    if wanted == ballot.direction or wanted not in ballot.candidates or ballot.fallback:
        return
    table = trait_table(DIRECTIONS[wanted], DIRECTIONS[ballot.direction], "difference")
    for entry, difference in differences(ballot, wanted):
        if difference:
            signed = Text(f"{'+' * (difference > 0)}{amount(difference)}", "red" if difference < 0 else "green")
            votes = amount(entry.weighted[wanted]), amount(entry.weighted[ballot.direction])
            table.add_row(Text(printable(entry.label)), *votes, signed)
    if table.row_count:
        console.print(table)
    for line in _consequences(ballot, wanted):
        say(console, line)


def differences(ballot: Ballot, wanted: int) -> list[tuple[BallotEntry, float]]:
    """Return the weighted vote of each trait for `wanted` minus its weighted vote for the chosen move, smallest first."""
    pairs = [(entry, entry.weighted[wanted] - entry.weighted[ballot.direction]) for entry in ballot.entries]
    return sorted(pairs, key=lambda pair: pair[1])


def why_not_words(own: RecordedTurn, me: int, wanted: int) -> str:
    """Return a sentence on why hero `me` (0..3) did not choose the direction `wanted` (0..4)."""
    ballot = own.ballot
    word, chosen, sums = DIRECTIONS[wanted], DIRECTIONS[ballot.direction], ballot.sums
    if wanted == ballot.direction:
        return f"Why not {word}? It was {word}."
    if wanted not in ballot.candidates:
        return f"Why not {word}? {_obstacle(own, me, wanted)}: the hero would stay."
    if ballot.fallback:
        return f"Why not {word}? No trait answered in time, so there are no votes."
    behind, loser, winner = sums[ballot.direction] - sums[wanted], amount(sums[wanted]), amount(sums[ballot.direction])
    if behind == 0:
        return f"Why not {word}? It has the same sum as {chosen} ({loser}); {chosen} was chosen at random."
    return f"Why not {word}? It lost to {chosen} by {amount(behind)}: {loser} against {winner}."


def _obstacle(own: RecordedTurn, me: int, wanted: int) -> str:
    """Return the reason why the direction `wanted` (0..4) has no effect for hero `me` (0..3)."""
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
    """Return lines about how the result depends on single traits.

    There is a line about the traits without which `wanted` would have won, and a line about the traits without votes.
    """
    decisive, silent = [], []
    for entry in ballot.entries:
        if entry.votes is not None and _wins_without(ballot, entry, wanted):
            decisive.append(printable(entry.label))
        if entry.votes is None and entry.status != "ok":
            silent.append(f"{printable(entry.label)} ({entry.status})")
    lines = [f"Without {' or without '.join(decisive)} it would have been {DIRECTIONS[wanted]}."] if decisive else []
    return [*lines, f"No votes from: {', '.join(silent)}."] if silent else lines


def _wins_without(ballot: Ballot, entry: BallotEntry, wanted: int) -> bool:
    sums = [total - share for total, share in zip(ballot.sums, entry.weighted, strict=True)]
    return all(sums[wanted] > sums[other] for other in ballot.candidates if other != wanted)
