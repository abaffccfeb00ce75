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
from vindibot.base.errors import UsageError
from vindibot.base.output.console import plain_table, say
from vindibot.base.output.text import counted, printable
from vindibot.base.writing import short
from vindibot.config.bots import Bot, load_bot
from vindibot.devtools.trials.trial import voting_elsewhere
from vindibot.engine.warmup import warm
from vindibot.games.ballot import Ballot, BallotEntry
from vindibot.games.files.game_files import games_path, kind_of, read_game_file
from vindibot.games.files.recording import Recording
from vindibot.games.files.review import PHASES, ReviewedTurn, Thresholds
from vindibot.games.game_record import GameRecord
from vindibot.games.history import GameHistory
from vindibot.review.regression import NODES_AGAIN, good_moves, write_tests
from vindibot.review.report import many_games, progress_bar, show_beside_board
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
    return sum(one.less for one in values) / len(values), sum(one.less_error for one in values) / len(values)


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
            yield from ((game, one) for one in positions(game.history, game.heroes) if one.number in wanted)


def ask_both(
    bots: tuple[Bot, Bot], turns: Iterator[tuple[Game, TurnPosition]], nodes: int, asked: Callable[[], None]
) -> list[AskedTurn]:
    """Return what the two bots play on these turns, with a search budget of `nodes` nodes. `asked` is called after each turn.

    Each bot runs in a process of its own, and both think at the same time.
    """
    found = []
    with (
        voting_elsewhere(bots[0]) as first,
        voting_elsewhere(bots[1]) as second,
        ThreadPoolExecutor(2, "vindibot-diff") as threads,
    ):
        for game, position in turns:
            view = position.view()
            ballots = [threads.submit(vote, position.view(nodes)) for vote in (first, second)]
            one, other = (ballot.result() for ballot in ballots)
            moves = _best(one.entries, one.candidates), _best(other.entries, other.candidates)
            turn = AskedTurn(game, position, phase_of(position.turn, int(view.game.max_turns)), situation_of(view), moves)
            found.append(replace(turn, traits=deciding_traits(one, other)) if turn.differs else turn)
            asked()
    return found


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


@dataclass(frozen=True)
class DiffRequest:
    """The arguments of ``vindibot diff``. Fields have the names of the options.

    `first` and `second` are the names or files of the bots. `heroes` are 0..3, empty for our hero of a recording, or for all
    heroes. `nodes` is the search budget of the bots, `value_nodes` the number of plies that are played out per different turn.
    `inaccuracy` and `errors` are the smallest loss of a move that gets a test, in gold and in standard errors. `workers` is the
    number of processes that value turns, None for one per core.
    """

    first: str
    second: str
    path: Path
    reviewer: str
    game: str | None = None
    heroes: tuple[int, ...] = ()
    most: int | None = None
    turns: int = TURNS
    nodes: int = NODES_AGAIN
    value_nodes: int = NODES
    rounds: int = ROUNDS
    worst: int = 10
    tests: Path | None = None
    inaccuracy: float = 5.0
    errors: float = 3.0
    pages: bool = True
    workers: int | None = None


def run_diff(console: Console, request: DiffRequest) -> None:
    """Ask both bots about turns of the games, value the differences, and print the report. Raises `VindibotError`."""
    bots = load_bot(request.first), load_bot(request.second)
    reviewer = load_bot(request.reviewer)
    rollout_of(reviewer)
    games = _games(request)
    warm(console)
    turns = _asked(console, request, bots, games)
    if not turns:
        raise UsageError(f"{short(request.path)}: no turn of these heroes can be asked about")
    turns = _valued(console, request, reviewer, turns)
    names = _labels(request, bots)
    say(console, f"{names[0]} and {names[1]} on {counted(len(turns), 'turn')} of {counted(len(games), 'game')}")
    say(console, f"gold: what the moves of {names[1]} bring more than those of {names[0]}, mean per different turn")
    console.print()
    console.print(shares_table(turns))
    console.print()
    console.print(traits_table(turns))
    ranked = sorted((turn for turn in turns if turn.review is not None), key=lambda turn: -abs(turn.gain))
    pages = _pages(request, ranked[: request.worst])
    for rank, turn in enumerate(ranked[: request.worst], 1):
        console.print()
        _show(console, request, names, turn, rank, pages)
    if request.tests is not None:
        _write_tests(console, request, ranked)


def _labels(request: DiffRequest, bots: tuple[Bot, Bot]) -> tuple[str, str]:
    """Return the names of the bots, or their files if both have the same name."""
    if bots[0].name != bots[1].name:
        return printable(bots[0].name), printable(bots[1].name)
    return printable(request.first), printable(request.second)


def _games(request: DiffRequest) -> list[Game]:
    """Return the games of the file. Raises `VindibotError`."""
    path = request.path
    if request.game is None and kind_of(path) == "records":
        found = many_games(path, request.most)
        heroes = request.heroes or HEROES
        return [Game(GameHistory.of(record), found.blocks[record.id], heroes) for record in found.records]
    one: Recording | GameRecord = read_game_file(path, request.game)
    default = (one.me,) if isinstance(one, Recording) else HEROES
    return [Game(GameHistory.of(one), 0, request.heroes or default)]


