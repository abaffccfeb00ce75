"""A tournament, from its configuration to its last game.

`prepare` checks everything before the first game. Then `Tournament.play` plays the games, and stores each game when it ends.
"""

from __future__ import annotations

import contextlib
import re
import secrets
import shlex
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from functools import partial
from itertools import count
from pathlib import Path
from typing import Any

from vindibot.arena.dispatch import Dispatcher, Elsewhere
from vindibot.arena.games import LocalGames
from vindibot.arena.report.live import Reporter, TournamentInfo
from vindibot.arena.report.page import check_pages
from vindibot.arena.report.summary import run_sprt
from vindibot.arena.results import GameLine, that_count
from vindibot.arena.schedule import GameTask, Schedule, read_map_set
from vindibot.arena.seats.entrants import BUILT_IN, Entrant, entrant_folder, is_command, read_entrants, split_label
from vindibot.arena.settings import RESULTS_FOLDER, ArenaSettings
from vindibot.arena.store import REPORT_MARK, Store, StoreError, check_names, logs_path, owned, report_path, setup_path
from vindibot.arena.suites import Suite, read_suite
from vindibot.base.errors import UsageError, VindibotError
from vindibot.base.interrupts import Stop
from vindibot.base.system import require_children
from vindibot.config.files import look_up, short
from vindibot.config.load import Config
from vindibot.config.settings import cores

#: Number of first games that a bot must forfeit at the start.
FIRST_GAMES = 3


class StartWatch:
    """Watches the first games of each of the `bots`, for a bot that cannot be started."""

    def __init__(self, bots: Collection[str]) -> None:
        self._waiting = set(bots)
        self._failed = Counter[str]()

    def failing(self, line: GameLine) -> str | None:
        """Take the next finished game. Return the bot that has forfeited its first `FIRST_GAMES` games at the start, else None.

        A bot with several seats has forfeited a game at the start if none of its seats made a move.
        """
        for bot in self._waiting & set(line.bots) if not line.given_up else ():
            seats = [seat for seat in line.seats if seat.bot == bot]
            if any(seat.moves or seat.outcome.finished for seat in seats):
                self._waiting.discard(bot)
                continue
            self._failed[bot] += 1
            if self._failed[bot] == FIRST_GAMES:
                return bot
        return None

    @staticmethod
    def words(bot: str, line: GameLine) -> str:
        """Return what the bot did that `failing` has returned for a game."""
        outcome = next(seat.outcome for seat in line.seats if seat.bot == bot)
        reason = f"{outcome.reason}: {outcome.message}" if outcome.message else outcome.reason
        return f"{bot} forfeited each of its first {FIRST_GAMES} games at the start: {reason}"


