"""``vindibot diff``: the turns of recorded games on which two bots move differently, and what the differences are worth."""

from __future__ import annotations

import math
import shlex
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np
from rich.console import Console
from rich.table import Table
from rich.text import Text

from sim.game import DIRECTIONS, PLIES_PER_ROUND
from vindibot.base.console import plain_table, say
from vindibot.base.errors import UsageError
from vindibot.base.text import counted, printable
from vindibot.base.writing import short
from vindibot.config.bots import Bot, load_bot
from vindibot.engine.asking import asking
from vindibot.engine.warmup import warm
from vindibot.games.ballot import Ballot, BallotEntry
from vindibot.games.files.game_files import games_path, kind_of, read_game_file
from vindibot.games.files.recording import Recording
from vindibot.games.files.review import PHASES, ReviewedTurn, Thresholds
from vindibot.games.history import GameHistory
from vindibot.review.regression import NODES_AGAIN, good_moves, write_tests
from vindibot.review.report import many_games, progress_bar, show_beside_board, table_of_names, turn_lines
from vindibot.review.review_run import reviewing
from vindibot.review.turns import HEROES, SITUATIONS, Reviewer, TurnPosition, phase_of, positions, situation_of
from vindibot.review.values import NODES, ROUNDS, rollout_of
from vindibot.statistics.means import rate_interval
from vindibot.viewer.replay import replay_file

#: Seed of the choice of turns. It is constant, so the same command chooses the same turns.
SEED = 48


@dataclass(frozen=True, eq=False)
class Game:
    """A game whose turns are compared: its history, the number of its block, and the heroes (0..3) whose turns count."""

    history: GameHistory
    block: int
    heroes: tuple[int, ...]


@dataclass(frozen=True, eq=False)
class AskedTurn:
    """A turn about which both bots were asked.

    - `game`: the game. `position`: the turn of the hero. `phase`, `situation`: see `vindibot.review.turns`.
    - `moves`: for each bot, the moves (0..4) that it may play; several may tie.
    - `traits`: the labels of the traits that decide the difference: if this trait of the first bot voted as in the second bot,
      the first bot could play the move of the second. Empty if only several traits together decide it.
    - `review`: the values of all moves, None before they are valued. The reviewed move is one of the first bot's.
    """

    game: Game
    position: TurnPosition = field(repr=False)
    phase: str
    situation: str
    moves: tuple[frozenset[int], frozenset[int]]
    traits: tuple[str, ...] = ()
    review: ReviewedTurn | None = None

    @property
    def differs(self) -> bool:
        """Whether the bots have no move in common."""
        return not self.moves[0] & self.moves[1]

    def names(self, bot: int) -> str:
        """Return the moves of a bot (0 or 1) as text."""
        return " or ".join(DIRECTIONS[move] for move in sorted(self.moves[bot]))

    @property
    def gain(self) -> float:
        """The gold by which the second bot's move is better than the first bot's. The turn must be valued."""
        return _loss(self, 0)[0] - _loss(self, 1)[0]

    @property
    def gain_error(self) -> float:
        """The standard error of `gain`, or a larger number: both moves were compared with the best move, not with each other."""
        return math.hypot(_loss(self, 0)[1], _loss(self, 1)[1])


def _loss(turn: AskedTurn, bot: int) -> tuple[float, float]:
    """Return the mean loss of a bot's moves against the best move, and its standard error."""
    assert turn.review is not None
    values = [turn.review.value(DIRECTIONS[move]) for move in turn.moves[bot]]
    return sum(value.less for value in values) / len(values), sum(value.less_error for value in values) / len(values)


