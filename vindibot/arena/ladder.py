"""A ladder: it plays games without end, always of the bot whose rating is the least certain.

The bots of a ladder are its rungs and the bot files in a folder. Before each block, the ladder chooses the bot whose interval
four more games shrink the most, and three rivals. Bots may be added, changed and removed while it runs. A changed bot is another
bot: it gets a new label (``mybot-2``) and begins without games. All games are in one results file.
"""

from __future__ import annotations

import contextlib
import math
import secrets
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial
from itertools import count
from pathlib import Path
from typing import Any

import numpy as np
import tomli_w

from sim.game import SEATS
from sim.generator import derive_seed
from vindibot.arena.dispatch import Dispatcher
from vindibot.arena.games import LocalGames, load_games
from vindibot.arena.report.live import GameRate
from vindibot.arena.report.page import write_report
from vindibot.arena.report.summary import Summary, rate_games, summarise
from vindibot.arena.report.table import interval, show
from vindibot.arena.results import GameLine, that_count
from vindibot.arena.schedule import GameTask, Schedule, read_map_set
from vindibot.arena.seats.entrants import Entrant, entrant_of, read_entrants
from vindibot.arena.settings import LadderSettings
from vindibot.arena.store import Store, StoreError, check_names, logs_path, read_origin, report_path
from vindibot.arena.suites import read_suite
from vindibot.arena.tournament import StartWatch
from vindibot.base import interrupts, log
from vindibot.base.console import say, terminal
from vindibot.base.errors import UsageError, VindibotError
from vindibot.base.interrupts import Stop, stopping
from vindibot.base.system import require_children
from vindibot.base.text import counted
from vindibot.base.writing import Output
from vindibot.config.bots import forget_modules
from vindibot.config.files import short
from vindibot.config.load import Config
from vindibot.config.settings import cores
from vindibot.config.signature import build, digest_of
from vindibot.engine.warmup import warm
from vindibot.statistics.ratings import RESAMPLES, Rating

#: Two rivals of a bot are drawn from this number of bots with the nearest ratings.
NEAR = 6
#: Seconds between two looks at the folder while there are too few bots, and seconds for the running games after Ctrl-C.
WAIT_SECONDS, LAST_SECONDS = 0.5, 2.0
#: Least number of seconds between two versions of the page, and the part of the time that may be spent on the page.
REFRESH_SECONDS, PAGE_SHARE = 30, 0.05
#: A text in each table of strengths.
TABLE_MARK = "# Made by vindibot ladder"
#: The beginnings of the names of files and folders that belong to no bot.
_IGNORED = (".", "__pycache__", "recordings", "results")
#: The files of a folder, each with its time and its size.
FolderFiles = dict[Path, tuple[int, int]]
#: The settings that all games of a ladder share, with its seed.
_COMMON = {"rounds", "adjudicate", "limits", "maps", "positions"}


