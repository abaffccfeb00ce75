"""Reviews of games by several processes, each of which reviews one turn at a time, and the file to which they are appended.

The file of a review has a copy of the game's lines, then the lines of the review. The game's own file never changes.

By default, the review of the game in ``recordings/x.jsonl`` is in ``recordings/x.review.jsonl``. Each reviewed turn is appended
when it is ready. So an interrupted review can be continued.
"""

from __future__ import annotations

import os
import shlex
from collections import deque
from collections.abc import Callable, Collection, Iterator, Sequence
from concurrent.futures import BrokenExecutor, Future
from contextlib import contextmanager
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Self

from rich.console import Console

from sim import kernels
from vindibot.base.errors import UsageError, VindibotError
from vindibot.base.system import supports_children, warn_of_traits_here
from vindibot.base.text import printable
from vindibot.base.writing import LineFile, short
from vindibot.config.settings import cores
from vindibot.engine import forkserver
from vindibot.engine.jobs import JobEndedError, JobPool
from vindibot.engine.warmup import warm
from vindibot.games.files.lines import whole_lines
from vindibot.games.files.recording import Recording
from vindibot.games.files.review import (
    REVIEW_SUFFIX,
    Review,
    ReviewedTurn,
    ReviewHeader,
    is_review_line,
    parse_review,
    read_reviews,
    write_review_line,
)
from vindibot.games.game_record import GameRecord, dumps
from vindibot.games.history import GameHistory
from vindibot.review.report import progress_bar
from vindibot.review.turns import HEROES, Reviewer, TurnPosition, positions, review_turn

INSTEAD = "--output names another file"


class ReviewFile:
    """A file of reviews, open for more lines. `reviews` has the reviews that the file had when it was opened, by game id.

    `source` is the file of the game. With `again`, the first line that is written replaces all earlier lines. Raises `UsageError`
    if the file exists and has no review, if it is the game itself, or if another review is writing to it. Raises `VindibotError`
    if the file cannot be written.
    """

    def __init__(self, path: Path, source: Path, again: bool = False) -> None:
        self.path = path
        self._games: set[str] = set()
        self.reviews: dict[str, Review] = {}
        if path.exists() and source.exists() and path.samefile(source) and not path.name.endswith(REVIEW_SUFFIX):
            raise UsageError(f"{short(path)} is the game itself: {INSTEAD}")
        self._file = LineFile.locked(path, "review", VindibotError)
        try:
            reviews = self._read()
            if again:
                self._file.clear()
            else:
                self.reviews = {review.header.game: review for review in parse_review(reviews, path)}
        except BaseException:
            self._file.discard()
            raise

    def _read(self) -> list[tuple[int, bytes]]:
        """Return the complete lines of reviews with their line numbers. Raises `UsageError` if the file has content, but none."""
        try:
            content = self._file.read()
        except OSError as problem:
            raise VindibotError(f"{short(self.path)}: cannot be read: {problem.strerror or problem}", 2) from None
        complete = content[: content.rfind(b"\n") + 1]
        numbered = [(number, line) for number, line in enumerate(complete.split(b"\n"), 1) if is_review_line(line)]
        if content and not numbered and b'"review' not in content:
            raise UsageError(f"{short(self.path)} is there already and has no review: move it away, or {INSTEAD}")
        return numbered

    def begin(self, game: Recording | GameRecord, header: ReviewHeader) -> None:
        """Write the game and the header of its review, unless the file has them.

        Raises `UsageError` if the file has a review of this game with other settings.
        """
        before = self.reviews.get(header.game)
        if before is None:
            lines = [dumps(game)] if isinstance(game, GameRecord) else _complete_lines(game)
            for line in [*lines, write_review_line(header)]:
                self._append(line)
            return
        if before.header.digest != header.digest:
            raise UsageError(
                f"{short(self.path)} has a review of game {header.game:.60} by {before.header.bot} with other settings or another"
                f" version: --again replaces it, {INSTEAD}"
            )
        if before.header != header:
            self._append(write_review_line(header))

    def add(self, turn: ReviewedTurn) -> None:
        """Append a reviewed turn. It belongs to the game of the last call of `begin`."""
        self._append(write_review_line(turn))

    def complete(self) -> list[Review]:
        """Return all reviews of the file as they are now."""
        return read_reviews(self.path)

    def close(self) -> None:
        """Close the file. Remove it if it is new and empty."""
        self._file.discard()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _append(self, line: bytes) -> None:
        try:
            self._file.append(line)
        except OSError as problem:
            raise VindibotError(f"{short(self.path)}: cannot be written: {problem.strerror or os.strerror(5)}") from None


def _complete_lines(recording: Recording) -> list[bytes]:
    """Return the lines of a recording's file, without the lines of a review and without an unfinished last line."""
    return [line.rstrip(b"\n") for _, line in whole_lines(recording.path, VindibotError) if not is_review_line(line)]


