"""A tournament from its configuration to the last game: who plays what is settled first, then the games are handed out,
and every finished one is kept before anything else is done with it."""

from __future__ import annotations

import contextlib
import re
import secrets
import shlex
import signal
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any

from vindibot.arena.dispatch import Dispatcher, Stop
from vindibot.arena.entrants import BUILT_IN, Entrant, read_entrants, split_label
from vindibot.arena.local import local_workers
from vindibot.arena.mapsets import read_map_set
from vindibot.arena.reporter import Reporter, TournamentInfo
from vindibot.arena.results import GameLine
from vindibot.arena.schedule import GameTask, Schedule
from vindibot.arena.settings import RESULTS_FOLDER, ArenaSettings
from vindibot.arena.sprt import run_sprt
from vindibot.arena.store import REPORT_MARK, Store, StoreError, check_names, logs_path, owned, report_path, setup_path
from vindibot.arena.versions import changes
from vindibot.base import UsageError, interrupts
from vindibot.config import Config, build, cores, look_up, short


@dataclass
class Tournament:
    """All that is settled before the first game. `prepare` makes one."""

    settings: ArenaSettings
    schedule: Schedule
    path: Path
    store: Store
    stop: Stop = field(default_factory=Stop)
    trouble: str = ""

    @property
    def lines(self) -> list[GameLine]:
        """The games that have been played, those of earlier runs first."""
        return self.store.before

    @property
    def bots(self) -> tuple[str, ...]:
        """The labels of the bots, in the order of the configuration."""
        return tuple(entrant.label for entrant in self.schedule.entrants)

    def play(self, reporter: Reporter) -> None:
        """Play what has not been played yet; ends early where `stop` says so, and where results cannot be kept."""
        workers = self.settings.workers or cores()
        lines = self.lines
        format, games, blocks = self.settings.format, len(self.schedule), self.settings.blocks  # noqa: A001
        reporter.begin(TournamentInfo(self._title(), format, self.bots, games, blocks, workers, tuple(lines)))
        factory = local_workers(self.schedule.entrants, workers)
        dispatcher = Dispatcher(factory, workers, tell=reporter.note, stop=self.stop)
        try:
            for played in dispatcher.run(self._ahead()):
                try:
                    self.store.append(played)
                except StoreError as problem:
                    self.trouble = problem.message
                    self.stop.soon = self.stop.now = True
                    break
                lines.append(played.line)
                reporter.finished(played.line)
                if self._settled():
                    self.stop.soon = True
        finally:
            reporter.end()
            self.store.close()
            with contextlib.suppress(OSError):  # it is not empty, or was never made
                logs_path(self.path).rmdir()

    def _title(self) -> str:
        return f"{' against '.join(self.bots[:2])}" if self.settings.format == "ab" else ", ".join(self.bots)

    def _ahead(self) -> Iterator[GameTask]:
        played = {(line.block, line.game) for line in self.lines}
        logs = str(logs_path(self.path).resolve()) if self.settings.logs != "none" else ""
        for task in self.schedule.tasks(logs=logs, all_logs=self.settings.logs == "all"):
            if (task.block, task.game) not in played and not self._settled():
                yield task

    def _settled(self) -> bool:
        """Whether the sequential test has its verdict, and the match was to end there."""
        return self.settings.sprt.stop and run_sprt(self.lines, self.bots[0], self.settings.sprt).verdict in ("H0", "H1")

    @property
    def complete(self) -> bool:
        """Whether nothing is left to play."""
        return len(self.lines) >= len(self.schedule) or self._settled()

    def forfeits(self) -> dict[str, float]:
        """The share of its games that each bot forfeited, where that is more than allowed."""
        seats, forfeits = Counter[str](), Counter[str]()
        for line in self.lines:
            for seat in line.seats:
                seats[seat.bot] += 1
                forfeits[seat.bot] += not seat.outcome.finished
        shares = {bot: forfeits[bot] / seats[bot] for bot in seats}
        return {bot: share for bot, share in shares.items() if share > self.settings.max_forfeits}

    def logs(self) -> Path | None:
        """The folder of what bots wrote, if anything was kept."""
        folder = logs_path(self.path)
        return folder if folder.is_dir() and any(folder.iterdir()) else None

    def again(self) -> str:
        """The command that goes on."""
        return f"vindibot arena --resume {shlex.quote(short(self.path))}"