class Ladder:
    """A ladder of the bot files in `folder`. Its rungs are the bots in the settings. It goes on with earlier results.

    `most` is the number of games in the file at which the ladder ends, None for no end. With `mix_versions`, it goes on even if
    vindibot has changed since the last games. `command` is the command line, for its files.

    `bots` are the bots that play now, by their labels. Faulty bots are left out. `error` is the reason why results could not be
    written, "" without an error. Raises `UsageError`.
    """

    def __init__(
        self, config: Config[Any], folder: Path, most: int | None = None, *, mix_versions: bool = False, command: str = ""
    ) -> None:
        require_children()
        if not folder.is_dir():
            raise UsageError(f"{short(folder)}: there is no such folder: make it, and put bot files into it")
        settings: LadderSettings = config.settings.model_copy(update={"format": "all"})
        path = settings.results or folder / "ladder.jsonl"
        check_names(path)
        seed = read_origin(path).seed if settings.seed is None else settings.seed
        seed = secrets.randbits(32) if seed is None else seed
        suite = read_suite(settings.positions) if settings.positions else None
        self._schedule = Schedule(settings, (), read_map_set(settings.maps, seed), seed, suite)
        limits = settings.limits.model_dump(mode="json")
        self._digest = digest_of(self._schedule.identity() | {"ladder": 2, "limits": limits})
        self._rungs = read_entrants(config)
        setup = {"seed": seed} | settings.model_dump(mode="json", include=_COMMON, exclude_none=True)
        bots = None if mix_versions else ()
        self.store = Store(path, self._digest, setup, resume=True, records=settings.records, bots=bots, command=command)
        self.settings, self.folder, self.command = settings, folder, command
        self.most = math.inf if most is None else most
        self.stop, self.error = Stop(), ""
        self.bots: dict[str, Entrant] = {}
        self._digests = {seat.bot: seat.digest for line in self.lines for seat in line.seats}
        self._broken: set[str] = set()  # the labels of bots that cannot be started
        self._least_certain: Rating | None = None
        self._page_due = 0.0
        self._console = terminal()

    @property
    def lines(self) -> list[GameLine]:
        """The results of all games so far, those of earlier runs first."""
        return self.store.before

    def note(self, text: str) -> None:
        """Show a line for people."""
        say(self._console, text)

    def run(self, table: Path | None = None) -> int:
        """Play in the terminal, and return the exit code. At the end, write the ratings to the file `table`.

        Raises `VindibotError` if results could not be written, and `UsageError` if `table` is no table of a ladder.
        """
        output = None if table is None else Output(table, TABLE_MARK, "vindibot ladder", "--table names another file")
        if output is not None:
            output.check()
        page = report_path(self.store.path)
        self.note(f"the page, which the browser loads again every {REFRESH_SECONDS} s: {page.resolve().as_uri()}")
        with log.configured(self.settings.log.level, self.settings.log.file, self._console):
            with interrupts.saying("interrupted: the finished games are saved; the same command goes on with them"):
                load_games(self._rungs)
                warm(self._console)
                with stopping(self.stop):
                    self.play()
            if self.lines:
                show(self._console, self.write_page(RESAMPLES))
            if output is not None:
                output.write(f"{TABLE_MARK}\n{tomli_w.dumps(self.table())}")
        if self.error:
            raise VindibotError(self.error)
        self.note(f"saved: {counted(len(self.lines), 'game')} in {short(self.store.path)}; the page: {short(page)}")
        return interrupts.INTERRUPTED if self.stop.soon else 0

    def play(self, finished: Callable[[], None] = lambda: None) -> None:
        """Play games until `stop` is requested or `most` is reached. Write the page from time to time.

        Call `finished` after each game. If files in the folder change, finish the running games, and read the bots again.
        """
        if len(self.lines) >= self.most:
            self.read_bots()  # the page and the table show them, also if no game is left
        try:
            while not self.stop.soon and len(self.lines) < self.most:
                files = self.files()
                self.read_bots()
                if len(self.bots) >= SEATS:
                    self._play_blocks(files, finished)
                else:
                    self.note(f"waiting for bots: {len(self.bots)} can play, {SEATS} are needed")
                    while files == self.files() and not self.stop.soon:
                        time.sleep(WAIT_SECONDS)
                if files != self.files():
                    forget_modules()
        except StoreError as problem:
            self.error = problem.message
        finally:
            self.store.close()

    def _play_blocks(self, files: FolderFiles, finished: Callable[[], None]) -> None:
        """Play games of the present bots until `files` is no longer the content of the folder."""
        moved = {seat.bot for line in self.lines for seat in line.seats if seat.moves}
        starts, workers = StartWatch(self.bots.keys() - moved), self.settings.workers or cores()
        games, rate, done = partial(LocalGames, list(self.bots.values()), workers), GameRate(), Counter[int]()
        dispatcher = Dispatcher(games, workers, notify=self.note, stop=self.stop, last_seconds=LAST_SECONDS)
        for played in dispatcher.run(self._tasks(files)):
            self.store.append(played)
            self.lines.append(played.line)
            rate.tick()
            done[played.line.block] += 1
            if done[played.line.block] == played.line.games:
                self.note(f"{counted(len(self.lines), 'game')}, {rate.per_minute():.0f} a minute; {self._certainty()}")
            if (bot := starts.failing(played.line)) is not None:
                self.note(f"left out: {starts.words(bot, played.line)}")
                self._broken.add(bot)
                self.bots.pop(bot, None)
            if (began := time.monotonic()) >= self._page_due:
                self.write_page(0, REFRESH_SECONDS)
                self._page_due = max(began + REFRESH_SECONDS, began + (time.monotonic() - began) / PAGE_SHARE)
            finished()

    def _certainty(self) -> str:
        """Return in words which bot has the widest interval."""
        rating = self._least_certain
        if rating is None or rating.low is None:
            return "no bot has an interval yet"
        return f"the least certain bot is {rating.bot}, 95 %: {interval(rating.low, rating.high)}"

    def _tasks(self, files: FolderFiles) -> Iterator[GameTask]:
        """Yield the games of one block after another, until `files` is no longer the content of the folder."""
        begun, block = len(self.lines), 1 + max((line.block for line in self.lines), default=-1)
        games = Counter(bot for line in self.lines for bot in set(line.bots))
        while len(self.bots) >= SEATS and files == self.files():
            rng = np.random.default_rng(derive_seed(self._schedule.seed, "ladder", block) & (2**63 - 1))
            ratings = rate_games(self.lines, [*self.bots], anchor=self.settings.anchor_of(self.bots), resamples=0)
            ratings = [rating for rating in ratings if rating.bot in self.bots]
            self._least_certain = max(ratings, key=width)
            chosen = choose(ratings, games, rng)
            schedule = replace(self._schedule, entrants=tuple(self.bots[bot] for bot in chosen))
            for task in schedule.block_tasks(block, logs_path(self.store.path)):
                if begun >= self.most:
                    return
                begun += 1
                games.update(chosen)
                yield replace(task, tournament=self._digest)
            block += 1

    def files(self) -> FolderFiles:
        """Return the files in the folder that may belong to bots, with time and size."""
        ignored, files = (*_IGNORED, f"{self.store.path.stem}."), {}
        for path in sorted(self.folder.rglob("*")):
            if not any(part.startswith(ignored) for part in path.relative_to(self.folder).parts):
                with contextlib.suppress(OSError):  # the file has just gone
                    if path.is_file():
                        files[path] = path.stat().st_mtime_ns, path.stat().st_size
        return files

    def read_bots(self) -> None:
        """Read the rungs and the bot files of the folder. Note each faulty file and each change."""
        before, self.bots = self.bots, {}
        entrants = list(self._rungs)
        for path in self.files():
            parts = path.relative_to(self.folder).parts
            if parts[1:] == ("bot.toml",) or (len(parts) == 1 and path.suffix == ".toml"):
                try:
                    entrants.append(entrant_of(path, self.settings.limits))
                except UsageError as problem:
                    self.note(f"left out: {problem.message}")
        for entrant in entrants:
            label = self._label(entrant)
            if label not in self._broken:
                self.bots[label] = replace(entrant, label=label)
        for name in sorted(before.keys() ^ self.bots.keys()) if before else ():
            self.note(f"{'+' if name in self.bots else '-'} {name}")

    def _label(self, entrant: Entrant) -> str:
        """Return the label of a bot in the results: its own label, with a number if another bot has used this label."""
        labels = (f"{entrant.label}-{number}" if number > 1 else entrant.label for number in count(1))
        label = next(label for label in labels if self._digests.get(label, entrant.digest) == entrant.digest)
        self._digests[label] = entrant.digest
        return label

    def summary(self, resamples: int = RESAMPLES) -> Summary:
        """Return the summary of the games of the bots that play now, from all games. For `resamples` see `rate`."""
        summary = summarise(self.lines, [*self.bots], anchor=self.settings.anchor_of(self.bots), resamples=resamples)
        standings = tuple(stats for stats in summary.standings if stats.bot in self.bots)
        pairs = tuple(pair for pair in summary.pairs if pair.bot in self.bots and pair.other in self.bots)
        return replace(summary, standings=standings, pairs=pairs)

    def write_page(self, resamples: int, refresh: int = 0) -> Summary:
        """Write the page, and return the summary on it. A browser loads it again every `refresh` seconds, if this is not 0."""
        title, summary = f"ladder of {self.folder.resolve().name}", self.summary(resamples)
        write_report(self.store.path, summary, self.lines, [*self.bots], self.settings.replays, title=title, refresh=refresh)
        return summary

    def table(self) -> dict[str, Any]:
        """Return the ratings: per bot the rating, its 95 % interval and the number of games; and how they were made."""
        bots = {}
        for stats in self.summary().standings:
            if (rating := stats.rating) is not None and rating.low is not None and rating.high is not None:
                ends = {"low": round(rating.low), "high": round(rating.high)}
                bots[stats.bot] = {"rating": round(rating.rating), **ends, "games": stats.games}
        games, date = len(that_count(self.lines)), f"{datetime.now(UTC):%Y-%m-%d}"
        return {"command": self.command, "date": date, "version": str(build()), "games": games, "bots": bots}


