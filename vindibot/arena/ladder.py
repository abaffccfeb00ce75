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
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from functools import partial
from itertools import count
from pathlib import Path
from typing import Any

import numpy as np
import tomli_w

from sim.game import SEATS
from vindibot.arena.checks.starts import FIRST_GAMES, StartWatch
from vindibot.arena.dispatch import Dispatcher, Stop
from vindibot.arena.mapsets import MapSet, read_map_set
from vindibot.arena.report.summary import Summary, summarise
from vindibot.arena.report.versions import changes
from vindibot.arena.results import GameLine, that_count
from vindibot.arena.schedule import GameTask, Schedule
from vindibot.arena.scores import rate_games
from vindibot.arena.seats.entrants import Entrant, entrant_of, read_entrants
from vindibot.arena.settings import ArenaSettings
from vindibot.arena.store import Store, StoreError, check_names, logs_path, read_origin, setup_path
from vindibot.arena.worker import LocalGames
from vindibot.base.errors import UsageError
from vindibot.base.seeds import derive_seed
from vindibot.base.writing import Output
from vindibot.config.bots import forget_modules
from vindibot.config.files import short
from vindibot.config.load import Config
from vindibot.config.settings import cores
from vindibot.config.signature import build, digest_of
from vindibot.processes.server import ForkServer
from vindibot.processes.support import require_children
from vindibot.statistics.ratings import RESAMPLES, Rating

#: Two rivals of a bot are drawn from this number of bots with the nearest ratings.
NEAR = 6
#: Seconds between two looks at the folder while there are too few bots.
WAIT_SECONDS = 0.5
#: A text in each table of strengths.
TABLE_MARK = "# Made by vindibot ladder"
#: The folders that belong to no bot.
_OTHER_FOLDERS = {"__pycache__", "recordings", "results"}


