"""``vindibot learn selfplay``: a run of self-play in a folder trains, saves, plays short matches, and writes the report.

The folder has these files:

- `run.npz`: the state of the run. It is saved every `SAVE_SECONDS`, so a crash loses less than a minute.
- `net.npz`: the present net. `bot.toml`: a bot that plays it.
- `report.html`: the learning curve.
"""

from __future__ import annotations

import io
import json
import shlex
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import tomli_w
from numpy.typing import NDArray
from pydantic import ValidationError
from rich.console import Console

from behaviours.net.network import Net, Network, arrays_in, save_nets
from vindibot import __version__
from vindibot.base import interrupts
from vindibot.base.console import say, terminal
from vindibot.base.errors import UsageError, VindibotError
from vindibot.base.interrupts import Stop, stopping
from vindibot.base.system import lower_priority
from vindibot.base.text import counted
from vindibot.base.writing import only_writer, replace, short
from vindibot.config.bots import LONGEST_NAME, Bot, load_bot
from vindibot.config.messages import explain
from vindibot.config.settings import cores
from vindibot.engine.warmup import warm
from vindibot.learning.matches import NET_FILE, MatchRival
from vindibot.learning.network import parameters_of, read_nets
from vindibot.learning.report import Row, head_line, match_texts, row_line, write_report
from vindibot.learning.trainer import Means, SelfplaySettings, Trainer

#: Seconds between two savings, between two rows of progress, and between two matches.
SAVE_SECONDS, ROW_SECONDS, MATCH_SECONDS = 40.0, 10.0, 180.0
#: Number of snapshots in a run, and number of blocks in a match against the last snapshot and against a bot.
SNAPSHOTS_A_RUN, SNAPSHOT_BLOCKS, BOT_BLOCKS = 40, 50, 10
_FORMAT = "vindibot self-play 1"
RUN, BOT, REPORT = "run.npz", "bot.toml", "report.html"
#: The file that is locked while a process trains.
LOCK = f"{RUN}.lock"


@dataclass(frozen=True)
class Limit:
    """The length of a run: `decisions` of the net, or `minutes`, or the first of both."""

    decisions: int | None = None
    minutes: float | None = None


