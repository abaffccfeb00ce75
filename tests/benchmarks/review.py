"""How often the reviewer errs: its classes of moves against those of a reviewer with 30 times the nodes.

The positions come from games that it plays, equally spaced, all four heroes. The two reviewers have different scenarios.
"""

from __future__ import annotations

import tempfile
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
from vindibot.review.turns import Reviewer, TurnPosition, positions, review_turn
from vindibot.review.values import NODES, ROUNDS, SEED

#: The classes, from the largest losses.
CLASSES = ("blunder", "mistake", "inaccuracy")
BOTS = ["seed", "malvert", "searcher", "sparring/brawler"]
#: Number of positions, times the nodes, and rounds of the games.
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
        figure = f"{both / max(1, marked):.0%} and {both / max(1, right):.0%}"
        found.append(Row(f"precision and recall of {least} or worse", figure, "", note))
    return found