def chosen_turns(games: Sequence[Game], most: int) -> Iterator[tuple[Game, TurnPosition]]:
    """Yield at most `most` turns of the games, chosen at random among the turns of the heroes that count, in their order."""
    plies = [[ply for ply in range(len(game.history)) if game.history.turn(ply) % 4 in game.heroes] for game in games]
    total = sum(map(len, plies))
    chosen = np.zeros(total, bool)
    chosen[np.random.default_rng(SEED).permutation(total)[:most]] = True
    start = 0
    for game, numbers in zip(games, plies, strict=True):
        wanted = {ply for ply, taken in zip(numbers, chosen[start : start + len(numbers)], strict=True) if taken}
        start += len(numbers)
        if wanted:
            yield from ((game, position) for position in positions(game.history, game.heroes) if position.number in wanted)


def ask_both(
    bots: tuple[Bot, Bot], turns: Iterator[tuple[Game, TurnPosition]], nodes: int, advance: Callable[[], None]
) -> list[AskedTurn]:
    """Return what the two bots play on these turns, with a search budget of `nodes` nodes. `advance` is called after each turn.

    Each bot runs in a process of its own, and both think at the same time.
    """
    asked_turns = []
    with (
        asking(bots[0]) as first,
        asking(bots[1]) as second,
        ThreadPoolExecutor(2, "vindibot-diff") as threads,
    ):
        for game, position in turns:
            view = position.view()
            ballots = [threads.submit(vote, position.view(nodes)) for vote in (first, second)]
            first_ballot, second_ballot = (ballot.result() for ballot in ballots)
            moves = _best(first_ballot.entries, first_ballot.candidates), _best(second_ballot.entries, second_ballot.candidates)
            turn = AskedTurn(game, position, phase_of(position.turn, int(view.game.max_turns)), situation_of(view), moves)
            asked_turns.append(replace(turn, traits=deciding_traits(first_ballot, second_ballot)) if turn.differs else turn)
            advance()
    return asked_turns


def _best(entries: Sequence[BallotEntry], candidates: Sequence[int]) -> frozenset[int]:
    """Return the candidates (0..4) with the largest sum of weighted votes."""
    votes = [entry.weighted for entry in entries if entry.votes is not None]
    sums = {move: math.fsum(vote[move] for vote in votes) for move in candidates}
    most = max(sums.values())
    return frozenset(move for move in candidates if sums[move] == most)


def deciding_traits(first: Ballot, second: Ballot) -> tuple[str, ...]:
    """Return the labels of the traits that decide why two bots move differently, see `AskedTurn.traits`.

    A trait that only one of the bots has counts as a trait without votes of the other bot.
    """
    ours, theirs = ({entry.label: entry for entry in ballot.entries} for ballot in (first, second))
    goal = _best(second.entries, second.candidates)
    return tuple(
        label
        for label in {**ours, **theirs}
        if _best([*({**ours, label: theirs.get(label, BallotEntry(label, 0.0))}).values()], first.candidates) & goal
    )


#: Default number of turns about which the bots are asked.
TURNS = 500
#: Smallest number of blocks for which there is an interval.
MIN_BLOCKS = 3
#: The row for differences that no trait decides alone.
TOGETHER = "several together"


