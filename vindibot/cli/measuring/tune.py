"""``vindibot tune``: learn the parameters of a bot from games."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import click

from vindibot.base.errors import UsageError
from vindibot.cli.completion import complete_bots
from vindibot.cli.options import PATH, config_option, load_settings, map_option, overrides, settings_options
from vindibot.tuning.settings import TuneSettings

#: Settings for which the command declares options itself, and one that only configuration files set.
HIDDEN = {"parameters", "exclude", "ranges", "pool", "maps", "self_share"}
#: The names of options that do not follow from the keys of their settings.
SPELLED = {"maps": "--map", "pool": "--rival", "ranges": "--range"}


class RangeType(click.ParamType[tuple[str, tuple[float, float]]]):
    """The range of a parameter: ``KEY=LOW:HIGH``."""

    name = "KEY=LOW:HIGH"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> tuple[str, tuple[float, float]]:
        key, _, limits = str(value).partition("=")
        try:
            low, high = map(float, limits.split(":"))
        except ValueError:
            raise UsageError(f"--range {value!r}: write KEY=LOW:HIGH, for example traits.rollout.rounds=10:40") from None
        if not low < high:
            raise UsageError(f"--range {value!r}: the lowest value must be less than the largest one")
        return key.strip(), (low, high)


@click.group(name="tune", short_help="Learn the parameters of a bot from games.")
def tune_command() -> None:
    """Learn the parameters of a bot from games (docs/tune.md).

    \b
      vindibot tune play mybot --parameters "traits.search.weights.*"   writes mybot-tuned.toml
      vindibot arena --match mybot-tuned.toml mybot --sprt-stop         tests whether it is stronger

    The command needs the extra tune: python -m pip install 'vindibot[tune]'
    """


@tune_command.command("play", short_help="Tune the parameters of a bot by games.")
@click.argument("bot", required=False, shell_complete=complete_bots)
@click.option("--parameters", multiple=True, metavar="KEYS", help="tune these, for example traits.search.weights.*; repeatable")
@click.option("--exclude", multiple=True, metavar="KEYS", help="do not tune these; repeatable  [default: *.nodes, *.seed]")
@click.option("--range", "ranges", multiple=True, type=RangeType(), help="lowest and largest value of a parameter; repeatable")
@click.option("--rival", "pool", multiple=True, metavar="BOT", help="a rival; repeatable  [default: six of config/bots/sparring]")
@click.option("--no-rivals", is_flag=True, help="play without rivals")
@map_option
@click.option("--resume", metavar="FILE", type=PATH, help="continue the study in this file")
@config_option
@settings_options(TuneSettings, spelled=SPELLED, hidden=HIDDEN)
def play(
    bot: str | None,
    ranges: tuple[tuple[str, tuple[float, float]], ...],
    pool: tuple[str, ...],
    no_rivals: bool,
    resume: Path | None,
    config: str | None,
    **options: Any,
) -> None:
    """Tune the parameters of BOT, and write the tuned bot.

    CMA-ES proposes variants of the bot, and games decide which of them are better. A block has two games of a variant and the bot
    itself, which exchange their seats in the second game. In most blocks two rivals have the other seats. The tuned bot is the
    mean of the best variants of the last generations. Each finished block is saved at once. Ctrl-C ends the study after the
    current games, and --resume continues it; with more --games, it plays further generations.

    \b
    Examples:
      vindibot tune play mybot --parameters "traits.*.weight" --games 2000
      vindibot tune play strong --parameters "traits.rollout.weights.*" --nodes 20000
      vindibot tune play --resume mybot.study.jsonl
    """
    from vindibot.base.console import terminal
    from vindibot.base.startup import require_extra
    from vindibot.tuning.run import tune

    require_extra()
    lists = {"ranges": dict(ranges) or None, "pool": [] if no_rivals else list(pool) or None}
    settings = load_settings(TuneSettings, config, overrides(options) | lists, SPELLED)
    if settings.settings.dask:
        from vindibot.arena.dask import check_configuration

        check_configuration()
    sys.exit(tune(settings, bot, resume, terminal()))
