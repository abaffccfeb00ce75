"""How often the reviewer errs: its classes of moves against those of a reviewer with 30 times the nodes.

The positions come from games, equally spaced, all four heroes. The two reviewers have different scenarios. As a part of the
benchmarks it plays these games itself. For games of a file::

    vindibot arena seed malvert searcher sparring/brawler --blocks 1 --seed 7 --results results/review.jsonl
    python -m tests.benchmarks.review results/review.games.jsonl

With ``--choice``, it shows the errors of the losses for several shares of the nodes that choose the plans::

    python -m tests.benchmarks.review results/review.games.jsonl --positions 100 --times 10 --choice 0.35 0.6 0.8
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from pathlib import Path

from sim.kernels import warm
from tests.benchmarks import Row, sized
from tests.benchmarks.arena import new_tournament
from vindibot.arena.report.live import Reporter
from vindibot.arena.store import records_path
from vindibot.config.bots import load_bot
from vindibot.games.files.game_files import read_records
from vindibot.games.files.review import ReviewedTurn, Thresholds
from vindibot.games.history import GameHistory
from vindibot.review import values
from vindibot.review.turns import Reviewer, TurnPosition, positions, review_turn
from vindibot.review.values import NODES, ROUNDS, SEED

#: The classes, from the largest losses.
CLASSES = ("blunder", "mistake", "inaccuracy")
BOTS = ["seed", "malvert", "searcher", "sparring/brawler"]
#: As a part of the benchmarks: number of positions, times the nodes, and rounds of the games.
POSITIONS, TIMES, GAME_ROUNDS = sized((50, 30, 300), (2, 2, 10))


def spaced(path: Path, count: int) -> list[TurnPosition]:
    """Return `count` positions of the games in a file, equally spaced."""
    every = [one for record in read_records(path) for one in positions(GameHistory.of(record))]
    return [every[number * len(every) // count] for number in range(count)]


def at_least(turn: ReviewedTurn, least: str) -> bool:
    """Return whether the class of a turn is `least` or a worse one."""
    return turn.mark in CLASSES[: CLASSES.index(least) + 1]


def shares(pairs: list[tuple[ReviewedTurn, ReviewedTurn]], least: str) -> tuple[int, int, int]:
    """Return how many moves the first reviewer puts into the class `least` or a worse one, how many the second, and both."""
    few, many = [at_least(one, least) for one, _ in pairs], [at_least(one, least) for _, one in pairs]
    return sum(few), sum(many), sum(one and other for one, other in zip(few, many, strict=True))


def table(pairs: list[tuple[ReviewedTurn, ReviewedTurn]]) -> list[str]:
    """Return a table in Markdown: precision and recall of the first reviewer if the second one is right."""
    lines = ["| class or worse | marked | of them right (precision) | with 30 times the nodes | of them found (recall) |"]
    lines.append("|---|---|---|---|---|")
    for least in reversed(CLASSES):
        few, many, both = shares(pairs, least)
        right, found = both / max(1, few), both / max(1, many)
        lines.append(f"| {least} | {few} | {both} ({right:.0%}) | {many} | {both} ({found:.0%}) |")
    return lines


def errors(path: Path, count: int, few: Reviewer, many: Reviewer, shares: list[float]) -> None:
    """Print the mean size and the mean of the errors of the losses per share. A loss that is too large has a positive error."""
    places = spaced(path, count)
    right = [review_turn(position, many).loss for position in places]
    print("| share of the nodes that choose the plans | mean size of the error, in gold | mean error, in gold |\n|---|---|---|")
    for share in shares:
        values.CHOICE = share
        found = [review_turn(position, few).loss - loss for position, loss in zip(places, right, strict=True)]
        print(f"| {share:.0%} | {sum(map(abs, found)) / count:.2f} | {sum(found) / count:+.2f} |", flush=True)


def rows() -> list[Row]:
    """Return precision and recall of each class in games that are played first."""
    warm()
    bot = load_bot("versions/strong-1")
    few, many = Reviewer(bot, NODES, ROUNDS, Thresholds(), SEED), Reviewer(bot, NODES * TIMES, ROUNDS, Thresholds(), SEED + 1)
    with tempfile.TemporaryDirectory() as folder:
        games = new_tournament(Path(folder), bots=BOTS, blocks=1, seed=7, rounds=GAME_ROUNDS, **sized({}, {"limits.nodes": 1000}))
        games.play(Reporter())
        places = spaced(records_path(games.store.path), POSITIONS)
    pairs = [(review_turn(position, few), review_turn(position, many)) for position in places]
    found = []
    for least in reversed(CLASSES):
        marked, right, both = shares(pairs, least)
        note = f"{marked} marked, {right} with {TIMES} times the nodes, {both} by both; {POSITIONS} positions"
        found.append(Row(f"precision of {least} or worse", f"{both / max(1, marked):.0%}", "", note))
    return found


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("games", type=Path)
    parser.add_argument("--bot", default="versions/strong-1")
    parser.add_argument("--nodes", type=int, default=NODES)
    parser.add_argument("--times", type=int, default=30)
    parser.add_argument("--positions", type=int, default=500)
    parser.add_argument("--choice", type=float, nargs="+", help="compare these shares of the nodes that choose the plans")
    given = parser.parse_args()
    warm()
    bot = load_bot(given.bot)
    few = Reviewer(bot, given.nodes, ROUNDS, Thresholds(), SEED)
    many = Reviewer(bot, given.nodes * given.times, ROUNDS, Thresholds(), SEED + 1)
    if given.choice:
        errors(given.games, given.positions, few, many, given.choice)
        return
    began, pairs = time.monotonic(), []
    for number, position in enumerate(spaced(given.games, given.positions), 1):
        pairs.append((review_turn(position, few), review_turn(position, many)))
        if number % 50 == 0:
            print(f"{number} positions, {time.monotonic() - began:.0f} s", file=sys.stderr)
    differences = [abs(one.loss - other.loss) for one, other in pairs]
    print("\n".join(table(pairs)))
    print(
        f"\n{len(pairs)} positions, {given.nodes} nodes; mean difference of the losses {sum(differences) / len(pairs):.2f} gold"
    )
    kinds = [(one.kind, other.kind) for one, other in pairs if other.mark and one.mark]
    print(f"the same kind in {sum(one == other for one, other in kinds)} of {len(kinds)} moves that both mark")


if __name__ == "__main__":
    main()
