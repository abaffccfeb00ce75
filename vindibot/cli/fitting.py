"""``vindibot tune fit``: fits the evaluation to recorded games."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from vindibot.base import UsageError
from vindibot.cli.completion import complete_bots
from vindibot.cli.parameters import PATH


@click.command("fit", short_help="Fit the weights of the evaluation to how games ended.")
@click.argument("data", type=PATH)
@click.argument("bot", required=False, default="strong", shell_complete=complete_bots)
@click.option("--trait", default="search", show_default=True, metavar="LABEL", help="the label of the trait that has the weights")
@click.option(
    "--target",
    type=click.Choice(["lead", "first"]),
    default="lead",
    show_default=True,
    help="write the weights of the fit to this target",
)
@click.option(
    "--without", multiple=True, metavar="LABEL", help="validate only with games of this bot, and fit without them; repeatable"
)
@click.option("--one-hot", is_flag=True, help="write the one-hot tables instead of the weights")
@click.option("--out", type=PATH, metavar="FILE", help="the fitted bot  [default: BOT-fitted.toml beside DATA]")
def fit(data: Path, bot: str, trait: str, target: str, without: tuple[str, ...], one_hot: bool, out: Path | None) -> None:
    """Fit the weights of the evaluation of BOT to the positions in DATA, and write a bot with the fitted weights.

    With --one-hot, the bot gets one-hot tables instead. They replace the formula for the value of mines and life, and in the
    trait search also the value of near mines and taverns.

    The report says how well the weights predict how games end. It does not say whether a bot with these weights plays better:
    test the bot with vindibot tune promote.
    """
    from behaviours.common.evaluation import Weights
    from behaviours.common.one_hot import BINS, NET_WORTH_FEATURES
    from vindibot.base import plain_table, say, terminal
    from vindibot.config import load_bot, short
    from vindibot.tuning import (
        COEFFICIENT_HEADS,
        FITTED,
        QUALITY_HEADS,
        Dataset,
        coefficient_rows,
        declared_range,
        fit as fit_weights,
        fit_parts,
        quality_rows,
        require_extra,
        summary_lines,
        tuned_text,
        write_page,
        write_tuned,
    )

    require_extra()
    loaded = load_bot(bot)
    behaviours = {spec.label: behaviour for spec, behaviour in loaded.build()}
    weights = getattr(behaviours.get(trait), "weights", None)
    if weights is None:
        raise UsageError(f"--trait {trait}: {loaded.name} has no trait {trait!r} with weights of an evaluation")
    if weights.one_hot and not one_hot:
        raise UsageError(f"{loaded.name} has one-hot tables instead of some weights: fit them with --one-hot")
    dataset = Dataset.load(data)
    features = [name for name in BINS if isinstance(weights, Weights) or name in NET_WORTH_FEATURES]
    result = fit_weights(dataset, Weights(**weights.model_dump()), without, features)
    console = terminal()
    shown = [[*row[:5], row[7]] for row in coefficient_rows(result)]
    for heads, rows, left in (
        ([*COEFFICIENT_HEADS[:5], ""], shown, ("weight", "")),
        (QUALITY_HEADS, quality_rows(result), ()),
    ):
        table = plain_table(*heads, left=left)
        for row in rows:
            table.add_row(*row)
        console.print(table)
    for line in summary_lines(result):
        say(console, line)
    report = write_page(data.with_suffix(".fit.html"), f"Fit to {data.name}", fit_parts(result, dataset))
    say(console, f"report: {short(report)}", "dim")
    fields = type(weights).model_fields
    found = {name: value for name, value in result.weights(target).items() if name in FITTED and name in fields}
    ends = {name: declared_range(fields[name]) for name in found}
    inside: dict[str, Any] = {
        f"traits.{trait}.weights.{name}": min(max(value, ends[name][0] or 0.0), ends[name][1] or value)
        for name, value in found.items()
    }
    if one_hot:
        inside = {f"traits.{trait}.weights.one_hot": result.one_hot.rounded_tables()}
    path = out or data.with_name(f"{loaded.name}-fitted.toml")
    what = "One-hot tables" if one_hot else "Weights"
    comments = [f"{what} fitted to {data.name}, target {'lead' if one_hot else target}. No game shows yet that they are better."]
    write_tuned(path, tuned_text(loaded, inside, path, comments, "fitted"))
    say(console, f"bot: {short(path)}")