def _asked(console: Console, request: DiffRequest, bots: tuple[Bot, Bot], games: Sequence[Game]) -> list[AskedTurn]:
    plies = sum(len(game.history) * len(game.heroes) // PLIES_PER_ROUND for game in games)
    with progress_bar(console) as progress:
        task = progress.add_task("asking both bots", total=min(plies, request.turns))
        return ask_both(bots, chosen_turns(games, request.turns), request.nodes, lambda: progress.advance(task))


def _valued(console: Console, request: DiffRequest, bot: Bot, turns: Sequence[AskedTurn]) -> list[AskedTurn]:
    """Return the turns. Those with different moves have the values of all moves, by playouts of `bot`."""
    different = [turn for turn in turns if turn.differs]
    ours = [replace(turn.position, move=min(turn.moves[0])) for turn in different]
    reviewer = Reviewer(
        bot, request.value_nodes, request.rounds, Thresholds(inaccuracy=request.inaccuracy, errors=request.errors)
    )
    with reviewing(console, reviewer, request.workers) as review_all, progress_bar(console) as progress:
        task = progress.add_task(f"valuing differences with {printable(bot.name)}", total=len(ours))
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
    asked, different = Counter(turn.game.block for turn in turns), Counter(turn.game.block for turn in turns if turn.differs)
    interval = ""
    if len(asked) >= MIN_BLOCKS:
        low, high = rate_interval([different[block] for block in asked], [asked[block] for block in asked])
        interval = f"{low:.1%} .. {min(1.0, high):.1%}"
    count = different.total()
    table.add_row(name, str(len(turns)), str(count), f"{count / len(turns):.1%}", interval, _mean_gain(turns))


def traits_table(turns: Sequence[AskedTurn]) -> Table:
    """Return a table of the traits that decide the differences. A difference may be in several rows."""
    different = [turn for turn in turns if turn.differs]
    table = plain_table("trait that decides", "different", "share", "gold", left=("trait that decides",))
    counts = Counter(label for turn in different for label in turn.traits or (TOGETHER,))
    for label, count in sorted(counts.items(), key=lambda row: (row[0] == TOGETHER, -row[1], row[0])):
        chosen = [turn for turn in different if label in (turn.traits or (TOGETHER,))]
        table.add_row(printable(label), str(count), f"{count / len(different):.1%}", _mean_gain(chosen))
    return table


def _mean_gain(turns: Sequence[AskedTurn]) -> str:
    gains = [turn.gain for turn in turns if turn.review is not None]
    return f"{sum(gains) / len(gains):+.1f}" if gains else "-"


def _show(
    console: Console, request: DiffRequest, names: tuple[str, str], turn: AskedTurn, rank: int, pages: dict[str, Path]
) -> None:
    assert turn.review is not None
    position, history = turn.position, turn.game.history
    games, me, number = position.games, position.me, position.turn
    total = -(-int(games["max_turns"].item(0)) // PLIES_PER_ROUND)
    hero = games["hero"][0, me]
    facts = f"life {hero['life']}, gold {hero['gold']}, mines {hero['mines']}"
    where = f"(round {number // PLIES_PER_ROUND + 1} of {total}), @{me + 1} {printable(history.names[me])}"
    lines = [
        Text(f"{rank}. turn {number} {where}", "bold"),
        Text(f"game {printable(history.id)}: {turn.situation}", "dim"),
        Text(facts, "dim"),
    ]
    better = int(turn.gain > 0)
    for bot in (0, 1):
        gold = [turn.review.value(DIRECTIONS[move]).gold[me] for move in turn.moves[bot]]
        more = f", {abs(turn.gain):.1f} ± {turn.gain_error:.1f} more" if bot == better else ""
        text = f"{names[bot]}: {turn.names(bot)}, {sum(gold) / len(gold):.0f} gold{more}"
        lines.append(Text(text, "green" if bot == better else ""))
    lines.append(Text(f"decided by: {', '.join(map(printable, turn.traits)) or TOGETHER}", "dim"))
    show_beside_board(console, games, me, lines)
    if history.id in pages:
        say(console, f"{short(pages[history.id])}#turn={number}")
    choice = [] if kind_of(request.path) == "recording" else ["--game", history.id]
    command = ["vindibot", "turn", short(games_path(request.path)), *choice, "--turn", str(number), "--bot"]
    for name in (request.first, request.second):
        say(console, shlex.join([*command, name]), "dim")


def _pages(request: DiffRequest, turns: Sequence[AskedTurn]) -> dict[str, Path]:
    """Write the pages of the games of these turns into a folder beside the file. Return the paths by game id."""
    if not request.pages:
        return {}
    source = games_path(request.path)
    folder = request.path.with_name(f"{request.path.name.removesuffix('.gz').removesuffix('.jsonl')}.diff")
    found: dict[str, Path] = {}
    for turn in turns:
        game = turn.game.history.id
        if game not in found:
            folder.mkdir(exist_ok=True)
            name = "".join(letter if letter.isalnum() or letter in "-_" else "-" for letter in game)[:60]
            found[game] = replay_file(source, folder / f"{name}.html", game)
    return found


def _write_tests(console: Console, request: DiffRequest, ranked: Sequence[AskedTurn]) -> None:
    """Write a test for each of the turns on which the first bot loses most gold against the second."""
    assert request.tests is not None
    cases = [(turn.game.history, turn.review) for turn in ranked if turn.review is not None and _mends(turn, turn.review)]
    if not cases:
        say(console, "no test was written: no move of the first bot loses gold that counts against the second")
        return
    write_tests(console, cases[: request.worst], request.tests, request.first, "vindibot diff")


def _mends(turn: AskedTurn, review: ReviewedTurn) -> bool:
    """Return whether the first bot's move is bad, and each move of the second bot loses less than half of its loss."""
    return review.counts and {DIRECTIONS[move] for move in turn.moves[1]} <= good_moves(review)