#: Largest number of turns per process that are in the process pool at once.
WAITING = 4
#: A process that reviews a turn is killed after this number of seconds, and one more for this number of plies that it plays out.
TASK_SECONDS, LEAST_SPEED = 60.0, 10_000
#: Number of times that a turn is reviewed if its process ends each time.
ATTEMPTS = 3


def review_games(
    console: Console,
    games: Sequence[Recording | GameRecord],
    file: ReviewFile,
    reviewer: Reviewer,
    heroes: Collection[int] | None = None,
    workers: int | None = None,
) -> None:
    """Review heroes (0..3) of games, and append every reviewed turn to `file`. Turns that the file has are not reviewed again.

    Without `heroes`, review the heroes of an earlier review of the game. If there is none, review our hero of a recording, or all
    heroes of a game record. `workers` is the number of processes, None for one per core. Instead of a single one, this process
    reviews the turns, if the bot has only traits of this project. Raises `KeyboardInterrupt` after Ctrl-C; then `file` has the
    turns that were ready.
    """
    todo = []
    for game in games:
        history = GameHistory.of(game)
        before = file.reviews.get(history.id)
        old = set() if before is None else {hero - 1 for hero in before.header.heroes}
        default = old or (HEROES if isinstance(game, GameRecord) else {game.me})
        wanted = sorted({*(default if heroes is None else heroes)})
        header = reviewer.header(history.id, {*wanted, *old})
        known = set() if before is None else {(turn.turn, turn.hero) for turn in before.turns}
        left = [position for position in positions(history, wanted) if (position.turn, position.me + 1) not in known]
        todo.append((game, header, left))
    total = sum(len(left) for *_, left in todo)
    if not total:
        for game, header, _ in todo:
            file.begin(game, header)
        return
    with reviewing(console, reviewer, workers) as review_all, progress_bar(console) as progress:
        task = progress.add_task(f"reviewing turns with {printable(reviewer.bot.name)}", total=total)
        for game, header, left in todo:
            file.begin(game, header)
            for turn in review_all(left):
                file.add(turn)
                progress.advance(task)


@contextmanager
def reviewing(
    console: Console, reviewer: Reviewer, workers: int | None = None
) -> Iterator[Callable[[Sequence[TurnPosition]], Iterator[ReviewedTurn]]]:
    """Yield a function that yields the reviews of positions in their order, by `workers` processes (None: one per core).

    Instead of a single one, this process reviews the turns, if the bot has only traits of this project. On a system that cannot
    run child processes, it always reviews them.
    """
    bot, count = reviewer.bot, cores() if workers is None else workers
    if not supports_children():
        warn_of_traits_here()
    if not supports_children() or (count == 1 and not bot.own_modules):
        warm(console)
        yield lambda left: (review_turn(position, reviewer) for position in left)
        return
    forkserver.start([__name__, *(set(bot.modules) - set(bot.own_modules))])
    warm(console)
    pool, seconds = JobPool(count, partial(_prepare, reviewer)), TASK_SECONDS + reviewer.nodes / LEAST_SPEED
    try:
        yield lambda left: _in_order(lambda position: pool.submit(_review, position, seconds), left, count * WAITING)
    except BrokenExecutor as problem:
        raise VindibotError(str(problem)) from None
    finally:
        pool.kill()


def _in_order(
    submit: Callable[[TurnPosition], Future[ReviewedTurn]], left: Sequence[TurnPosition], waiting: int
) -> Iterator[ReviewedTurn]:
    """Yield the reviews of these positions in order. At most `waiting` of them are in the pool at once.

    If a process ends, its turn is reviewed again, `ATTEMPTS` times in all: a process that is killed with the pool's lock ends the
    pool seconds later. After the last time, the turns that are in the pool are still yielded, then `VindibotError` is raised.
    """
    rest = iter(left)
    futures = deque((position, submit(position)) for position in islice(rest, waiting))
    problem: VindibotError | None = None
    while futures:
        position, future = futures.popleft()
        try:
            for _ in range(ATTEMPTS - 1):
                if not isinstance(future.exception(), JobEndedError | BrokenExecutor):
                    break
                future = submit(position)
            turn = future.result()
        except JobEndedError as error:
            what = f"turn {position.turn} of hero {position.me + 1} cannot be reviewed"
            problem = problem or VindibotError(f"{what}: {error.message}")
            continue
        except VindibotError as error:
            problem = problem or error
            continue
        if problem is None:
            futures.extend((position, submit(position)) for position in islice(rest, 1))
        yield turn
    if problem is not None:
        raise problem


# ---- In a process ----

_reviewer: Reviewer


def _prepare(reviewer: Reviewer) -> None:
    """Build the bot of the reviewer, which has to review turns in this process."""
    global _reviewer
    _reviewer = reviewer
    reviewer.bot.build()
    kernels.warm()


def _review(position: TurnPosition) -> ReviewedTurn:
    return review_turn(position, _reviewer)


def where(file: Path) -> str:
    """Return a message that says where the review is and how to open it."""
    command = shlex.join(["vindibot", "replay", short(file), "--open"])
    return f"the review is in {short(file)}; to see it in the browser: {command}"