def prepare(config: Config[ArenaSettings], *, resume: bool = False, mix_versions: bool = False) -> Tournament:
    """Settle everything: bots read, commands found, maps made, results opened. Raises `UsageError`.

    `mix_versions` goes on with results although the build or files of bots have changed since."""
    settings = config.settings
    for key, other, words in settings.conflicts():
        raise config.refuse(key, f"{words} ({other} is set by {config.origin(other)})")
    entrants = read_entrants(config)
    seed = settings.seed if settings.seed is not None else secrets.randbits(32)
    maps = read_map_set(settings.maps, seed)
    schedule = Schedule(
        settings.format,
        tuple(entrants),
        maps,
        settings.blocks,
        settings.rounds,
        seed,
        settings.adjudicate == "decided",
        settings.limits.wall_s,
    )
    try:
        schedule.seatings()
    except UsageError as problem:
        raise config.refuse("bots", f"do not fit the format: {problem.message}") from None
    path = settings.results or _fresh_path(settings, entrants)
    check_names(path)
    if settings.report:
        owned(report_path(path), REPORT_MARK).check()
    if not resume and setup_path(path).resolve() in config.files():
        raise UsageError(f"{short(setup_path(path))} is read, and would be written anew: --results names another file")

    def changed(before: Sequence[GameLine]) -> list[str]:
        return [] if mix_versions else changes(before, build(), entrants)

    kept = setup(settings, config, seed)
    store = Store(path, schedule.digest(), kept, resume=resume, records=settings.records, changes=changed)
    return Tournament(settings, schedule, path, store)


def _fresh_path(settings: ArenaSettings, entrants: Sequence[Entrant]) -> Path:
    """A new file of results, named by what is played and when."""
    names = "-".join(re.sub(r"[^\w.+-]+", "_", entrant.label) for entrant in entrants[:4])
    stem = f"{settings.format}-{names}-{datetime.now().astimezone():%Y%m%d-%H%M%S}"
    path, count = RESULTS_FOLDER / f"{stem}.jsonl", 1
    while path.exists():
        count += 1
        path = RESULTS_FOLDER / f"{stem}-{count}.jsonl"
    return path


def setup(settings: ArenaSettings, config: Config[ArenaSettings], seed: int) -> dict[str, Any]:
    """The configuration as it can be kept beside the results: what files it names can be found from there, and the seed is
    the one that was drawn."""
    kept = settings.model_dump(mode="json", exclude={"log", "results"})
    kept["seed"] = seed
    kept["bots"] = [_absolute(text, config.origin("bots").folder, settings) for text in settings.bots]
    for name, entrant in settings.entrants.items():
        table = kept["entrants"][name]
        folder = config.origin("entrants").folder
        if entrant.bot is not None:
            table["bot"] = _absolute(entrant.bot, folder, settings)
        if entrant.command is not None:
            table["folder"] = str(((folder or Path.cwd()) / entrant.folder).resolve()) if entrant.folder else str(Path.cwd())
    kept["maps"]["names"] = [str(Path(name).resolve()) if Path(name).is_file() else name for name in settings.maps.names]
    return kept


def _absolute(text: str, folder: Path | None, settings: ArenaSettings) -> str:
    """A word of the list of bots that means the same in another folder."""
    label, what = split_label(text)
    if what in settings.entrants or what in BUILT_IN or what.startswith(("http:", "stdio:")):
        return text
    found = look_up(what, beside=folder, folder="bots")
    return text if found is None else f"{label}={found.resolve()}" if label else str(found.resolve())


@contextlib.contextmanager
def interruptible(tournament: Tournament, reporter: Reporter) -> Iterator[None]:
    """Ctrl-C and SIGTERM: the first lets the running games end, the second does not; one more ends this program at once, for
    where it waits for a process that does not answer and nobody looks at `stop`."""
    stop = tournament.stop

    def interrupted(number: int, frame: object) -> None:
        if stop.soon:
            stop.now = True
            signal.signal(number, before[signal.Signals(number)])
            interrupts.at_once_again()
        else:
            stop.soon = True
            reporter.note("finishing the games that are running; once more to stop at once")

    before = {number: signal.signal(number, interrupted) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
