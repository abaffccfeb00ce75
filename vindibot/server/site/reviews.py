"""Reviews of archived games, made when a person asks for them. Each review runs in a process of its own, one at a time.

The process has the lowest priority and reviews one turn at a time, so that it does not delay the games. Reviews are stored until
the server ends.
"""

from __future__ import annotations

import asyncio
import contextlib
import shutil
import sys
from collections import OrderedDict
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Literal

import structlog

from vindibot.base.errors import VindibotError
from vindibot.games.files.review import Review, read_review, review_path
from vindibot.games.game_record import dumps
from vindibot.server.store.database import Database
from vindibot.server.store.tables import find_record


async def run_lowest(longest_seconds: float, *words: str) -> None:
    """Run a `vindibot` command at the lowest priority, and wait for its end. `words` are the command and its arguments.

    The process is killed after `longest_seconds`, or if the caller is cancelled. Raises `VindibotError` if the command fails, and
    `TimeoutError`.
    """
    lowest = ["nice", "-n", "19"] if shutil.which("nice") else []
    process = await asyncio.create_subprocess_exec(
        *[*lowest, sys.executable, "-m", "vindibot", *words],
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.DEVNULL,
        stderr=asyncio.subprocess.PIPE,
    )
    try:
        async with asyncio.timeout(longest_seconds):
            _, errors = await process.communicate()
    finally:
        with contextlib.suppress(ProcessLookupError):
            process.kill()
        await process.wait()
    if process.returncode != 0:
        raise VindibotError(
            f"the {words[0]} ended with code {process.returncode}: {errors.decode(errors='replace').strip()[-300:]}"
        )


#: Number of plies that a review plays out per turn: a fifth of the default, so that a review takes some seconds.
NODES = 150_000
#: Largest number of reviews that wait, and that are stored.
MAX_WAITING, MAX_STORED = 100, 2000
#: A review that takes longer than this number of seconds is stopped.
LONGEST_SECONDS = 900.0

_log = structlog.get_logger("vindibot.server.reviews")


@dataclass
class HeroReview:
    """The review of one hero (0..3) of a game: waiting, running, ready, or failed. `review` is None unless it is ready."""

    game_id: str
    hero: int
    state: Literal["waiting", "running", "ready", "failed"] = "waiting"
    review: Review | None = None


class Reviews:
    """The reviews of a server. Call `close` at the end, in the server's event loop."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._known: OrderedDict[tuple[str, int], HeroReview] = OrderedDict()
        self._queue: asyncio.Queue[HeroReview] = asyncio.Queue(MAX_WAITING)
        self._worker: asyncio.Task[None] | None = None

    def find(self, game_id: str, hero: int) -> HeroReview | None:
        """Return the review of a hero (0..3), None if nobody has asked for it."""
        return self._known.get((game_id, hero))

    def ask(self, game_id: str, hero: int) -> bool:
        """Review a hero (0..3) of an archived game, unless it is reviewed already. Return False if too many reviews wait."""
        known = self.find(game_id, hero)
        if known is not None and known.state != "failed":
            return True
        wanted = HeroReview(game_id, hero)
        try:
            self._queue.put_nowait(wanted)
        except asyncio.QueueFull:
            return False
        self._known[game_id, hero] = wanted
        while len(self._known) > MAX_STORED:
            self._known.popitem(last=False)
        if self._worker is None:
            self._worker = asyncio.create_task(self._work(), name="vindibot-reviews")
        return True

    async def close(self) -> None:
        """Stop the review that runs, and drop those that wait."""
        if self._worker is not None:
            self._worker.cancel()
            await asyncio.gather(self._worker, return_exceptions=True)

    async def _work(self) -> None:
        while True:
            wanted = await self._queue.get()
            wanted.state = "running"
            try:
                wanted.review = await self._review(wanted)
                wanted.state = "ready"
            except (VindibotError, OSError, TimeoutError) as problem:
                wanted.state = "failed"
                _log.warning("a game could not be reviewed", game=wanted.game_id, reason=str(problem) or type(problem).__name__)

    async def _review(self, wanted: HeroReview) -> Review:
        record = await self._database.read(lambda connection: find_record(connection, wanted.game_id))
        if record is None:
            raise VindibotError("the game is not in the archive")
        with TemporaryDirectory(prefix="vindibot-review-") as folder:
            path = Path(folder) / "game.jsonl"
            path.write_bytes(dumps(record) + b"\n")
            chosen = ("--hero", str(wanted.hero + 1), "--nodes", str(NODES), "--workers", "1", "--worst", "0")
            await run_lowest(LONGEST_SECONDS, "review", str(path), *chosen)
            review = read_review(review_path(path))
        if review is None:
            raise VindibotError("no turn of this game can be reviewed")
        return review
