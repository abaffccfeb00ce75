"""Profiles of bots over many games: the mean loss of each bot per move, in total and by kind, with 95 % intervals."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from rich.console import Console

from vindibot.arena.results import read_results, that_count
from vindibot.base.output.console import plain_table, say
from vindibot.base.output.text import counted, printable
from vindibot.games.files.game_files import games_path, is_results, read_records
from vindibot.games.files.review import KINDS_OF_LOSS, MARKS, BotLosses, Review, losses_by_bot
from vindibot.games.game_record import GameRecord
from vindibot.games.outcome import Reason
from vindibot.review.report import WHAT_LOSSES_MEAN

#: Largest number of bots in one table of losses by kind. Each bot is a column.
BESIDE = 3


@dataclass(frozen=True)
class ManyGames:
    """The records of games, the file that has them, and the block of each game by the game's id."""

    path: Path
    records: tuple[GameRecord, ...]
    blocks: Mapping[str, int]


def many_games(path: Path, most: int | None = None) -> ManyGames:
    """Return the games of a results file of the arena, or of a file of game records. With `most`, return only the first games.

    Games that could not be played are left out. In a file of records, each game is a block of its own. Raises `UsageError` if the
    records of a results file are missing.
    """
    blocks: dict[str, int] | None = None
    source = games_path(path)
    if is_results(path):
        lines = sorted(that_count(read_results(path)), key=lambda line: line.key)
        blocks = {line.record: line.block for line in lines if line.record}
    found = {record.id: record for record in read_records(source) if record.moves or record.ending is not Reason.ABORTED}
    ids = [game for game in (found if blocks is None else blocks) if game in found][:most]
    numbers = {game: number for number, game in enumerate(ids)}
    chosen = {game: numbers[game] if blocks is None else blocks[game] for game in ids}
    return ManyGames(source, tuple(found[game] for game in ids), chosen)


def bots_of(games: ManyGames, reviews: Mapping[str, Review]) -> dict[str, BotLosses]:
    """Return the losses of each bot in the games that have a review. `reviews` has the reviews by game id."""
    rows = []
    for record in games.records:
        review = reviews.get(record.id)
        if review is not None:
            rows.append((games.blocks[record.id], record.names, review.turns, record.max_turns))
    return losses_by_bot(rows)


def show_profile(console: Console, bots: Mapping[str, BotLosses], games: int) -> None:
    """Print a table with the losses of each bot, and tables of these losses by kind. `games` is the number of games."""
    table = plain_table("bot", "moves", "loss/move", "95 %", "inaccur.", "mistakes", "blunders", left=("bot",))
    for bot, losses in bots.items():
        total = losses.total
        rates = [f"{100 * total.marks[mark] / max(1, total.moves):.1f}" for mark in MARKS]
        table.add_row(printable(bot), str(total.moves), f"{total.per_move():.2f}", _interval(losses), *rates)
    say(console, f"mean loss per move in {counted(games, 'game')}, in gold; classes per 100 moves")
    for line in WHAT_LOSSES_MEAN:
        say(console, line)
    console.print()
    console.print(table)
    names = list(bots)
    for start in range(0, len(names), BESIDE):
        console.print()
        _show_kinds(console, {name: bots[name] for name in names[start : start + BESIDE]})


def _show_kinds(console: Console, bots: Mapping[str, BotLosses]) -> None:
    heads = [printable(name) for name in bots]
    table = plain_table("kind", *heads, left=("kind",))
    for kind in KINDS_OF_LOSS:
        cells: Sequence[str] = [f"{one.total.per_move(kind):.2f} {_interval(one, kind)}".strip() for one in bots.values()]
        table.add_row(kind, *cells)
    console.print(table)


def _interval(losses: BotLosses, kind: str | None = None) -> str:
    found = losses.interval(kind)
    return "" if found is None else f"[{found[0]:.2f}, {found[1]:.2f}]"
