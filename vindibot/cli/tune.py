"""``vindibot tune``: parameters learned from games, and tests whether a tuned bot is stronger."""

from __future__ import annotations

import shlex
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from vindibot.base import UsageError, interrupts
from vindibot.cli.completion import complete_bots, complete_maps
from vindibot.cli.options import load_settings, overrides, settings_options
from vindibot.cli.parameters import PATH, config_option
from vindibot.tuning import DatasetSettings, PromoteSettings, TuneSettings

if TYPE_CHECKING:
    from rich.console import Console

    from vindibot.tuning import TuneStudy

#: Seconds between two lines of progress.
EVERY = 15.0
#: Settings that are lists or tables; the commands declare options for them.
LISTS = {"parameters", "exclude", "ranges", "pool", "maps", "rivals", "bots"}

map_option = click.option(
    "--map", "maps", multiple=True, metavar="MAP", help="play on this map, a name or a file; repeatable", shell_complete=complete_maps
)


@click.group(name="tune", short_help="Learn the parameters of a bot from games, and test the result.")
def tune_command() -> None:
    """Learn the parameters of a bot from games, and test the result (docs/tune.md).

    \b
      vindibot tune play mybot --parameters "traits.rollout.*"   writes mybot-tuned.toml
      vindibot tune promote mybot-tuned.toml mybot               tests it, and stores it as a version
      vindibot tune games --out data.npz                         plays games, and stores positions
      vindibot tune fit data.npz strong --trait search           fits the evaluation to the ends of these games

    These commands need the extra: python -m pip install 'vindibot[tune]'
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


@tune_command.command("play", short_help="Tune parameters by games against rivals and against itself.")
@click.argument("bot", required=False, shell_complete=complete_bots)
@click.option("--parameters", "parameters", multiple=True, metavar="KEYS", help="tune these, such as traits.search.weights.*; repeatable")
@click.option("--exclude", "exclude", multiple=True, metavar="KEYS", help="do not tune these; repeatable  [default: *.nodes]")
@click.option("--range", "ranges", multiple=True, metavar="KEY=LOW:HIGH", help="the range of a parameter; repeatable")
@click.option("--rival", "pool", multiple=True, metavar="BOT", help="a rival; repeatable  [default: six bots of config/bots/sparring]")
@click.option("--no-rivals", is_flag=True, help="self-play only")
@map_option
@click.option("--resume", metavar="FILE", type=PATH, help="continue the study in this file")
@config_option
@settings_options(TuneSettings, spelled={}, hidden=LISTS)
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

    First a screening finds the parameters that matter. Then SPSA (or CMA-ES) tunes these parameters. In each block of two games
    two variants of the bot exchange their seats. Most blocks have two rivals. Every finished block is saved at once. Ctrl-C ends
    the study after the current games, and --resume continues it.

    \b
    Examples:
      vindibot tune play mybot --parameters "traits.*.weight" --games 2000
      vindibot tune play strong --parameters "traits.rollout.weights.*" --nodes 4000 --workers 2
      vindibot tune play --resume mybot.study.jsonl
    """
    from vindibot.base import terminal
    from vindibot.tuning import begin, require_extra, resume as resume_study

    require_extra()
    given = overrides(options)
    given |= {"parameters": list(parameters) or None, "exclude": list(exclude) or None, "ranges": _read_ranges(ranges)}
    given |= {"pool": [] if no_rivals else list(pool) or None, "maps": list(maps) or None}
    settings = load_settings(TuneSettings, config, given, {"pool": "--rival", "maps": "--map", "ranges": "--range"}).settings
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
    """Play a study, show and write its results, and return the exit code."""
    from vindibot.arena import Stop, local_workers, stopping
    from vindibot.base import log, plain_table, say
    from vindibot.config import cores, short
    from vindibot.engine import warm
    from vindibot.tuning import EFFECT_HEADS, RESULT_HEADS, effect_rows, result_rows, study_parts, tuned_text, write_page, write_tuned

    settings, path = study.settings, study.file.path
    words = f"go on with: vindibot tune play --resume {shlex.quote(short(path))}"
    slots, stop = settings.workers or cores(), Stop()
    with log.configured(settings.log.level, settings.log.file, console):
        with interrupts.saying(f"interrupted: {words}"):
            warm(console)
        say(console, f"tuning {len(study.space)} parameters of {study.space.bot.name} in {settings.games} games (seed {study.seed})")
        factory = local_workers(study.entrants, slots)
        note = _Progress(console)
        with interrupts.saying(f"interrupted: the finished blocks are saved; {words}"), stopping(stop, lambda text: say(console, text)):
            study.play(factory, slots, stop=stop, note=lambda text: say(console, text, "yellow"), progress=note)
    result = study.result
    if result is None:
        say(console, f"interrupted: {len(study.file.blocks)} of {study.blocks} blocks are saved; {words}", "yellow")
        return interrupts.INTERRUPTED
    if result.effects:
        table = plain_table(*EFFECT_HEADS, left=("parameter", ""))
        for row in effect_rows(result.effects, study.space, result.chosen)[:12]:
            table.add_row(*row)
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
        "These games do not show that it is stronger: vindibot tune promote tests that.",
    ]
    write_tuned(out, tuned_text(study.space.bot, values, out, comments))
    say(console, f"bot: {short(out)}; test it with: vindibot tune promote {shlex.quote(short(out))} {shlex.quote(study.space.bot.path)}")
    return 0


class _Progress:
    """Prints a line about a running study now and then."""

    def __init__(self, console: Console) -> None:
        self._console, self._last, self._first = console, time.monotonic(), len("")

    def __call__(self, iterate: Any, study: TuneStudy) -> None:
        from vindibot.base import say

        now = time.monotonic()
        if now - self._last < EVERY:
            return
        self._last = now
        moved = [(key, value) for key, value in iterate.point.items()][:4] if iterate.phase != "screening" else []
        values = "".join(f", {key.rpartition('.')[2]} {value:.4g}" for key, value in moved)
        say(self._console, f"{iterate.phase}: {len(study.file.blocks)} of {study.blocks} blocks{values}")
