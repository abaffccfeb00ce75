"""Reports of tuning: one HTML file without scripts, with tables and drawings in SVG."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from vindibot.arena.report.charts import Curve, Range, lines, ranges
from vindibot.base.output.pages import render
from vindibot.base.output.text import counted
from vindibot.base.writing import Output
from vindibot.tuning.methods.screening import Effect
from vindibot.tuning.methods.search import SearchResult
from vindibot.tuning.space import ParameterSpace
from vindibot.tuning.study import TuneStudy

#: The text in a page by which tuning recognises its own reports.
MARK = '<meta name="generator" content="vindibot tune">'
#: Largest number of points of a curve, and of curves in a drawing.
POINTS, CURVES = 200, 8
#: Number of trials in the moving average of the level.
SMOOTHED = 25


@dataclass(frozen=True)
class ReportPart:
    """A section of a report: paragraphs, a table with `heads` and `rows`, and drawings (SVG)."""

    title: str
    lines: Sequence[str] = ()
    heads: Sequence[str] = ()
    rows: Sequence[Sequence[str]] = ()
    drawings: Sequence[str] = ()


def page(title: str, parts: Sequence[ReportPart]) -> str:
    """Return a report as an HTML page."""
    return render("tuning/report.html", title=title, mark=MARK, parts=parts)


def write_page(path: Path, title: str, parts: Sequence[ReportPart]) -> Path:
    """Write a report, and return its path. Raises `UsageError` if `path` is a file that is no report of tuning."""
    Output(path, MARK, "vindibot tune", "move it away").write(page(title, parts))
    return path


def short_key(key: str) -> str:
    """Return the last part of a key, for drawings and narrow tables."""
    return key.rpartition(".")[2]


def plain_key(key: str) -> str:
    """Return a key for tables, without ``traits.``."""
    return key.removeprefix("traits.")


def effect_rows(effects: Sequence[Effect], space: ParameterSpace, chosen: Sequence[str]) -> list[list[str]]:
    """Return the rows of the table of effects, smallest p-value first. `EFFECT_HEADS` are the heads of its columns."""
    starts = {one.key: one for one in space.parameters}
    ranked = sorted(effects, key=lambda one: one.p_value)
    return [
        [
            plain_key(one.key),
            f"{starts[one.key].start:g}",
            step_text(starts[one.key].step, ratio=starts[one.key].ratio),
            f"{one.value:+.3f}",
            f"{one.low:+.3f} .. {one.high:+.3f}",
            "tuned" if one.key in chosen else "",
        ]
        for one in ranked
    ]


EFFECT_HEADS = ("parameter", "start", "step", "effect", "95 %", "")
RESULT_HEADS = ("parameter", "start", "result", "error")


def step_text(step: float, *, ratio: bool) -> str:
    """Return the size of a step as text: ``+ 2``, or ``x 1.49`` for a ratio."""
    return f"x {np.exp(step):.3g}" if ratio else f"+ {step:.3g}"


def result_rows(space: ParameterSpace, result: SearchResult) -> list[list[str]]:
    """Return the rows of the table of results, one per tuned parameter. `RESULT_HEADS` are the heads of its columns."""
    written = space.written(result.point)
    errors = dict(zip(space.keys, result.errors, strict=True))
    starts = dict(zip(space.keys, space.start.tolist(), strict=True))
    return [
        [plain_key(key), f"{starts[key]:g}", f"{written[key]:g}", "" if np.isnan(errors[key]) else f"{errors[key]:.2g}"]
        for key in result.chosen
    ]


def study_parts(study: TuneStudy) -> list[ReportPart]:
    """Return the sections of the report of a finished study."""
    result, settings = study.result, study.settings
    assert result is not None
    blocks, iterates = len(study.file.blocks), len(study.levels)
    failed = sum(one.failed for one in study.file.blocks.values())
    head = [
        f"{counted(2 * blocks, 'game')} in {counted(blocks, 'block')}, {counted(iterates, 'iterate')}; seed {study.seed}.",
        f"Method: {settings.method}; objective: {settings.objective}; {settings.nodes} nodes per move.",
        f"Rivals: {', '.join(one.label for one in study.pool) or 'none (self-play)'}.",
        "These games do not show whether the tuned bot is stronger: test it with vindibot tune promote.",
    ]
    if failed:
        head.append(f"{counted(failed, 'block')} could not be played, and counted for no bot.")
    parts = [ReportPart(f"Tuning {study.space.bot.name}", head)]
    if result.effects:
        rows = [
            Range(short_key(one.key), 0 if one.key in result.chosen else 8, one.value, (one.low, one.high), note=one.key)
            for one in sorted(result.effects, key=lambda one: one.p_value)
        ]
        parts.append(
            ReportPart(
                "Screening",
                [
                    "Effect: part of the difference of a block if a parameter is one step up in plus and one down in minus.",
                ],
                EFFECT_HEADS,
                effect_rows(result.effects, study.space, result.chosen),
                [ranges(rows, "Effects with 95 % intervals", f"effect on {settings.objective}", zero=True)],
            )
        )
    if not result.chosen:
        parts.append(ReportPart("Result", ["No parameter matters: nothing was tuned."]))
        return parts
    parts.append(
        ReportPart(
            "Result",
            ["The error is the standard error of the result if the parameter does not matter."],
            RESULT_HEADS,
            result_rows(study.space, result),
        )
    )
    parts.append(ReportPart("History", [_level_words(study)], drawings=_history(study, result)))
    slices = _slices(study, result)
    if slices:
        parts.append(
            ReportPart("Slices", ["The mean level of the trials, by the value of a parameter from low to high."], drawings=slices)
        )
    if study.importance:
        rows_of = [[plain_key(key), f"{share:.2f}"] for key, share in study.importance.items() if key in result.chosen]
        words = (
            "Optuna's PED-ANOVA over the trials. A search visits good values more often, so this says less than the screening."
        )
        parts.append(ReportPart("Importance", [words], ("parameter", "importance"), rows_of))
    return parts


def _level_words(study: TuneStudy) -> str:
    against = "in the blocks with rivals" if study.pool else "in self-play, where it cannot rise"
    return f"One trial is one iterate. Its level is the mean score of plus and minus {against}."


def _history(study: TuneStudy, result: SearchResult) -> list[str]:
    known = np.array(study.levels[1 if result.effects else 0 :])
    levels = _smoothed(known[~np.isnan(known)])
    drawings = [lines([Curve("level", 0, _thinned(levels))], "Level", "time", "level")]
    steps = np.array([study.space.parameters[study.space.keys.index(key)].step for key in result.chosen])
    ratios = [study.space.parameters[study.space.keys.index(key)].ratio for key in result.chosen]
    change = result.history - result.history[0]
    logs = np.log(np.maximum(result.history, 1e-12) / np.maximum(np.abs(result.history[0]), 1e-12))
    moved = np.where(ratios, logs, change) / steps
    for first in range(0, len(result.chosen), CURVES):
        numbers = range(first, min(first + CURVES, len(result.chosen)))
        curves = [Curve(short_key(result.chosen[one]), one - first, _thinned(moved[:, one])) for one in numbers]
        drawings.append(lines(curves, "Values", "time", "distance from the start in steps"))
    return drawings


def _slices(study: TuneStudy, result: SearchResult) -> list[str]:
    """Return a drawing for the first `CURVES` tuned parameters: the mean level of the trials, by the value of the parameter.

    The trials are divided into ten groups of equal size. With fewer than 40 trials there is no drawing.
    """
    levels = np.array(study.levels[1 if result.effects else 0 :])
    known = ~np.isnan(levels)
    levels, values = levels[known], result.history[: len(levels)][known]
    if len(levels) < 40:
        return []
    curves = []
    for number, key in enumerate(result.chosen[:CURVES]):
        groups = np.array_split(np.argsort(values[:, number], kind="stable"), 10)
        curves.append(Curve(short_key(key), number, [float(levels[group].mean()) for group in groups]))
    return [lines(curves, "Slices", "tenth of the trials by value", "mean level")]


def _smoothed(values: np.ndarray[tuple[int], np.dtype[np.float64]]) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    width = min(SMOOTHED, len(values))
    return np.convolve(values, np.ones(width) / width, "valid") if width else values


def _thinned(values: np.ndarray[tuple[int], np.dtype[np.float64]]) -> list[float]:
    """Return at most `POINTS` of the values, evenly spaced, including the first and the last."""
    places = np.unique(np.linspace(0, len(values) - 1, min(POINTS, max(1, len(values)))).round().astype(int))
    return [float(one) for one in values[places]] if len(values) else []
