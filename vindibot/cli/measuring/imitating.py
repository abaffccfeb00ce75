"""``vindibot learn imitate``: nets that move like the bots in recorded games."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from vindibot.base import interrupts
from vindibot.base.errors import UsageError
from vindibot.cli.completion import complete_bots
from vindibot.cli.measuring.parameters import PATH, holdout_option, near_option

if TYPE_CHECKING:
    from vindibot.learning.imitation import Fit


@click.command("imitate", short_help="Learn how bots move in recorded games.")
@click.argument("bot", shell_complete=complete_bots)
@click.argument("records", nargs=-1, type=PATH)
@click.option("--only", multiple=True, metavar="LABEL", help="learn only from the moves of this bot; repeatable")
@click.option("--trait", metavar="LABEL", help="the label of the trait that gets the models  [default: rollout]")
@holdout_option
@near_option
@click.option("--hidden", type=int, default=0, metavar="N", help="number of hidden units, a multiple of 16; needs --net")
@click.option("--out", type=PATH, metavar="FILE", help="the bot with the models  [default: BOT-learned.toml]")
@click.option("--net", type=PATH, metavar="FILE", help="write no models, but nets that play alone; leave out BOT")
def imitate(
    bot: str,
    records: tuple[Path, ...],
    only: tuple[str, ...],
    trait: str | None,
    holdout: float,
    near: float,
    hidden: int,
    out: Path | None,
    net: Path | None,
) -> None:
    """Learn how the bots in RECORDS move: one net for each bot.

    RECORDS are files of game records, for example cup.games.jsonl of vindibot arena. The command writes a bot that extends BOT,
    and has the nets as further opponent models. The nets are in a file beside this bot.

    With --net, leave out BOT. Then the command writes the nets to FILE, and a bot that plays the first net alone.

    The table says how often each net predicts the moves of its bot on maps that the fit did not use, and how often the best
    built-in model of the trait rollout does. After Ctrl-C, the nets that are ready are written.

    \b
    Examples:
      vindibot learn imitate strong results/cup.games.jsonl --only mybot --out stronger.toml
      vindibot learn imitate results/cup.games.jsonl --only mybot --net copy.npz --hidden 32
    """
    from vindibot.base.output.console import say, terminal
    from vindibot.base.writing import short
    from vindibot.config.bots import load_bot
    from vindibot.engine.warmup import warm
    from vindibot.learning.bots import ModelFiles, modelling_text, models_of, playing_text
    from vindibot.learning.decisions import decisions_of
    from vindibot.learning.imitation import check_hidden, fit_net, fit_table
    from vindibot.tuning.extra import require_extra

    require_extra()
    check_hidden(hidden)
    if net is None:
        if hidden:
            raise UsageError(f"--hidden {hidden}: opponent models have no hidden units; --net FILE writes nets that play alone")
        loaded, label = load_bot(bot), trait or "rollout"
        path = out or Path(f"{loaded.name}-learned.toml")
        files = ModelFiles(path.with_suffix(".npz"), path, "--out")
    else:
        if out is not None or trait is not None:
            raise UsageError("--net writes no opponent models: leave out --out and --trait")
        loaded, label, records = None, "", (Path(bot), *records)
        files = ModelFiles(net, net.with_suffix(".toml"), "--net")
    if not records:
        raise UsageError("name the files of game records after BOT, for example results/cup.games.jsonl")
    if missing := [record for record in records if not record.is_file()]:
        hint = "; with --net, leave out BOT" if net is not None and missing[0] == Path(bot) else ""
        raise UsageError(f"there is no file of game records {short(missing[0])}{hint}")
    known = models_of(loaded, label, files) if loaded is not None else []
    files.check()
    console = terminal()
    warm(console)
    fits: list[Fit] = []
    interrupted = False
    say(console, "reading the games", "dim")
    decisions = decisions_of(records, holdout, only)
    try:
        for name in sorted(decisions):
            fit = fit_net(name, decisions.pop(name), hidden, near, lambda text: say(console, text, "dim"))
            fits.append(fit)
    except KeyboardInterrupt:
        interrupted = True
    if fits:
        console.print(fit_table(fits))
        text = playing_text(fits, files) if loaded is None else modelling_text(loaded, label, known, fits, files)
        files.write(fits, text)
        say(console, f"nets: {short(files.nets)}", "dim")
        say(console, f"bot: {short(files.bot)}")
    if interrupted:
        say(console, "interrupted: the other bots have no net", "yellow")
        sys.exit(interrupts.INTERRUPTED)
