"""``vindibot learn expert``: a net that moves as an expert would in the positions of recorded games."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from vindibot.base import interrupts
from vindibot.base.errors import UsageError
from vindibot.cli.completion import complete_bots
from vindibot.cli.measuring.parameters import PATH, holdout_option, near_option


@click.command("expert", short_help="Learn the votes of a bot on recorded turns.")
@click.argument("expert", shell_complete=complete_bots)
@click.argument("records", nargs=-1, required=True, type=PATH)
@click.option("--out", required=True, type=PATH, metavar="FILE", help="the file of the net, for example better.npz")
@click.option("--only", multiple=True, metavar="LABEL", help="use only the turns of this bot; repeatable")
@click.option("--from", "start", type=PATH, metavar="FILE", help="begin with the net in this file")
@click.option(
    "--hidden", type=int, metavar="N", help="number of hidden units, a multiple of 16  [default: those of --from, else 64]"
)
@click.option(
    "--nodes",
    type=click.IntRange(1),
    default=20_000,
    metavar="N",
    help="search budget of the expert per turn, in nodes",
)
@click.option(
    "--temperature",
    type=click.FloatRange(0.001, 1000),
    default=0.1,
    metavar="VOTES",
    help="difference of two votes at which the better move is 2.7 times as probable",
)
@near_option
@holdout_option
def follow(
    expert: str,
    records: tuple[Path, ...],
    out: Path,
    only: tuple[str, ...],
    start: Path | None,
    hidden: int | None,
    nodes: int,
    temperature: float,
    near: float,
    holdout: float,
) -> None:
    """Learn a net from the votes of the bot EXPERT on the turns in RECORDS.

    RECORDS are files of game records, for example cup.games.jsonl of vindibot arena. The games should be of the net that is to
    become better (--only), so that it learns what to do in the positions that it gets into. EXPERT is a bot that plays better
    than this net, for example strong. It votes on at most 100,000 turns per bot of --only. This takes 10 to 30 minutes, with
    progress. The command writes the net, and beside it the votes and a bot that plays the net alone.

    With --from, the net changes its moves only where the expert's votes differ by more than the temperature (docs/learn.md). The
    table says how often the net makes the wanted move on maps that the fit did not use, and how often the best built-in model of
    the trait rollout does. After Ctrl-C, the same command goes on.

    \b
    Examples:
      vindibot arena pupil=mynet seed malvert strong --format gauntlet --blocks 100 --nodes 1000 --results pupil.jsonl
      vindibot learn expert strong pupil.games.jsonl --only pupil --from mynet/net.npz --out better.npz
      vindibot learn match mynet/net.npz better.npz
    """
    from vindibot.base.output.console import say, terminal
    from vindibot.base.writing import short
    from vindibot.config.bots import load_bot
    from vindibot.engine.warmup import warm
    from vindibot.learning.bots import ModelFiles, playing_text
    from vindibot.learning.decisions import MoveDecisions, decisions_of
    from vindibot.learning.experts import EXPERT_COMMAND, Expert, fit_expert
    from vindibot.learning.imitation import check_hidden, fit_table
    from vindibot.learning.matches import read_nets
    from vindibot.tuning.extra import require_extra

    require_extra()
    first = read_nets(start)[0] if start is not None else None
    if hidden is None:
        hidden = 64 if first is None else first.policy.hidden
    check_hidden(hidden)
    if first is not None and first.policy.hidden > hidden:
        raise UsageError(f"--hidden {hidden}: the net of --from has {first.policy.hidden} hidden units; it can have no fewer")
    if missing := [record for record in records if not record.is_file()]:
        raise UsageError(f"there is no file of game records {short(missing[0])}")
    console, loaded = terminal(), load_bot(expert)

    def note(text: str) -> None:
        say(console, text, "dim")

    files = ModelFiles(out, out.with_suffix(".toml"), "--out", EXPERT_COMMAND)
    files.check()
    warm(console)
    teacher = Expert(loaded, nodes, temperature, out.with_suffix(".votes.jsonl"), note)
    note("reading the games")
    try:
        decisions = MoveDecisions.joined(list(decisions_of(records, holdout, only, teacher.targets).values()))
        fit = fit_expert(teacher, decisions, hidden, near, first)
    except KeyboardInterrupt:
        say(console, "interrupted: the same command goes on", "yellow")
        sys.exit(interrupts.INTERRUPTED)
    console.print(fit_table([fit]))
    files.write([fit], playing_text([fit], files))
    for file in (teacher.file, files.nets):
        note(short(file))
    say(console, f"bot: {short(files.bot)}")