class Selfplay:
    """A run of self-play in a folder. `create` begins a run, `resume` continues one, and `train` does the work."""

    def __init__(
        self, folder: Path, trainer: Trainer, limit: Limit, rows: list[Row], seconds: float = 0.0, taken: int = 0
    ) -> None:
        self.folder, self.trainer, self.limit, self.rows = folder, trainer, limit, rows
        self._seconds, self._taken = seconds, taken

    @classmethod
    def create(
        cls, folder: Path, settings: SelfplaySettings, limit: Limit, models: Sequence[Network] = (), start: Net | None = None
    ) -> Selfplay:
        """Begin a run in a new or empty folder, which must be `locked`. Raises `UsageError` as `check_new` does."""
        cls.check_new(folder)
        parameters = None if start is None else parameters_of(start, settings.hidden, settings.seed)
        trainer = Trainer(settings, models, parameters)
        trainer.begin()
        run = cls(folder, trainer, limit, [])
        run.save()
        return run

    @staticmethod
    def check_new(folder: Path) -> None:
        """Make a folder for a run. Raises `UsageError` if it has files, or cannot be made."""
        if folder.exists() and (not folder.is_dir() or any(path.name != LOCK for path in folder.iterdir())):
            goes_on = "--resume continues this run, or " if (folder / RUN).exists() else ""
            raise UsageError(f"{short(folder)} is there already: {goes_on}name another folder")
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except OSError as problem:
            raise UsageError(f"{short(folder)}: cannot be made: {problem.strerror or problem}") from None

    @staticmethod
    def locked(folder: Path) -> AbstractContextManager[None]:
        """Within a ``with`` block, let no other process train in a folder. Raises `UsageError` if another one trains there."""
        return only_writer(folder / RUN, "another vindibot learn trains this run; stop it first")

    @staticmethod
    def check(folder: Path) -> None:
        """Raise `UsageError` if a folder has no run."""
        if not (folder / RUN).is_file():
            raise UsageError(f"{short(folder)} has no run of self-play: {RUN} is missing")

    @classmethod
    def resume(cls, folder: Path, limit: Limit) -> Selfplay:
        """Continue the run in a folder, which must be `locked`. An empty `limit` is the limit that the run has.

        Raises `UsageError` if there is no run, or if its file is damaged or of another version.
        """
        path = folder / RUN
        cls.check(folder)
        try:
            arrays = arrays_in(path.read_bytes())
            if str(arrays["format"]) != _FORMAT:
                raise UsageError(f"{short(path)} has the format {str(arrays['format'])!r:.60}; this vindibot reads {_FORMAT!r}")
            facts = json.loads(str(arrays["facts"]))
            settings = SelfplaySettings.model_validate(facts["settings"])
            trainer = Trainer.restore(settings, arrays)
        except (OSError, ValueError, TypeError, KeyError, ValidationError) as problem:
            raise UsageError(f"{short(path)} cannot be read ({type(problem).__name__}: {problem})") from None
        old = Limit(**facts["limit"])
        if limit.decisions is None and limit.minutes is None:
            limit = old
        return cls(folder, trainer, limit, [Row(**row) for row in facts["rows"]], facts["seconds"], facts["taken"])

    @property
    def nothing_left(self) -> str:
        """A sentence that says that the run has reached its limit and how to give it more; empty for a run that goes on."""
        if self.done < 1:
            return ""
        made = f"{self.trainer.decisions:,} moves in {self._seconds / 60:.1f} minutes of training"
        return f"nothing is left to train: this run made {made}; --decisions or --minutes gives it more, and counts these, too"

    @property
    def done(self) -> float:
        """The share of the run that is done, 0..1."""
        trainer, limit = self.trainer, self.limit
        shares = [0.0]
        if limit.decisions is not None:
            shares.append(trainer.decisions / limit.decisions)
        if limit.minutes is not None:
            shares.append(self._seconds / (60 * limit.minutes))
        return min(1.0, max(shares))

    def train(self, stopped: Callable[[], bool], show: Callable[[Row], None], rival: Bot | None = None) -> bool:
        """Train until the limit is reached, and return True, or until `stopped` returns true, and return False.

        `show` is called with each new row of the curve. `rival` is the bot of the matches. The run is saved before this method
        returns, and every `SAVE_SECONDS`.
        """
        trainer, means = self.trainer, Means()
        saved = shown = matched = self._seconds
        before = trainer.decisions
        began = time.monotonic() - self._seconds
        try:
            while self.done < 1 and not stopped():
                trainer.iterate(self.done, means)
                self._seconds = time.monotonic() - began
                if int(self.done * SNAPSHOTS_A_RUN) > self._taken:
                    self._taken += 1
                    trainer.take_snapshot()
                if self._seconds - shown >= ROW_SECONDS or self.done >= 1:
                    rate = (trainer.decisions - before) / max(self._seconds - shown, 1e-9)
                    row = Row(trainer.decisions, self._seconds, rate, means.row())
                    means, shown, before = Means(), self._seconds, trainer.decisions
                    if self._seconds - matched >= MATCH_SECONDS or self.done >= 1:
                        row.match = self._match(stopped, rival)
                        began = time.monotonic() - self._seconds  # a match is no time of training
                        matched = self._seconds
                    self.rows.append(row)
                    show(row)
                if self._seconds - saved >= SAVE_SECONDS:
                    self.save()
                    saved = self._seconds
        finally:
            trainer.close()
            self.save()
        return self.done >= 1

    def _match(self, stopped: Callable[[], bool], rival: Bot | None) -> dict[str, list[float]]:
        """Return the games won (0..1) with the ends of the interval, against the last snapshot and against three of `rival`."""
        trainer, rivals = self.trainer, []
        if trainer.snapshots:
            rivals.append((MatchRival("last snapshot", trainer.snapshots[-1]), SNAPSHOT_BLOCKS))
        if rival is not None:
            rivals.append((MatchRival(rival.name, rival), BOT_BLOCKS))
        policy, results = trainer.net("", {}).policy, {}
        for opponent, blocks in rivals:
            if result := opponent.meet(policy, trainer.settings.seed, blocks, stopped):
                results[opponent.name] = [float(result.won.mean()), *result.won_interval()]
        return results

    def save(self) -> None:
        """Save the run and its net. Raises `VindibotError` if the disk refuses a file.

        The net comes first: it is small, so a nearly full disk may have room for it alone.
        """
        facts = {
            "settings": self.trainer.settings.model_dump(),
            "limit": asdict(self.limit),
            "rows": [asdict(row) for row in self.rows],
            "seconds": self._seconds,
            "taken": self._taken,
        }
        arrays: dict[str, NDArray[Any]] = {
            "format": np.array(_FORMAT),
            "facts": np.array(json.dumps(facts)),
            **self.trainer.state(),
        }
        contents = io.BytesIO()
        np.savez(contents, allow_pickle=False, **arrays)
        name = self.folder.resolve().name
        about = {
            "vindibot": __version__,
            "settings": facts["settings"],
            "decisions": self.trainer.decisions,
            "minutes": round(self._seconds / 60, 1),
        }
        try:
            replace(self.folder / NET_FILE, save_nets([self.trainer.net(name, about)]))
            bot = self.folder / BOT
            if not bot.exists():
                content = {"name": name[:LONGEST_NAME], "traits": {"learned": {"net": NET_FILE}}}
                replace(bot, f"# A net that learned by self-play.\n{tomli_w.dumps(content)}".encode())
            replace(self.folder / RUN, contents.getvalue())
        except OSError as problem:
            raise VindibotError(f"{short(self.folder)}: cannot be written: {problem.strerror or problem}") from None


