"""``vindibot tune``: learn the parameters of a bot from games, and test whether the tuned bot is stronger."""

from __future__ import annotations

import contextlib
import shlex
import sys
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from vindibot.base import interrupts
from vindibot.base.errors import UsageError, VindibotError
from vindibot.cli.completion import complete_bots
from vindibot.cli.measuring import machines
from vindibot.cli.measuring.parameters import PATH, config_option, map_option
from vindibot.cli.options import WORDS, RecordedCommand, load_settings, overrides, settings_options
from vindibot.tuning.settings import PromoteSettings, TuneSettings

if TYPE_CHECKING:
    from rich.console import Console

    from vindibot.arena.dispatch import Elsewhere
    from vindibot.arena.tournament import Tournament
    from vindibot.tuning.promotion import MatchOutcome
    from vindibot.tuning.study import TuneStudy

#: Smallest number of seconds between two lines about the progress of a study.
EVERY = 15.0
#: Settings for which the commands declare options themselves.
LISTS = {"parameters", "exclude", "ranges", "pool", "maps", "rivals", "bots", "sprt.stop"}
#: The names of options that do not follow from the keys of their settings.
SPELLED = {"maps": "--map", "pool": "--rival", "ranges": "--range", "rivals": "--rival"}
#: Defaults of these commands that differ from the defaults of the models of settings.
DEFAULTS = {"log.level": "warning"}


@click.group(name="tune", short_help="Learn the parameters of a bot from games, and test the result.")
def tune_command() -> None:
    """Learn the parameters of a bot from games, and test the result (docs/tune.md).

    \b
      vindibot tune play mybot --parameters "traits.rollout.*"   writes mybot-tuned.toml
      vindibot tune promote mybot-tuned.toml mybot               tests it, and stores it as a version

    These commands need the extra tune: python -m pip install 'vindibot[tune]'
    """


def _read_ranges(texts: tuple[str, ...]) -> dict[str, tuple[float, float]] | None:
    found = {}
    for text in texts:
        key, _, limits = text.partition("=")
        try:
            low, high = map(float, limits.split(":"))
        except ValueError:
            raise UsageError(f"--range {text!r}: write KEY=LOW:HIGH, for example traits.rollout.rounds=10:40") from None
        if not low < high:
            raise UsageError(f"--range {text!r}: the lowest value must be less than the largest one")
        found[key.strip()] = (low, high)
    return found or None


@tune_command.command("play", short_help="Tune the parameters of a bot by games.")
@click.argument("bot", required=False, shell_complete=complete_bots)
@click.option(
    "--parameters",
    "parameters",
    multiple=True,
    metavar="KEYS",
    help="tune these parameters, for example traits.search.weights.*; repeatable",
)
@click.option(
    "--exclude", "exclude", multiple=True, metavar="KEYS", help="do not tune these; repeatable  [default: *.nodes, *.seed]"
)
@click.option(
    "--range", "ranges", multiple=True, metavar="KEY=LOW:HIGH", help="lowest and largest value of a parameter; repeatable"
)
@click.option(
    "--rival", "pool", multiple=True, metavar="BOT", help="a rival; repeatable  [default: six bots of config/bots/sparring]"
)
@click.option("--no-rivals", is_flag=True, help="play without rivals")
@map_option
@click.option("--resume", metavar="FILE", type=PATH, help="continue the study in this file")
@config_option
@settings_options(TuneSettings, spelled=SPELLED, hidden=LISTS, defaults=DEFAULTS)
def play(
    bot: str | None,
    parameters: tuple[str, ...],
    exclude: tuple[str, ...],
    ranges: tuple[str, ...],
    pool: tuple[str, ...],
    no_rivals: bool,
    maps: tuple[str, ...],
    resume: Path | None,
    config: str | None,
    **options: Any,
) -> None:
    """Tune the parameters of BOT, and write the tuned bot.

    First a screening finds the parameters that matter. Then SPSA (or CMA-ES) tunes these parameters. A block has two games of two
    variants of the bot. In the second game the variants exchange their seats. In most blocks two rivals have the other seats.
    Each finished block is saved at once. Ctrl-C ends the study after the current games, and --resume continues it.

    \b
    Examples:
      vindibot tune play mybot --parameters "traits.*.weight" --games 2000
      vindibot tune play strong --parameters "traits.rollout.weights.*" --nodes 20000
      vindibot tune play --resume mybot.study.jsonl
    """
    from vindibot.base.output.console import terminal
    from vindibot.tuning.extra import require_extra
    from vindibot.tuning.study import begin, resume as resume_study

    require_extra()
    given = overrides(options)
    given |= {"parameters": list(parameters) or None, "exclude": list(exclude) or None, "ranges": _read_ranges(ranges)}
    given |= {"pool": [] if no_rivals else list(pool) or None, "maps": list(maps) or None}
    settings = load_settings(TuneSettings, config, given, SPELLED).settings
    machines.check_machines(settings.cluster)
    if resume is not None:
        if bot is not None:
            raise UsageError("--resume names the study: leave out the bot")
        study = resume_study(resume, settings)
    else:
        if bot is None:
            raise UsageError("name the bot to tune, or a study with --resume")
        study = begin(settings, bot, settings.study or Path(f"{Path(bot).stem}.study.jsonl"))
    sys.exit(_play(study, terminal()))