@dataclass
class Ladder:
    """A ladder that `prepare_ladder` has made. `path` is its results file.

    - `most`: the number of games in the file at which the ladder ends, None for no end.
    - `bots`: the bots that play now, by their labels. Faulty bots are left out.
    - `error`: the reason why results could not be written, "" without an error.
    """

    settings: ArenaSettings
    folder: Path
    rungs: Sequence[Entrant]
    maps: MapSet
    seed: int
    path: Path
    store: Store
    most: int | None = None
    stop: Stop = field(default_factory=Stop)
    bots: dict[str, Entrant] = field(default_factory=dict)
    error: str = ""

    def __post_init__(self) -> None:
        self._digest = identity(self.settings, self.maps, self.seed)
        self._digests = {seat.bot: seat.digest for line in self.lines for seat in line.seats}
        self._block = 1 + max((line.block for line in self.lines), default=-1)
        self._playing = Counter[str]()  # number of games that are played now, by bot
        self._broken: set[str] = set()  # the labels of bots that cannot be started
        self._noted: set[str] = set()

    @property
    def lines(self) -> list[GameLine]:
        """The results of all games so far, those of earlier runs first."""
        return self.store.before

    @property
    def anchor(self) -> str | None:
        """The bot whose rating is 0; None if the mean of all ratings is 0."""
        return self.settings.anchor or ("seed" if "seed" in self.bots else None)

    def play(self, note: Callable[[str], None], finished: Callable[[], None]) -> None:
        """Play games until `stop` is requested or `most` is reached.

        Call `note` with lines for people, and `finished` after each game.

        If files in the folder change, finish the running games, and read the bots again.
        """
        workers = self.settings.workers or cores()
        try:
            while not self.stop.soon and not self._enough():
                seen = self.files()
                self.read_bots(note)
                if len(self.bots) < SEATS:
                    self._note(note, f"waiting for bots: {len(self.bots)} can play, {SEATS} are needed")
                    self._wait(seen)
                    continue
                starts = StartWatch([label for label in self.bots if not self._has_moved(label)])
                factory = partial(LocalGames, list(self.bots.values()), workers)
                dispatcher = Dispatcher(factory, workers, notify=note, stop=self.stop)
                for played in dispatcher.run(self._tasks(seen)):
                    self.store.append(played)
                    self.lines.append(played.line)
                    self._playing.subtract(played.line.bots)
                    if (bot := starts.failing(played.line)) is not None:
                        self._drop(bot, played.line, note)
                    finished()
                self._playing.clear()
                if not self.stop.soon and seen != self.files():
                    ForkServer.of_process().close()  # it has loaded modules of bots
                    forget_modules()
        except StoreError as problem:
            self.error = problem.message
        finally:
            self.store.close()

    def files(self) -> dict[Path, tuple[int, int]]:
        """Return the files of bots in the folder, with time and size. The files of the ladder itself are left out."""
        found = {}
        for path in sorted(self.folder.rglob("*")):
            inside = path.relative_to(self.folder)
            own = inside.parts[0].startswith(f"{self.path.stem}.")
            hidden = any(part.startswith(".") or part in _OTHER_FOLDERS for part in inside.parts)
            with contextlib.suppress(OSError):
                if not own and not hidden and path.is_file():
                    status = path.stat()
                    found[path] = status.st_mtime_ns, status.st_size
        return found

    def read_bots(self, note: Callable[[str], None]) -> None:
        """Read the rungs and the bot files of the folder. Call `note` with a line about each faulty file and each change."""
        before, self.bots = self.bots, {}
        entrants = list(self.rungs)
        for path in sorted([*self.folder.glob("[!.]*.toml"), *self.folder.glob("[!.]*/bot.toml")]):
            if path == setup_path(self.path):
                continue
            try:
                entrants.append(entrant_of(path, self.settings.limits))
            except UsageError as problem:
                self._note(note, f"left out: {problem.message}")
        for entrant in entrants:
            label = self._label(entrant)
            if label not in self._broken:
                self.bots[label] = replace(entrant, label=label)
        if before:
            for sign, names in (("+", self.bots.keys() - before.keys()), ("-", before.keys() - self.bots.keys())):
                for name in sorted(names):
                    note(f"{sign} {name}")

    def summary(self, *, resamples: int = RESAMPLES) -> Summary:
        """Return the summary of the games of the bots that play now, from all games. For `resamples` see `rate`."""
        found = summarise(self.lines, [*self.bots], anchor=self.anchor, resamples=resamples)
        standings = tuple(one for one in found.standings if one.bot in self.bots)
        pairs = tuple(pair for pair in found.pairs if pair.bot in self.bots and pair.other in self.bots)
        return replace(found, standings=standings, pairs=pairs)

    def ratings(self) -> list[Rating]:
        """Return the ratings of the bots that play now, best first, with intervals that are computed fast."""
        return [one for one in rate_games(self.lines, [*self.bots], anchor=self.anchor, resamples=0) if one.bot in self.bots]

    # -- blocks --

    def _tasks(self, seen: Mapping[Path, tuple[int, int]]) -> Iterator[GameTask]:
        """Yield the games of one block after another, until the folder's files differ from `seen`."""
        begun = len(self.lines)
        while len(self.bots) >= SEATS and seen == self.files():
            block = self._block
            self._block += 1
            rng = np.random.default_rng(derive_seed(self.seed, "ladder", block) & (2**63 - 1))
            games = Counter(bot for line in self.lines for bot in set(line.bots))
            chosen = choose(self.ratings(), games + self._playing, rng)
            schedule = Schedule(self.settings, tuple(self.bots[bot] for bot in chosen), self.maps, self.seed)
            for task in schedule.block_tasks(block, logs_path(self.path)):
                if self.most is not None and begun >= self.most:
                    return
                begun += 1
                self._playing.update(chosen)
                yield replace(task, tournament=self._digest)

    def _enough(self) -> bool:
        return self.most is not None and len(self.lines) >= self.most

    def _wait(self, seen: Mapping[Path, tuple[int, int]]) -> None:
        """Wait until the folder's files differ from `seen`, or until `stop` is requested."""
        while not self.stop.soon and seen == self.files():
            time.sleep(WAIT_SECONDS)
        forget_modules()

    # -- bots --

    def _label(self, entrant: Entrant) -> str:
        """Return the label of a bot in the results: its own label, with a number if another bot has used this label."""
        label = next(
            label
            for number in count(1)
            if self._digests.get(label := f"{entrant.label}-{number}" if number > 1 else entrant.label, entrant.digest)
            == entrant.digest
        )
        self._digests[label] = entrant.digest
        return label

    def _has_moved(self, label: str) -> bool:
        """Return whether a bot has made a move in any game so far."""
        return any(seat.bot == label and seat.moves for line in self.lines for seat in line.seats)

    def _drop(self, bot: str, line: GameLine, note: Callable[[str], None]) -> None:
        """Leave out a bot that cannot be started, until its files change. `line` is its last game."""
        outcome = next(seat.outcome for seat in line.seats if seat.bot == bot)
        note(f"left out: {bot} forfeited each of its first {FIRST_GAMES} games at the start: {outcome.message or outcome.reason}")
        self._broken.add(bot)
        self.bots.pop(bot, None)

    def _note(self, note: Callable[[str], None], text: str) -> None:
        """Call `note` with a text, unless it has had this text before."""
        if text not in self._noted:
            self._noted.add(text)
            note(text)