def run_selfplay(
    folder: Path,
    *,
    decisions: int | None,
    minutes: float | None,
    against: str,
    resume: bool,
    changes: Sequence[str],
    rivals: Sequence[Path],
    start: Path | None,
    idle: bool,
    **options: int | None,
) -> int:
    """Do what ``vindibot learn selfplay`` does with these options, and return its exit code.

    `options` has the options that are settings, None for those that the user left out.
    """
    limit = Limit(decisions, minutes)
    chosen = {name: value for name, value in options.items() if value is not None}
    if resume and (chosen or rivals or start or changes):
        raise UsageError("--resume continues a run with its own settings: only --minutes or --decisions may be changed")
    if idle:
        lower_priority()
    rival, console = load_bot(against), terminal()
    with ExitStack() as stack:
        with interrupts.saying("interrupted before the training began"):
            if resume:
                Selfplay.check(folder)
                stack.enter_context(Selfplay.locked(folder))
                warm(console)
                run = Selfplay.resume(folder, limit)
            else:
                settings = selfplay_settings(chosen, changes)
                models = [net.policy for path in rivals for net in read_nets(path)]
                first = read_nets(start)[0] if start is not None else None
                Selfplay.check_new(folder)
                stack.enter_context(Selfplay.locked(folder))
                warm(console)
                run = Selfplay.create(folder, settings, Limit(minutes=30.0) if limit == Limit() else limit, models, first)
        if run.nothing_left:
            say(console, run.nothing_left)
            return 0
        return _train(run, rival, console)


def _train(run: Selfplay, rival: Bot, console: Console) -> int:
    """Train, show the progress, and return the exit code."""
    stop, settings = Stop(), run.trainer.settings
    say(
        console,
        f"learning in {run.folder}: {counted(settings.threads, 'thread')}, {settings.hidden} hidden units, seed {settings.seed}",
    )

    def show(row: Row) -> None:
        say(console, row_line(row, run.done))
        for name, (won, interval) in match_texts(row).items():
            say(console, f"    alone against three of {name}: {won} of games won ({interval})", "bold")
        write_report(run.folder / REPORT, settings, run.rows, run.trainer.decisions)

    with stopping(stop):
        say(console, head_line(), "dim")
        finished = run.train(lambda: stop.soon, show, rival)
    write_report(run.folder / REPORT, settings, run.rows, run.trainer.decisions)
    for name in (NET_FILE, BOT, REPORT):
        say(console, f"{name.partition('.')[0]}: {run.folder / name}", "dim")
    if finished:
        return 0
    words = shlex.join(["vindibot", "learn", "selfplay", str(run.folder), "--resume"])
    say(console, f"interrupted; go on with: {words}", "yellow")
    return interrupts.INTERRUPTED


def selfplay_settings(options: Mapping[str, int], changes: Sequence[str]) -> SelfplaySettings:
    """Return settings from options by name, and from texts such as ``discount=0.995``. The default of `threads` is all cores.

    Raises `UsageError` for an unknown name or a wrong value.
    """
    values: dict[str, Any] = {"threads": cores(), **options}
    for text in changes:
        name, sign, value = text.partition("=")
        if not sign or name not in SelfplaySettings.model_fields:
            known = ", ".join(name for name in SelfplaySettings.model_fields if name not in options)
            raise UsageError(f"--set {text}: write NAME=VALUE; the names are {known}")
        values[name] = value
    try:
        return SelfplaySettings.model_validate(values)
    except ValidationError as problem:
        slip = problem.errors(include_url=False)[0]
        raise UsageError(f"{'.'.join(map(str, slip['loc']))}: {explain(slip)}") from None