@dataclass
class Tournament:
    """A tournament that `prepare` has made. `path` is its results file.

    If the results could not be written, if no machine could play, or if a bot cannot be started (`cannot_start`), `error` is the
    reason. Otherwise `error` is empty.
    """

    settings: ArenaSettings
    schedule: Schedule
    path: Path
    store: Store
    stop: Stop = field(default_factory=Stop)
    error: str = ""
    cannot_start: bool = False

    @property
    def lines(self) -> list[GameLine]:
        """The results of all games that have been played, also in earlier runs. The earlier runs come first."""
        return self.store.before

    @property
    def bots(self) -> tuple[str, ...]:
        """The labels of the bots, in the order of the configuration."""
        return tuple(entrant.label for entrant in self.schedule.entrants)

    @property
    def anchor(self) -> str | None:
        """The bot whose rating is 0; None if the mean of all ratings is 0."""
        return self.settings.anchor_of(self.bots)

    @property
    def workers(self) -> int:
        """The number of games at once on this machine."""
        return self.settings.workers or cores()

    def machines(self, notify: Callable[[str], None]) -> contextlib.AbstractContextManager[Elsewhere | None]:
        """Return a context manager that connects to the machines of the setting `dask`. See `other_machines`."""
        return other_machines(self.settings.dask, self.schedule.entrants, self.workers, notify)

    def play(self, reporter: Reporter, elsewhere: Elsewhere | None = None) -> None:
        """Play the missing games: on other machines if `elsewhere` is given, else on this machine.

        Return early if `stop` is requested, if results cannot be written, or if a bot cannot be started: it forfeits each of its
        first games at the start. Raises `VindibotError` if no game can be played on this machine.
        """
        workers = self.workers
        title = (" against " if self.settings.format == "ab" else ", ").join(self.bots)
        reporter.begin(
            TournamentInfo(
                title,
                self.bots,
                len(self.schedule),
                self.settings.blocks,
                tuple(self.lines),
                self.anchor,
                self.settings.sprt if self.settings.format == "ab" else None,
                elsewhere.machines if elsewhere is not None else None,
            )
        )
        games = partial(LocalGames, self.schedule.entrants, workers)
        dispatcher = Dispatcher(games, workers, notify=reporter.note, stop=self.stop)
        if elsewhere is not None:
            dispatcher.factory, dispatcher.slots = elsewhere.factory, elsewhere.slots
        starts = StartWatch(self.bots if self.settings.max_forfeits < 1 else ())
        try:
            for played in dispatcher.run(self._missing_games()):
                try:
                    self.store.append(played)
                except StoreError as problem:
                    self.error = problem.message
                    self.stop.soon = self.stop.now = True
                    break
                self.lines.append(played.line)
                reporter.finished(played.line)
                if self._has_verdict():
                    self.stop.soon = True
                if not self.cannot_start and (bot := starts.failing(played.line)) is not None:
                    self.error = StartWatch.words(bot, played.line)
                    self.cannot_start = self.stop.soon = True
        except VindibotError as problem:
            if elsewhere is None:
                raise
            self.error = problem.message
        finally:
            reporter.end()
            self.store.close()

    def _missing_games(self) -> Iterator[GameTask]:
        played = {line.key for line in self.lines}
        for task in self.schedule.tasks(logs_path(self.path)):
            if (task.block, task.game) not in played and not self._has_verdict():
                yield task

    def _has_verdict(self) -> bool:
        """Return whether the sequential test has a verdict that ends the match.

        Without the setting sprt.stop, no verdict ends the match.
        """
        sprt = self.settings.sprt
        return sprt.stop and run_sprt(self.lines, self.bots[0], sprt).verdict in ("H0", "H1")

    @property
    def complete(self) -> bool:
        """Whether no game is missing."""
        return len(self.lines) >= len(self.schedule) or self._has_verdict()

    def forfeits(self) -> dict[str, float]:
        """Return the share (0..1) of forfeited games of each bot whose share is above the limit `max_forfeits`."""
        seats, forfeits = Counter[str](), Counter[str]()
        for line in that_count(self.lines):
            for seat in line.seats:
                seats[seat.bot] += 1
                forfeits[seat.bot] += not seat.outcome.finished
        shares = {bot: forfeits[bot] / seats[bot] for bot in seats}
        return {bot: share for bot, share in shares.items() if share > self.settings.max_forfeits}

    def given_up(self) -> int:
        """Return the number of games that could not be played."""
        return sum(line.given_up for line in self.lines)

    def logs(self) -> Path | None:
        """Return the folder with the bots' standard error, None if there are no logs."""
        folder = logs_path(self.path)
        return folder if folder.is_dir() and any(folder.iterdir()) else None

    def resume_command(self) -> str:
        """Return the command that resumes this tournament."""
        return shlex.join(["vindibot", "arena", "--resume", short(self.path)])


