"""``vindibot learn value``: the value of positions, fitted to the results of recorded games."""

from __future__ import annotations

from pathlib import Path

import click

from vindibot.base.errors import UsageError
from vindibot.cli.measuring.parameters import PATH, holdout_option


@click.command("value", short_help="Learn the value of positions from recorded games.")
@click.argument("records", nargs=-1, required=True, type=PATH)
@click.option("--out", type=PATH, required=True, metavar="FILE", help="the file of the net, for example value.npz")
@click.option("--hidden", type=int, default=0, metavar="N", help="number of hidden units, a multiple of 16")
@click.option("--from", "start", type=PATH, metavar="FILE", help="the new net gets the policy of the net in this file")
@click.option(
    "--every",
    type=click.IntRange(1, 1000),
    default=10,
    metavar="N",
    help="number of rounds from one position of a game to the next",
)
@holdout_option
def value(records: tuple[Path, ...], out: Path, hidden: int, start: Path | None, every: int, holdout: float) -> None:
    """Learn the value of positions from the results of the games in RECORDS, and write a net with this value.

    RECORDS are files of game records, for example cup.games.jsonl of vindibot arena. The value predicts the lead of a hero at the
    end of the game (docs/learn.md). The lead is the hero's gold minus the mean gold of the others.

    The table says how well the value predicts the games on maps that the fit did not use. R2 is the share of the variance of the
    changes of the lead, per round left, that it explains. Rank is the rank correlation of the predicted and the true lead.

    \b
    Examples:
      vindibot learn value results/cup.games.jsonl --out value.npz
      vindibot learn value results/*.games.jsonl --out value.npz --hidden 32 --from mynet/net.npz
    """
    from vindibot.base.output.console import plain_table, say, terminal
    from vindibot.base.output.text import counted
    from vindibot.base.writing import short
    from vindibot.engine.warmup import warm
    from vindibot.learning.bots import NetFile
    from vindibot.learning.imitation import check_hidden
    from vindibot.learning.matches import read_nets
    from vindibot.learning.positions import positions_of
    from vindibot.learning.value import QUALITY_HEADS, VALUE_COMMAND, fit_value, quality_rows

    check_hidden(hidden)
    if missing := [record for record in records if not record.is_file()]:
        raise UsageError(f"there is no file of game records {short(missing[0])}")
    policy = read_nets(start)[0] if start is not None else None
    file = NetFile(out, VALUE_COMMAND, "--out")
    file.check()
    console = terminal()
    warm(console)
    say(console, "reading the games", "dim")
    positions = positions_of(records, every, holdout)
    fit = fit_value(positions, hidden, policy, lambda text: say(console, text, "dim"))
    table = plain_table(*QUALITY_HEADS)
    for row in quality_rows(fit):
        table.add_row(*row)
    console.print(table)
    say(console, f"{counted(fit.fitted, 'position')} for fitting, {fit.held} on other maps for validation")
    file.write([fit.net])
    say(console, f"net: {short(out)}")