def width(rating: Rating) -> float:
    """Return the width of the interval of a rating, 0 if there is none."""
    return (rating.high or 0) - (rating.low or 0)


def choose(ratings: Sequence[Rating], games: Mapping[str, int], rng: np.random.Generator) -> list[str]:
    """Return four bots for the next block: a bot whose interval is wide, and three rivals.

    `games` has the number of games of each bot, with those that are played now. The width of an interval falls with the square
    root of this number. The bot whose interval four more games shrink the most plays. So a new bot plays first. A bot that loses
    every game does not play for ever, although its interval stays wide. Two rivals are drawn from the `NEAR` bots with the
    nearest ratings, since a game between unequal bots says little. The third may be any bot, so that the ratings of weak and of
    strong bots are connected.
    """

    def gain(rating: Rating) -> float:
        played = games.get(rating.bot, 0)
        return width(rating) * (1 - math.sqrt(played / (played + SEATS)))

    first = max(ratings, key=lambda rating: (gain(rating), rng.random()))
    others = sorted((rating for rating in ratings if rating is not first), key=lambda rating: abs(rating.rating - first.rating))
    names = [rating.bot for rating in others]
    near = [names[index] for index in rng.choice(min(NEAR, len(names)), 2, replace=False).tolist()]
    rest = [name for name in names if name not in near]
    return [first.bot, *near, rest[int(rng.integers(len(rest)))]]
