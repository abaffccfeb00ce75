"""Reviews of games by several processes. Each process reviews one turn at a time."""

from __future__ import annotations

import shlex
from collections import deque
from collections.abc import Callable, Collection, Iterator, Sequence
from concurrent.futures import BrokenExecutor, Future
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from vindibot.arena import LocalExecutor
from vindibot.base import VindibotError, printable, short
from vindibot.config import Bot, build, cores, digest_of, name_to_load
from vindibot.engine import warm
from vindibot.games import GameHistory, GameRecord, Recording, ReviewedTurn, ReviewHeader, Thresholds
from vindibot.processes import Needs
from vindibot.review.positions import HEROES, TurnPosition, positions
from vindibot.review.store import ReviewFile
from vindibot.review.turns import Reviewer, review_turn
from vindibot.review.values import NODES, ROUNDS, SEED, rollout_of

#: Largest number of turns per process that are in the process pool at once.
WAITING = 4


@dataclass(frozen=True)
class ReviewSettings:
    """The settings of a review.

    - `bot`: the bot whose playouts value the moves.
    - `nodes`: the number of plies that are played out per turn.
    - `rounds`: the length of a playout in rounds, 0 for a playout to the end of the game.
    - `thresholds`: the smallest losses of bad moves.
    """

    bot: Bot
    nodes: int = NODES
    rounds: int = ROUNDS
    thresholds: Thresholds = field(default_factory=Thresholds)

    def header(self, game: str, heroes: Collection[int]) -> ReviewHeader:
        """Return the header of the review of heroes (0..3) of a game. Raises `UsageError` if the bot has no trait `rollout`."""
        rollout_of(self.bot)
        digest = digest_of({"build": build().digest, "bot": self.bot.digest, "run": [self.nodes, self.rounds, SEED]})
        ids = tuple(sorted(hero + 1 for hero in heroes))
        return ReviewHeader(
            game=game,
            heroes=ids,
            bot=name_to_load(self.bot) or self.bot.name,
            digest=digest,
            nodes=self.nodes,
            rounds=self.rounds,
            thresholds=self.thresholds,
        )


# ---- In the processes that review ----

_reviewer: Reviewer


def _begin(reviewer: Reviewer) -> None:
    """Prepare this process to review turns."""
    from sim import kernels

    global _reviewer
    reviewer.bot.build()
    kernels.warm()
    _reviewer = reviewer


def _review(position: TurnPosition) -> ReviewedTurn:
    return review_turn(position, _reviewer)


# ---- In the main process ----


def review_games(
    console: Console,
    games: Sequence[Recording | GameRecord],
    file: ReviewFile,
    settings: ReviewSettings,
    heroes: Collection[int] | None = None,
    workers: int | None = None,
) -> None:
    """Review heroes (0..3) of games, and append every reviewed turn to `file`. Turns that the file has are not reviewed again.

    Without `heroes`, review the heroes of an earlier review of the game. If there is none, review our hero of a recording, or all
    heroes of a game record. `workers` is the number of processes, None for one per core. Raises `KeyboardInterrupt` after Ctrl-C;
    then `file` has the turns that were ready.
    """
    todo = []
    for game in games:
        history = GameHistory.of(game)
        before = file.reviews.get(history.id)
        old = set() if before is None else {hero - 1 for hero in before.header.heroes}
        default = old or (HEROES if isinstance(game, GameRecord) else {game.me})
        wanted = sorted({*(default if heroes is None else heroes)})
        header = settings.header(history.id, {*wanted, *old})
        known = set() if before is None else {(turn.turn, turn.hero) for turn in before.turns}
        left = [one for one in positions(history, wanted) if (one.turn, one.me + 1) not in known]
        todo.append((game, header, left))
    total = sum(len(left) for *_, left in todo)
    if not total:
        for game, header, _ in todo:
            file.begin(game, header)
        return
    warm(console)
    reviewer = Reviewer(settings.bot, settings.nodes, settings.rounds, settings.thresholds)
    columns = TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn()
    count = cores() if workers is None else workers
    with (
        _reviews(reviewer, count) as review_all,
        Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as progress,
    ):
        task = progress.add_task(f"reviewing turns with {printable(settings.bot.name)}", total=total)
        for game, header, left in todo:
            file.begin(game, header)
            for turn in review_all(left):
                file.add(turn)
                progress.advance(task)


@contextmanager
def _reviews(reviewer: Reviewer, workers: int) -> Iterator[Callable[[Sequence[TurnPosition]], Iterator[ReviewedTurn]]]:
    """Yield a function that reviews positions in `workers` processes. If `workers` is 1, the function uses this process.

    The function yields the reviews in the order of the positions.
    """
    if workers == 1:
        yield lambda left: (review_turn(position, reviewer) for position in left)
        return
    needs = Needs(modules=("vindibot.review.run",)), Needs(reviewer.bot.folders, reviewer.bot.modules)
    pool = LocalExecutor(workers, needs, _begin, reviewer)
    try:
        yield lambda left: _in_order(pool, left, workers * WAITING)
    except BrokenExecutor as problem:
        raise VindibotError(f"a process that reviews turns has ended: {problem}") from None
    except BaseException:
        pool.kill()
        raise
    finally:
        pool.shutdown(wait=False, cancel_futures=True)


def _in_order(pool: LocalExecutor, left: Sequence[TurnPosition], waiting: int) -> Iterator[ReviewedTurn]:
    """Yield the reviews of these positions in order. At most `waiting` of them are in the pool at once."""
    rest = iter(left)
    futures: deque[Future[ReviewedTurn]] = deque(pool.submit(_review, one) for one in islice(rest, waiting))
    while futures:
        turn = futures.popleft().result()
        futures.extend(pool.submit(_review, one) for one in islice(rest, 1))
        yield turn


def where(file: Path) -> str:
    """Return a message that says where the review is and how to open it."""
    command = shlex.join(["vindibot", "replay", short(file), "--open"])
    return f"the review is in {short(file)}; to see it in the browser: {command}"
