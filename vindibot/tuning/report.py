"""The result and the report of a study."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from vindibot.arena.report.sections import ReportPart
from vindibot.base.pages import Curve, lines
from vindibot.base.text import counted

if TYPE_CHECKING:
    from vindibot.tuning.study import TuneStudy

#: Largest number of curves in a drawing.
CURVES = 8
#: The heads of the columns of the table of results.
RESULT_HEADS = ("parameter", "start", "result", "deviation")


def result_rows(study: TuneStudy) -> list[list[str]]:
    """Return the rows of the table of results, one per tuned parameter. `RESULT_HEADS` are the heads of its columns."""
    positions, deviations = study.result()
    rows = []
    for parameter, position, deviation in zip(study.space.parameters, positions.tolist(), deviations.tolist(), strict=True):
        wide = abs(parameter.at(min(position + deviation, 1)) - parameter.at(max(position - deviation, -1))) / 2
        key = parameter.key.removeprefix("traits.")
        row = [key, f"{parameter.start:g}", f"{parameter.value(position):g}", "" if math.isnan(deviation) else f"{wide:.2g}"]
        rows.append(row)
    return rows


def study_parts(study: TuneStudy) -> list[ReportPart]:
    """Return the sections of the report of a study."""
    settings, (positions, values) = study.settings, study.means()
    rivals = ", ".join(entrant.label for entrant in study.pool) or "none (self-play)"
    size = f"{counted(study.generations, 'generation')} of {study.population} variants"
    summary = [
        f"{settings.games} games: {size} with {counted(settings.batch, 'block')} each; seed {study.seed}.",
        f"Objective: {settings.objective}; {settings.nodes} nodes per move; {settings.rounds} rounds. Rivals: {rivals}.",
        "These games do not show whether the tuned bot is stronger: test it with vindibot arena --match --sprt-stop.",
    ]
    text = "The deviation is the standard deviation of the means of the generations whose mean is the result."
    history = [lines([Curve("best variants", 0, values.tolist())], "Difference to the bot", "generation", settings.objective)]
    for first in range(0, len(study.space), CURVES):
        curves = [
            Curve(key.rpartition(".")[2], number, positions[:, first + number].tolist())
            for number, key in enumerate(study.space.keys[first : first + CURVES])
        ]
        history.append(lines(curves, "Values", "generation", "position from the start to the end of the range"))
    return [
        ReportPart(f"Tuning {study.space.bot.name}", summary),
        ReportPart("Result", [text], RESULT_HEADS, result_rows(study)),
        ReportPart("History", ["Each point is the mean of the best half of the variants of a generation."], drawings=history),
    ]
