"""``vindibot learn``: nets that learn to play, from games against themselves and from recorded games."""

from __future__ import annotations

import shlex
import sys
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING

import click

from vindibot.base import interrupts
from vindibot.base.errors import UsageError
from vindibot.base.system.priority import lower_priority
from vindibot.cli.completion import complete_bots
from vindibot.cli.measuring.following import follow
from vindibot.cli.measuring.imitating import imitate
from vindibot.cli.measuring.netmatches import match
from vindibot.cli.measuring.parameters import PATH
from vindibot.cli.measuring.valuing import value

if TYPE_CHECKING:
    from rich.console import Console

    from vindibot.config.bots import Bot
    from vindibot.learning.selfplay import Row, Selfplay


@click.group(name="learn", short_help="Learn a net that plays.")
def learn_command() -> None:
    """Learn a net that plays (docs/learn.md).

    \b
      vindibot learn selfplay mynet --minutes 30      learns by games against itself, and writes mynet/bot.toml
      vindibot play --bot mynet                       plays a game with it
      vindibot learn selfplay mynet --resume          goes on after Ctrl-C
      vindibot learn match mynet/net.npz              plays a match alone against three copies of the bot seed
      vindibot learn imitate strong games.jsonl       learns how the bots in these games move
      vindibot learn expert strong games.jsonl        learns what strong would do in these games
      vindibot learn value games.jsonl --out v.npz    learns the value of positions from these games
    """


learn_command.add_command(match)
learn_command.add_command(imitate)
learn_command.add_command(follow)
learn_command.add_command(value)


@learn_command.command("selfplay", short_help="Learn by games of a net against itself.")
@click.argument("out", type=PATH)
@click.option("--minutes", type=click.FloatRange(0, min_open=True), metavar="N", help="train for N minutes in all  [default: 30]")
@click.option(
    "--decisions",
    type=click.IntRange(1),
    metavar="N",
    help="train until the net has made N moves in all; with --minutes, the first of both ends the run",
)
@click.option("--hidden", type=int, metavar="N", help="number of hidden units of each network, a multiple of 16  [default: 64]")
@click.option(
    "--threads", type=int, metavar="N", help="number of threads; another number gives another net  [default: all cores]"
)
@click.option("--seed", type=int, metavar="N", help="seed of the maps, games and first weights  [default: 1]")
@click.option("--rivals", multiple=True, type=PATH, metavar="FILE", help="a file of nets that are guests, too; repeatable")
@click.option("--from", "start", type=PATH, metavar="FILE", help="begin with the net in this file")
@click.option(
    "--set", "changes", multiple=True, metavar="NAME=VALUE", help="another setting, for example discount=0.995; repeatable"
)
@click.option(
    "--against",
    default="seed",
    metavar="BOT",
    shell_complete=complete_bots,
    help="the bot of the short matches",
)
@click.option("--resume", is_flag=True, help="continue the run in the folder OUT")
@click.option("--idle", is_flag=True, help="run at the lowest priority, with all that runs in the same terminal")
def selfplay(
    out: Path,
    minutes: float | None,
    decisions: int | None,
    hidden: int | None,
    threads: int | None,
    seed: int | None,
    rivals: tuple[Path, ...],
    start: Path | None,
    changes: tuple[str, ...],
    against: str,
    resume: bool,
    idle: bool,
) -> None:
    """Learn a net by games against itself, in the new folder OUT.

    The net plays games against itself, against former versions of itself, and against guests. Guests are the policies by which
    the trait rollout expects rivals to play, and the nets of --rivals. The net learns by PPO (reinforcement learning).

    Every ten seconds there is a row of numbers: the net's moves so far and per second, its mean reward, the entropy of its moves
    (0: it always makes the same move), the error of its values, and its deaths per 300 moves. Every three minutes the net plays
    short matches alone against three copies of a bot, and against three copies of its last snapshot.

    Ctrl-C saves the run, and --resume continues it. Then --minutes and --decisions are new totals, which count what the run has
    done before. After a crash, less than a minute is lost. With --decisions, equal settings
    and an equal number of threads give an equal net. With --minutes, the length of the run depends on the machine.

    \b
    Examples:
      vindibot learn selfplay mynet --minutes 20
      vindibot learn selfplay mynet --resume
      vindibot arena mynet seed --blocks 20
    """
    given = {"hidden": hidden, "threads": threads, "seed": seed}
    options = {name: value for name, value in given.items() if value is not None}
    if resume and (options or rivals or start or changes):
        raise UsageError("--resume continues a run with its own settings: only --minutes or --decisions may be changed")
    if idle:
        lower_priority()
    from vindibot.base.output.console import say, terminal
    from vindibot.config.bots import load_bot
    from vindibot.engine.warmup import warm
    from vindibot.learning.matches import read_nets
    from vindibot.learning.selfplay import Limit, Selfplay, selfplay_settings

    rival, console, limit = load_bot(against), terminal(), Limit(decisions, minutes)
    with ExitStack() as stack:
        with interrupts.saying("interrupted before the training began"):
            if resume:
                Selfplay.check(out)
                stack.enter_context(Selfplay.locked(out))
                warm(console)
                run = Selfplay.resume(out, limit)
                if run.nothing_left:
                    say(console, run.nothing_left)
                    return
            else:
                settings = selfplay_settings(options, changes)
                models = [net.policy for path in rivals for net in read_nets(path)]
                first = read_nets(start)[0] if start is not None else None
                Selfplay.check_new(out)
                stack.enter_context(Selfplay.locked(out))
                warm(console)
                if limit == Limit():
                    limit = Limit(minutes=30.0)
                run = Selfplay.create(out, settings, limit, models, first)
        sys.exit(_train(run, rival, console))


def _train(run: Selfplay, rival: Bot, console: Console) -> int:
    from vindibot.arena.dispatch import Stop
    from vindibot.arena.tournament import stopping
    from vindibot.base.output.console import say
    from vindibot.base.output.text import counted
    from vindibot.learning.report import HEADS, cells, matches_text, write_report

    stop, settings = Stop(), run.trainer.settings
    words = f"go on with: {shlex.join(['vindibot', 'learn', 'selfplay', str(run.folder), '--resume'])}"
    say(
        console,
        f"learning in {run.folder}: {counted(settings.threads, 'thread')}, {settings.hidden} hidden units, seed {settings.seed}",
    )
    say(console, "  ".join(head.rjust(width) for head, width in HEADS), "dim")

    def show(row: Row) -> None:
        say(console, "  ".join(cell.rjust(width) for cell, (_, width) in zip(cells(row, run.done), HEADS, strict=True)))
        for line in matches_text(row):
            say(console, f"    {line}", "bold")
        write_report(run)

    with stopping(stop):
        finished = run.train(lambda: stop.soon, show, rival)
    write_report(run)
    for name in ("net.npz", "bot.toml", "report.html"):
        say(console, f"{name.partition('.')[0]}: {run.folder / name}", "dim")
    if not finished:
        say(console, f"interrupted; {words}", "yellow")
        return interrupts.INTERRUPTED
    return 0
