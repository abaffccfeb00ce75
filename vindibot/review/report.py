"""What reviews show in the terminal: progress, mean losses, the worst moves with small boards, and the profiles of bots over many
games."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from pathlib import Path

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from rich.segment import Segment
from rich.table import Table
from rich.text import Text

from sim.events import DIED_IN_MINE, DRANK, KILLED, KILLED_ON_SPAWN, TOOK_MINE, Events
from sim.game import PLIES_PER_ROUND, Games
from sim.replay import events_of
from vindibot.arena.results import read_results, that_count
from vindibot.base.console import plain_table, say
from vindibot.base.text import counted, printable
from vindibot.games.files.game_files import games_path, is_results, read_records
from vindibot.games.files.review import KINDS_OF_LOSS, MARKS, PHASES, BotLosses, Losses, Review, ReviewedTurn, losses_by_bot
from vindibot.games.game_record import GameRecord
from vindibot.games.history import GameHistory
from vindibot.games.outcome import Reason
from vindibot.games.position import read_moves
from vindibot.terminal.board import part_of_board, rounds

#: The head of the table of losses.
HEAD = "mean loss per move, in gold"
#: Said above every table of losses.
WHAT_LOSSES_MEAN = (
    "A loss is the gold that a move costs at the end of the game. Several moves can",
    "lose the same gold, so the sum of the losses is not the gold that was lost.",
)
#: Number of squares per side of a small board.
SIDE = 9
#: Number of rounds of an expected line that the report shows.
SHOWN_ROUNDS = 12


def show_review(console: Console, history: GameHistory, review: Review, most: int) -> None:
    """Print the report of a game: a table of the reviewed heroes, and the `most` worst moves, the largest loss first."""
    plies = int(history.first["max_turns"].item(0))
    losses = {hero: Losses.of(review.of(hero - 1), plies) for hero in review.header.heroes if review.of(hero - 1)}
    if not losses:
        say(console, "no turn of this game can be reviewed", "yellow")
        return
    names = {hero: printable(history.names[hero - 1]) or f"hero {hero}" for hero in losses}
    header = review.header
    length = counted(header.rounds, "round") if header.rounds else "the end of the game"
    say(
        console, f"game {printable(history.id)}, reviewed by {printable(header.bot)} with {counted(header.nodes, 'node')} a turn,"
    )
    say(console, f"playouts of {length}")
    console.print()
    for line in WHAT_LOSSES_MEAN:
        say(console, line)
    console.print()
    console.print(game_table({f"@{hero} {names[hero]}": part for hero, part in losses.items()}))
    worst = review.worst(most)
    for rank, turn in enumerate(worst, 1):
        console.print()
        _show_turn(console, history, turn, rank, names[turn.hero])
    if most and not worst:
        console.print()
        say(console, "no move lost gold that counts")


def game_table(losses: dict[str, Losses]) -> Table:
    """Return a table of the mean loss per move, by phase of the game and by kind, and of the number of bad moves by class.

    Each hero or bot is a column.
    """
    table = table_of_names(HEAD, *losses, left=(HEAD,), names=losses)
    rows: list[tuple[str, list[str]]] = [("all moves", [f"{part.per_move():.2f}" for part in losses.values()])]
    for number, phase in enumerate(PHASES):
        pairs = [part.phases[number] for part in losses.values()]
        rows.append((f"  {phase}", [f"{gold / moves:.2f}" if moves else "-" for moves, gold in pairs]))
    kinds = [kind for kind in KINDS_OF_LOSS if any(part.kinds[kind] for part in losses.values())]
    rows += [(f"  {kind}", [f"{part.per_move(kind):.2f}" for part in losses.values()]) for kind in kinds]
    plurals = zip(MARKS, ("inaccuracies", "mistakes", "blunders"), strict=True)
    rows += [(plural, [str(part.marks[mark]) for part in losses.values()]) for mark, plural in plurals]
    rows.append(("moves", [str(part.moves) for part in losses.values()]))
    for name, cells in rows:
        table.add_row(name, *cells)
    return table


def table_of_names(*heads: str, left: Collection[str], names: Collection[str]) -> Table:
    """Return an empty table, as `plain_table` does, in which texts of the columns `names` are broken if they are too long."""
    table = plain_table(*heads, left=left)
    for column in table.columns:
        if column.header in names:
            column.no_wrap, column.overflow = False, "fold"
    return table


def progress_bar(console: Console) -> Progress:
    """Return a progress bar, which is shown only in a terminal."""
    columns = TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn()
    return Progress(*columns, console=console, transient=True, disable=not console.is_terminal)


def _show_turn(console: Console, history: GameHistory, turn: ReviewedTurn, rank: int, name: str) -> None:
    games = history.state(history.at_turn(turn.turn))
    show_beside_board(console, games, turn.hero - 1, _facts(history, games, turn, rank, name))


def show_beside_board(console: Console, games: Games, me: int, lines: Sequence[Text]) -> None:
    """Print the part of the board around hero `me` (0..3), and these lines of text beside it."""
    board = part_of_board(games, me, SIDE)
    width = max((sum(segment.cell_length for segment in line) for line in board), default=0)
    texts = [part for line in lines for part in line.wrap(console, max(20, console.width - width - 2))]
    for left, right in zip_longest(board, texts):
        segments = list(left) if left is not None else [Segment(" " * width)]
        line = Text.assemble(*((segment.text, segment.style or "") for segment in segments), "  ", right or "")
        console.print(line, no_wrap=True, soft_wrap=True)


def turn_lines(games: Games, me: int, rank: int, name: str) -> tuple[Text, Text]:
    """Return a line with the rank and the turn of a state and the name of hero `me` (0..3), and a line with its state."""
    hero, (played, total) = games["hero"][0, me], rounds(games)
    heading = f"{rank}. turn {games['turn'].item(0)} (round {played} of {total}), @{me + 1} {name}"
    return Text(heading, "bold"), Text(f"life {hero['life']}, gold {hero['gold']}, mines {hero['mines']}", "dim")


def _facts(history: GameHistory, games: Games, turn: ReviewedTurn, rank: int, name: str) -> list[Text]:
    """Return the lines beside the small board of a turn."""
    me = turn.hero - 1
    heading, state = turn_lines(games, me, rank, name)
    played, best = turn.value(turn.move), turn.value(turn.best)
    lines = [
        heading,
        Text(f"{turn.mark}: {turn.kind}" if turn.kind else turn.mark, "red" if turn.mark == "blunder" else "yellow"),
        state,
    ]
    for what, value, moves in (("best", best, turn.best_line), ("played", played, turn.played_line)):
        lost = "" if value is best else f", {turn.loss:.1f} ± {turn.loss_error:.1f} less"
        lines.append(Text(f"{what} {value.move}: {value.gold[me]:.0f} gold{lost}", "green" if value is best else ""))
        lines.append(Text(f"  {line_text(games, me, moves)}"))
    others = [f"{value.move} {-value.less:.1f}" for value in turn.values if value.move not in (turn.move, turn.best)]
    if others:
        lines.append(Text(f"others: {', '.join(others)}", "dim"))
    return lines


def line_text(games: Games, me: int, line: str) -> str:
    """Return the hero's own moves in an expected line, and what they bring: ``S S E . E (2 mines, 1 drink)``.

    `games` is the state in which the line begins. At most `SHOWN_ROUNDS` moves are shown.
    """
    own = " ".join(line[::PLIES_PER_ROUND][:SHOWN_ROUNDS])
    gains = _gains(events_of(games, read_moves(line))[0], me)
    return f"{own} ({', '.join(gains)})" if gains else own


def _gains(events: Events, me: int) -> list[str]:
    kind, mine = events["kind"], events["hero"] == me
    killed = (events["kind"] == KILLED) | (events["kind"] == KILLED_ON_SPAWN)
    deaths = int((killed & (events["other"] == me)).sum() + ((kind == DIED_IN_MINE) & mine).sum())
    counts: Sequence[tuple[int, str]] = (
        (int(((kind == TOOK_MINE) & mine).sum()), "mine"),
        (int(((kind == DRANK) & mine).sum()), "drink"),
        (int((killed & mine).sum()), "kill"),
        (deaths, "death"),
    )
    return [counted(count, what) for count, what in counts if count]


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
    records = {record.id: record for record in read_records(source) if record.moves or record.ending is not Reason.ABORTED}
    ids = [game for game in (records if blocks is None else blocks) if game in records][:most]
    numbers = {game: number for number, game in enumerate(ids)}
    chosen = {game: numbers[game] if blocks is None else blocks[game] for game in ids}
    return ManyGames(source, tuple(records[game] for game in ids), chosen)


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
    heads = "bot", "moves", "loss/move", "95 %", "inaccur.", "mistakes", "blunders"
    table = table_of_names(*heads, left=("bot",), names=("bot",))
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
    table = table_of_names("kind", *heads, left=("kind",), names=heads)
    for kind in KINDS_OF_LOSS:
        cells: Sequence[str] = [f"{part.total.per_move(kind):.2f} {_interval(part, kind)}".strip() for part in bots.values()]
        table.add_row(kind, *cells)
    console.print(table)


def _interval(losses: BotLosses, kind: str | None = None) -> str:
    interval = losses.interval(kind)
    return "" if interval is None else f"[{interval[0]:.2f}, {interval[1]:.2f}]"