def prepare(config: Config[ArenaSettings], *, resume: bool = False, mix_versions: bool = False, command: str = "") -> Tournament:
    """Return a tournament whose bots, commands, maps and results have been checked. Raises `UsageError`.

    With `resume`, the tournament continues with the existing results. With `mix_versions`, it continues even if the build or the
    files of bots have changed. `command` is the command line of this tournament, which the report shows.
    """
    require_children()
    settings = config.settings
    for key, other, problem in settings.conflicts():
        raise config.refuse(key, f"{problem} ({other} is set by {config.origin(other)})")
    entrants = read_entrants(config)
    seed = settings.seed if settings.seed is not None else secrets.randbits(32)
    suite = _suite(config) if settings.positions else None
    schedule = Schedule(settings, tuple(entrants), read_map_set(settings.maps, seed), seed, suite)
    try:
        schedule.seatings()
    except UsageError as error:
        raise config.refuse("bots", f"do not fit the format: {error.message}") from None
    path = settings.results or _new_path(settings, entrants)
    check_names(path)
    if settings.report:
        owned(report_path(path), REPORT_MARK).check()
        if settings.replays:
            check_pages(path)
    if not resume and setup_path(path).resolve() in config.files():
        raise UsageError(f"{short(setup_path(path))} is read, and would be overwritten: --results names another file")

    setup = _setup(settings, config, seed)
    bots = None if mix_versions else entrants
    store = Store(path, schedule.digest(), setup, resume=resume, records=settings.records, bots=bots, command=command)
    return Tournament(settings, schedule, path, store)


def _suite(config: Config[ArenaSettings]) -> Suite:
    """Return the suite of positions of the settings. Raises `UsageError`."""
    try:
        return read_suite(config.settings.positions)
    except UsageError as problem:
        raise config.refuse("positions", f"cannot be used: {problem.message}") from None


def _new_path(settings: ArenaSettings, entrants: Sequence[Entrant]) -> Path:
    """Return a path for a new results file. Its name has the format, the bots and the time."""
    names = "-".join(re.sub(r"[^\w.+-]+", "_", entrant.label) for entrant in entrants[:4])
    stem = f"{settings.format}-{names}-{datetime.now().astimezone():%Y%m%d-%H%M%S}"
    paths = (RESULTS_FOLDER / f"{stem}{f'-{number}' if number > 1 else ''}.jsonl" for number in count(1))
    return next(path for path in paths if not path.exists())


def _setup(settings: ArenaSettings, config: Config[ArenaSettings], seed: int) -> dict[str, Any]:
    """Return the configuration to store beside the results. Its paths are absolute. `seed` is the tournament's seed."""
    setup = settings.model_dump(mode="json", exclude={"log", "results"}, exclude_none=True)  # TOML has no None
    setup["seed"] = seed
    setup["bots"] = [_absolute(text, config.origin("bots").folder, settings) for text in settings.bots]
    for name, entrant in settings.entrants.items():
        table = setup["entrants"][name]
        if entrant.bot is not None:
            table["bot"] = _absolute(entrant.bot, entrant_folder(config, name, "bot"), settings)
        if entrant.command is not None:
            folder = entrant_folder(config, name, "folder")
            table["folder"] = str(((folder or Path.cwd()) / entrant.folder).resolve()) if entrant.folder else str(Path.cwd())
    setup["maps"]["names"] = [str(Path(name).resolve()) if Path(name).is_file() else name for name in settings.maps.names]
    setup["positions"] = str(Path(settings.positions).resolve()) if Path(settings.positions).is_file() else settings.positions
    return setup


def _absolute(text: str, folder: Path | None, settings: ArenaSettings) -> str:
    """Return an entry of the list of bots in a form that is valid in any folder. The path of a bot file becomes absolute.

    `folder` is the folder of the configuration that has the list.
    """
    label, name = split_label(text)
    if name in settings.entrants or name in BUILT_IN or is_command(name):
        return text
    file = look_up(name, beside=folder, folder="bots")
    return text if file is None else f"{label}={file.resolve()}" if label else str(file.resolve())


def other_machines(
    address: str, entrants: Sequence[Entrant], workers: int, notify: Callable[[str], None]
) -> contextlib.AbstractContextManager[Elsewhere | None]:
    """Return a context manager that connects to the scheduler of Dask at `address`, see `vindibot.arena.dask.machines`.

    If the address is empty, its value is None.
    """
    if not address:
        return contextlib.nullcontext()
    from vindibot.arena.dask import machines

    return machines(address, entrants, workers, notify)