def _play(study: TuneStudy, console: Console) -> int:
    """Play a study, print its results, write the report and the tuned bot, and return the exit code."""
    from vindibot.arena.dispatch import Elsewhere, Stop
    from vindibot.arena.tournament import stopping
    from vindibot.arena.worker import LocalGames, preparing
    from vindibot.base import log
    from vindibot.base.output.console import plain_table, say
    from vindibot.base.output.text import counted
    from vindibot.config.bots import name_to_load
    from vindibot.config.files import short
    from vindibot.config.settings import cores
    from vindibot.engine.warmup import warm
    from vindibot.tuning.bot_files import tuned_text, write_tuned
    from vindibot.tuning.report import EFFECT_HEADS, RESULT_HEADS, effect_rows, result_rows, study_parts, write_page

    settings, path = study.settings, study.file.path
    words = f"go on with: {shlex.join(['vindibot', 'tune', 'play', '--resume', short(path)])}"
    slots, stop = settings.workers or cores(), Stop()
    with log.configured(settings.log.level, settings.log.file, console):
        with (
            interrupts.saying(f"interrupted: {words}"),
            contextlib.nullcontext() if settings.cluster.address else preparing(study.entrants),
        ):
            warm(console)
        tuned = counted(len(study.space), "parameter")
        say(console, f"tuning {tuned} of {study.space.bot.name} in {settings.games} games (seed {study.seed})")
        error = ""
        with (
            interrupts.saying(f"interrupted: the finished blocks are saved; {words}"),
            machines.machines(settings.cluster, study.entrants, slots, partial(say, console)) as elsewhere,
            stopping(stop),
        ):
            local = Elsewhere(partial(LocalGames, study.entrants, slots), lambda: slots, lambda: ())
            where = elsewhere or local
            try:
                study.play(
                    where.factory,
                    where.slots,
                    stop=stop,
                    note=lambda text: say(console, text, "yellow"),
                    progress=_Progress(console, where),
                )
            except VindibotError as problem:
                if elsewhere is None:
                    raise
                error = problem.message  # the scheduler is gone
    result = study.result
    if error:
        say(console, f"stopped: {error}; {len(study.file.blocks)} of {study.blocks} blocks are saved; {words}", "bold red")
        return 1
    if result is None:
        say(console, f"interrupted: {len(study.file.blocks)} of {study.blocks} blocks are saved; {words}", "yellow")
        return interrupts.INTERRUPTED
    if result.effects:
        table = plain_table(*EFFECT_HEADS[:1], *EFFECT_HEADS[3:], left=("parameter", ""))
        for row in effect_rows(result.effects, study.space, result.chosen)[:12]:
            table.add_row(row[0], *row[3:])
        console.print(table)
    if settings.report:
        report = write_page(path.with_suffix(".html"), f"Tuning {study.space.bot.name}", study_parts(study))
        say(console, f"report: {short(report)}", "dim")
    say(console, f"study: {short(path)}", "dim")
    if not result.chosen:
        say(console, "no parameter matters: nothing was tuned, and no bot is written", "yellow")
        return 0
    table = plain_table(*RESULT_HEADS, left=("parameter",))
    for row in result_rows(study.space, result):
        table.add_row(*row)
    console.print(table)
    out = settings.out or path.with_name(f"{study.space.bot.name}-tuned.toml")
    values = {key: value for key, value in study.space.written(result.point).items() if key in result.chosen}
    comments = [
        f"{2 * len(study.file.blocks)} games, seed {study.seed}: {settings.method}, objective {settings.objective}.",
        "These games do not show that this bot is stronger: test it with vindibot tune promote.",
    ]
    write_tuned(out, tuned_text(study.space.bot, values, out, comments))
    parent = name_to_load(study.space.bot) or short(study.space.bot.path)
    say(console, f"bot: {short(out)}; test it with: {shlex.join(['vindibot', 'tune', 'promote', short(out), parent])}")
    return 0