def run_diff(  # noqa: PLR0913 - an argument per option
    console: Console,
    first: str,
    second: str,
    path: Path,
    *,
    reviewer: str,
    game: str | None = None,
    heroes: tuple[int, ...] = (),
    most: int | None = None,
    turns: int = TURNS,
    nodes: int = NODES_AGAIN,
    value_nodes: int = NODES,
    rounds: int = ROUNDS,
    worst: int = 10,
    tests: Path | None = None,
    inaccuracy: float = 5.0,
    errors: float = 3.0,
    pages: bool = True,
) -> None:
    """Ask two bots about turns of the games in a file, value the differences, and print the report. Raises `VindibotError`.

    `first` and `second` are the names or files of the bots. `heroes` are 0..3, empty for our hero of a recording, or for all
    heroes. `nodes` is the search budget of the bots, `value_nodes` the number of plies that are played out per different turn.
    `inaccuracy` and `errors` are the smallest loss of a move that gets a test, in gold and in standard errors.
    """
    bots = load_bot(first), load_bot(second)
    valuing_bot = load_bot(reviewer)
    rollout_of(valuing_bot)
    games = _games(path, game, heroes, most)
    warm(console)
    asked_turns = _asked(console, bots, games, turns, nodes)
    if not asked_turns:
        raise UsageError(f"{short(path)}: no turn of these heroes can be asked about")
    thresholds = Thresholds(inaccuracy=inaccuracy, errors=errors)
    asked_turns = _valued(console, Reviewer(valuing_bot, value_nodes, rounds, thresholds), asked_turns)
    names = (bots[0].name, bots[1].name) if bots[0].name != bots[1].name else (first, second)
    names = printable(names[0]), printable(names[1])
    say(console, f"{names[0]} and {names[1]} on {counted(len(asked_turns), 'turn')} of {counted(len(games), 'game')}")
    say(console, f"gold: how much more {names[1]}'s moves gain than {names[0]}'s, mean over the turns on which they differ")
    console.print()
    console.print(shares_table(asked_turns))
    console.print()
    console.print(traits_table(asked_turns))
    ranked = sorted((turn for turn in asked_turns if turn.review is not None), key=lambda turn: -abs(turn.gain))
    page_of = _pages(path, ranked[:worst]) if pages else {}
    for rank, turn in enumerate(ranked[:worst], 1):
        console.print()
        _show(console, turn, rank, names)
        history, number = turn.game.history, turn.position.turn
        if history.id in page_of:
            say(console, f"{short(page_of[history.id])}#turn={number}")
        choice = [] if kind_of(path) == "recording" else ["--game", history.id]
        for name in (first, second):
            command = ["vindibot", "turn", short(games_path(path)), *choice, "--turn", str(number), "--bot", name]
            say(console, shlex.join(command), "dim")
    if tests is not None:
        cases = [(turn.game.history, turn.review) for turn in ranked if turn.review is not None and _fixes(turn, turn.review)]
        write_tests(console, cases[:worst], tests, first, "vindibot diff")


def _games(path: Path, game: str | None, heroes: tuple[int, ...], most: int | None) -> list[Game]:
    """Return the games of the file. Raises `VindibotError`."""
    if game is None and kind_of(path) == "records":
        many = many_games(path, most)
        return [Game(GameHistory.of(record), many.blocks[record.id], heroes or HEROES) for record in many.records]
    only = read_game_file(path, game)
    default = (only.me,) if isinstance(only, Recording) else HEROES
    return [Game(GameHistory.of(only), 0, heroes or default)]