def choose(ratings: Sequence[Rating], games: Mapping[str, int], rng: np.random.Generator) -> list[str]:
    """Return four bots for the next block: a bot whose interval is wide, and three rivals.

    `games` has the number of games of each bot, with those that are played now. The width of an interval falls with the square
    root of this number. The bot whose interval four more games shrink the most plays. So a new bot plays first. A bot that loses
    every game does not play for ever, although its interval stays wide. Two rivals are drawn from the `NEAR` bots with the
    nearest ratings, since a game between unequal bots says little. The third may be any bot, so that the ratings of weak and of
    strong bots are connected.
    """

    def gain(one: Rating) -> float:
        assert one.low is not None
        assert one.high is not None
        played = games.get(one.bot, 0)
        return (one.high - one.low) * (1 - math.sqrt(played / (played + SEATS)))

    first = max(ratings, key=lambda one: (gain(one), rng.random()))
    others = sorted((one for one in ratings if one is not first), key=lambda one: abs(one.rating - first.rating))
    names = [one.bot for one in others]
    near = [names[index] for index in rng.choice(min(NEAR, len(names)), 2, replace=False).tolist()]
    rest = [name for name in names if name not in near]
    return [first.bot, *near, rest[int(rng.integers(len(rest)))]]


def identity(settings: ArenaSettings, maps: MapSet, seed: int) -> str:
    """Return the digest of what all games of a ladder have in common, which names it in its results. It does not include bots."""
    return digest_of(
        {
            "ladder": 1,
            "seed": seed,
            "rounds": settings.rounds,
            "adjudicate": settings.adjudicate == "decided",
            "maps": maps.identity(),
            "limits": settings.limits.model_dump(mode="json"),
        }
    )


def prepare_ladder(
    config: Config[ArenaSettings], folder: Path, *, most: int | None = None, mix_versions: bool = False, command: str = ""
) -> Ladder:
    """Return the ladder of the bot files in `folder`. Its rungs are the bots in the settings. It goes on with earlier results.

    With `mix_versions`, it continues even if vindibot has changed since the last games. `command` is the command line. Raises
    `UsageError`.
    """
    require_children()
    settings = config.settings
    if not folder.is_dir():
        raise UsageError(f"{short(folder)}: there is no such folder: make it, and put bot files into it")
    path = settings.results or folder / "ladder.jsonl"
    check_names(path)
    rungs = read_entrants(config)
    seed = _seed(path, settings)
    maps = read_map_set(settings.maps, seed)

    def changed(before: Sequence[GameLine]) -> list[str]:
        return [] if mix_versions else changes(before, build(), ())

    setup: dict[str, Any] = {
        "seed": seed,
        "rounds": settings.rounds,
        "adjudicate": settings.adjudicate,
        "limits": settings.limits.model_dump(mode="json", exclude_none=True),
        "maps": settings.maps.model_dump(mode="json"),
    }
    digest = identity(settings, maps, seed)
    store = Store(path, digest, setup, resume=True, records=settings.records, changes=changed, command=command)
    return Ladder(settings, folder, rungs, maps, seed, path, store, most)


def _seed(path: Path, settings: ArenaSettings) -> int:
    """Return the seed: that of the settings, that of earlier results, or a new one."""
    earlier = read_origin(path).seed if settings.seed is None else settings.seed
    return secrets.randbits(32) if earlier is None else earlier


def write_table(path: Path, ladder: Ladder, command: str) -> None:
    """Write the ratings of a ladder as TOML: per bot the rating, its 95 % interval and the number of games.

    Raises `VindibotError` if the file cannot be written, and `UsageError` if it is no table of a ladder.
    """
    found = ladder.summary()
    bots = {
        one.bot: {
            "rating": round(one.rating.rating),
            "low": round(one.rating.low),
            "high": round(one.rating.high),
            "games": one.games,
        }
        for one in found.standings
        if one.rating is not None and one.rating.low is not None and one.rating.high is not None
    }
    table = {
        "command": command,
        "date": f"{datetime.now(UTC):%Y-%m-%d}",
        "version": str(build()),
        "games": len(that_count(ladder.lines)),
        "bots": bots,
    }
    table_output(path).write(f"{TABLE_MARK}\n{tomli_w.dumps(table)}")


def table_output(path: Path) -> Output:
    """Return the output file of `write_table`."""
    return Output(path, TABLE_MARK, "vindibot ladder", "--table names another file")