class _Progress:
    """Prints lines about a running study, at least `EVERY` seconds apart, and a line per machine of a cluster."""

    def __init__(self, console: Console, elsewhere: Elsewhere) -> None:
        self._console, self._machines, self._last = console, elsewhere.machines, time.monotonic()

    def __call__(self, iterate: Any, study: TuneStudy) -> None:
        from vindibot.base.output.console import say

        now = time.monotonic()
        if now - self._last < EVERY:
            return
        self._last = now
        moved = [(key, value) for key, value in iterate.point.items()][:4] if iterate.phase != "screening" else []
        values = "".join(f", {key.rpartition('.')[2]} {value:.4g}" for key, value in moved)
        say(self._console, f"{iterate.phase}: {len(study.file.blocks)} of {study.blocks} blocks{values}")
        for machine in self._machines():
            say(self._console, f"  {machine}", "dim")


@tune_command.command("promote", cls=RecordedCommand, short_help="Test a tuned bot, and store it as a version of its family.")
@click.argument("candidate", shell_complete=complete_bots)
@click.argument("parent", shell_complete=complete_bots)
@click.option(
    "--rival", "rivals", multiple=True, metavar="BOT", help="a rival; repeatable  [default: six bots of config/bots/sparring]"
)
@map_option
@click.option("--results", type=PATH, metavar="FOLDER", help="the folder of the results  [default: results/promote-CANDIDATE]")
@config_option
@settings_options(PromoteSettings, spelled=SPELLED, hidden=LISTS, defaults={**DEFAULTS, "nodes": 20_000})
def promote(
    candidate: str,
    parent: str,
    rivals: tuple[str, ...],
    maps: tuple[str, ...],
    results: Path | None,
    config: str | None,
    **options: Any,
) -> None:
    """Test whether CANDIDATE is stronger than PARENT, and store it as the next version.

    By default, the games have maps and rivals that tuning does not use. The sequential test against PARENT must decide for the
    candidate. The candidate must not be weaker than a rival: the interval of the difference to each rival must not lie below 0.
    Then the candidate is stored in the folder of versions. After Ctrl-C, the same command plays the missing games.

    Each further attempt of the family plays new games, and needs more evidence: see docs/tune.md.

    Exit codes: 0 promoted, 1 not promoted, 2 the configuration is invalid, 130 interrupted.
    """
    from vindibot.arena.report.live import ConsoleReporter
    from vindibot.arena.tournament import stopping
    from vindibot.base import log
    from vindibot.base.output.console import say, terminal
    from vindibot.config.bots import load_bot
    from vindibot.config.files import short
    from vindibot.engine.warmup import warm
    from vindibot.tuning.extra import require_extra
    from vindibot.tuning.promotion import Promotion

    require_extra()
    given = overrides(options) | {"rivals": list(rivals) or None, "maps": list(maps) or None}
    settings = load_settings(PromoteSettings, config, given, SPELLED).settings
    machines.check_machines(settings.cluster)
    console = terminal()

    def finish(tournament: Tournament) -> bool:
        watch = ConsoleReporter(console)
        with (
            machines.machines_for(tournament, settings.cluster, watch.note) as elsewhere,
            stopping(tournament.stop),
        ):
            tournament.play(watch, elsewhere)
        return tournament.complete

    new, old = load_bot(candidate), load_bot(parent)
    folder = results or Path("results") / f"promote-{new.name}"
    promotion = Promotion(new, old, settings, folder, finish)
    opponents = promotion.rivals
    interrupted = "interrupted: the finished games are saved; the same command goes on"
    with log.configured(settings.log.level, settings.log.file, console), interrupts.saying(interrupted):
        warm(console)
        say(console, promotion.begin())
        steps: list[Callable[[], MatchOutcome | None]] = [promotion.against_parent]
        steps += [partial(promotion.against, rival) for rival in opponents]
        for step in steps:
            outcome = step()
            if outcome is None:
                say(console, interrupted, "yellow")
                sys.exit(interrupts.INTERRUPTED)
            say(console, f"{'passed' if outcome.passed else 'refused'}: {outcome.text}", "" if outcome.passed else "bold red")
            if not outcome.passed:
                promotion.end("refused")
                say(console, f"{new.name} is not promoted after {promotion.games} games; results: {short(folder)}")
                sys.exit(1)
        rating = promotion.rating()
        if rating is None:
            say(console, interrupted, "yellow")
            sys.exit(interrupts.INTERRUPTED)
    words = shlex.join(["vindibot", "tune", "promote", *click.get_current_context().meta[WORDS]])
    path = promotion.store(rating, words)
    promotion.end("promoted")
    everything = shlex.join(["vindibot", "arena", "--config", short(path.with_name("tournament.toml"))])
    say(console, f"promoted: {short(path)}; all versions: {everything}")