def _asked(console: Console, bots: tuple[Bot, Bot], games: Sequence[Game], most: int, nodes: int) -> list[AskedTurn]:
    plies = sum(len(game.history) * len(game.heroes) // PLIES_PER_ROUND for game in games)
    with progress_bar(console) as progress:
        task = progress.add_task("asking both bots", total=min(plies, most))
        return ask_both(bots, chosen_turns(games, most), nodes, lambda: progress.advance(task))


def _valued(console: Console, reviewer: Reviewer, turns: Sequence[AskedTurn]) -> list[AskedTurn]:
    """Return the turns. Those with different moves have the values of all moves, by playouts of the reviewer's bot."""
    different = [turn for turn in turns if turn.differs]
    ours = [replace(turn.position, move=min(turn.moves[0])) for turn in different]
    with reviewing(console, reviewer) as review_all, progress_bar(console) as progress:
        task = progress.add_task(f"valuing differences with {printable(reviewer.bot.name)}", total=len(ours))
        values = {}
        for turn, review in zip(different, review_all(ours), strict=True):
            values[turn] = review
            progress.advance(task)
    return [replace(turn, review=values.get(turn)) for turn in turns]


# ---- The report ----


def shares_table(turns: Sequence[AskedTurn]) -> Table:
    """Return a table of the share of the turns on which the bots move differently, by phase of the game and by situation."""
    table = plain_table("turns", "asked", "different", "share", "95 %", "gold", left=("turns",))
    _share_row(table, "all", turns)
    groups: tuple[tuple[tuple[str, ...], Callable[[AskedTurn], str]], ...] = (
        (PHASES, lambda turn: turn.phase),
        (SITUATIONS, lambda turn: turn.situation),
    )
    for names, of in groups:
        for name in names:
            if chosen := [turn for turn in turns if of(turn) == name]:
                _share_row(table, f"  {name}", chosen)
    return table


def _share_row(table: Table, name: str, turns: Sequence[AskedTurn]) -> None:
    counts, different = Counter(turn.game.block for turn in turns), Counter(turn.game.block for turn in turns if turn.differs)
    interval = ""
    if len(counts) >= MIN_BLOCKS:
        low, high = rate_interval([different[block] for block in counts], [counts[block] for block in counts])
        interval = f"{low:.1%} .. {min(1.0, high):.1%}"
    count = different.total()
    table.add_row(name, str(len(turns)), str(count), f"{count / len(turns):.1%}", interval, _mean_gain(turns))


def traits_table(turns: Sequence[AskedTurn]) -> Table:
    """Return a table of the traits that decide the differences. A difference may be in several rows."""
    different = [turn for turn in turns if turn.differs]
    trait = "trait that decides"
    table = table_of_names(trait, "different", "share", "gold", left=(trait,), names=(trait,))
    counts = Counter(label for turn in different for label in turn.traits or (TOGETHER,))
    for label, count in sorted(counts.items(), key=lambda row: (row[0] == TOGETHER, -row[1], row[0])):
        chosen = [turn for turn in different if label in (turn.traits or (TOGETHER,))]
        table.add_row(printable(label), str(count), f"{count / len(different):.1%}", _mean_gain(chosen))
    return table


def _mean_gain(turns: Sequence[AskedTurn]) -> str:
    gains = [turn.gain for turn in turns if turn.review is not None]
    return f"{sum(gains) / len(gains):+.1f}" if gains else "-"


def _show(console: Console, turn: AskedTurn, rank: int, names: tuple[str, str]) -> None:
    assert turn.review is not None
    position, history = turn.position, turn.game.history
    games, me = position.games, position.me
    heading, state = turn_lines(games, me, rank, printable(history.names[me]))
    lines = [heading, Text(f"game {printable(history.id)}: {turn.situation}", "dim"), state]
    better = int(turn.gain > 0)
    for bot in (0, 1):
        gold = [turn.review.value(DIRECTIONS[move]).gold[me] for move in turn.moves[bot]]
        more = f", {abs(turn.gain):.1f} ± {turn.gain_error:.1f} more" if bot == better else ""
        text = f"{names[bot]}: {turn.names(bot)}, {sum(gold) / len(gold):.0f} gold{more}"
        lines.append(Text(text, "green" if bot == better else ""))
    lines.append(Text(f"decided by: {', '.join(map(printable, turn.traits)) or TOGETHER}", "dim"))
    show_beside_board(console, games, me, lines)


def _pages(path: Path, turns: Sequence[AskedTurn]) -> dict[str, Path]:
    """Write the pages of the games of these turns into a folder beside the file. Return the paths by game id."""
    source = games_path(path)
    folder = path.with_name(f"{path.name.removesuffix('.gz').removesuffix('.jsonl')}.diff")
    pages: dict[str, Path] = {}
    for turn in turns:
        game = turn.game.history.id
        if game not in pages:
            folder.mkdir(exist_ok=True)
            name = "".join(letter if letter.isalnum() or letter in "-_" else "-" for letter in game)[:60]
            pages[game] = replay_file(source, folder / f"{name}.html", game)
    return pages


def _fixes(turn: AskedTurn, review: ReviewedTurn) -> bool:
    """Return whether the first bot's move is bad, and each move of the second bot loses less than half of its loss."""
    return review.counts and {DIRECTIONS[move] for move in turn.moves[1]} <= good_moves(review)
