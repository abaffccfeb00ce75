"""What ``vindibot tune play`` does: it plays a study, prints its result, and writes the report and the tuned bot."""

from __future__ import annotations

import shlex
import time
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from vindibot.arena.dispatch import Elsewhere
from vindibot.arena.games import LocalGames, load_games
from vindibot.arena.report.sections import write_sections
from vindibot.arena.tournament import other_machines
from vindibot.base import interrupts, log
from vindibot.base.console import plain_table, say
from vindibot.base.errors import UsageError, VindibotError
from vindibot.base.interrupts import Stop, stopping
from vindibot.base.text import counted
from vindibot.base.writing import short
from vindibot.config.bots import name_to_load
from vindibot.config.settings import cores
from vindibot.config.variants import NewBot
from vindibot.engine.warmup import warm
from vindibot.tuning.report import RESULT_HEADS, result_rows, study_parts
from vindibot.tuning.space import tables_of

if TYPE_CHECKING:
    from rich.console import Console

    from vindibot.config.load import Config
    from vindibot.tuning.settings import TuneSettings
    from vindibot.tuning.study import TuneStudy

#: Smallest number of seconds between two lines about the progress of a study.
EVERY = 15.0
#: The command that writes the reports and the bots.
COMMAND = "vindibot tune"


def tune(config: Config[TuneSettings], bot: str | None, resumed: Path | None, console: Console) -> int:
    """Play a new study of `bot`, or go on with the study in the file `resumed`. Return the exit code."""
    from vindibot.tuning.study import begin, resume

    settings = config.settings
    if (bot is None) == (resumed is None):
        raise UsageError("name either the bot to tune, or a study with --resume")
    with log.configured(settings.log.level, settings.log.file, console):
        if resumed is not None:
            study = resume(resumed, config)
        else:
            assert bot is not None
            study = begin(settings, bot, settings.study or Path(f"{Path(bot).stem}.study.jsonl"))
        words = f"go on with: {shlex.join(['vindibot', 'tune', 'play', '--resume', short(study.path)])}"
        code = _play(study, words, console)
    if study.finished:
        _write(study, console)
    return code


def _play(study: TuneStudy, words: str, console: Console) -> int:
    """Play the missing games of a study, and return the exit code. `words` say how to go on after an interruption."""
    settings, stop = study.settings, Stop()
    slots = settings.workers or cores()
    with interrupts.saying(f"interrupted: {words}"):
        if not settings.dask:
            load_games(study.entrants)
        warm(console)
    many = f"{counted(len(study.space), 'parameter')} of {study.space.bot.name}"
    size = f"{counted(study.generations, 'generation')} of {study.population} variants"
    say(console, f"tuning {many} in {settings.games} games, {size} (seed {study.seed})")
    with (
        interrupts.saying(f"interrupted: the finished blocks are saved; {words}"),
        other_machines(settings.dask, study.entrants, slots, partial(say, console)) as remote,
        stopping(stop),
    ):
        where = remote or Elsewhere(partial(LocalGames, study.entrants, slots), lambda: slots, lambda: ())
        progress = _Progress(study, console, where)
        try:
            study.play(where.factory, where.slots, stop=stop, note=lambda text: say(console, text, "yellow"), progress=progress)
        except VindibotError as problem:
            if remote is None:
                raise
            say(console, f"stopped: {problem.message}; {progress}; {words}", "bold red")  # the scheduler is gone
            return 1
    if study.finished:
        return 0
    say(console, f"interrupted: {progress}; {words}", "yellow")
    return interrupts.INTERRUPTED


class _Progress:
    """Prints lines about a running study, at least `EVERY` seconds apart, and a line per machine of a cluster."""

    def __init__(self, study: TuneStudy, console: Console, where: Elsewhere) -> None:
        self._study, self._console, self._where, self._last = study, console, where, time.monotonic()

    def __str__(self) -> str:
        study = self._study
        running = sum(map(len, study.blocks.values()))
        blocks = len(study.variants) * study.settings.batch + running
        return f"{blocks} of {study.generations * study.population * study.settings.batch} blocks are saved"

    def __call__(self) -> None:
        if time.monotonic() - self._last < EVERY:
            return
        self._last = time.monotonic()
        _, values = self._study.means()
        better = f", the best variants of the last generation: {values[-1]:+.3f}" if len(values) else ""
        say(self._console, f"{self}{better}")
        for machine in self._where.machines():
            say(self._console, f"  {machine}", "dim")


def _write(study: TuneStudy, console: Console) -> None:
    """Write the tuned bot and the report, and print the result."""
    settings, bot = study.settings, study.space.bot
    table = plain_table(*RESULT_HEADS, left=("parameter",))
    for row in result_rows(study):
        table.add_row(*row)
    console.print(table)
    if settings.report:
        report = study.path.with_suffix(".html")
        write_sections(report, COMMAND, f"Tuning {bot.name}", study_parts(study))
        say(console, f"report: {short(report)}", "dim")
    say(console, f"study: {short(study.path)}", "dim")
    out = settings.out or study.path.with_name(f"{bot.name}-tuned.toml")
    match = [short(out), name_to_load(bot) or short(bot.path), "--blocks", "400", "--sprt-stop"]
    test = shlex.join(["vindibot", "arena", "--match", *match])
    comments = [
        f"{settings.games} games, seed {study.seed}: CMA-ES, objective {settings.objective}, {settings.nodes} nodes per move.",
        f"These games do not show that this bot is stronger: test it with {test}",
    ]
    positions, _ = study.result()
    traits = tables_of(bot, study.space.values(positions))
    NewBot(out, COMMAND, "--out").write_variant(bot, "tuned", traits, comments)
    say(console, f"bot: {short(out)}; test it with: {test}")
