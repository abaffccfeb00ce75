"""The report of a fit: coefficients, quality by round, calibration."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from behaviours.common.one_hot import BINS, LEFT_BINS
from vindibot.arena import Curve, Range, lines, ranges
from vindibot.tuning.dataset import Dataset
from vindibot.tuning.fitting import Coefficient, FitResult, Quality
from vindibot.tuning.report import ReportPart

#: An interval is shown as ``unknown`` if its width is more than this number times the value.
_VAGUE = 20
COEFFICIENT_HEADS = ("weight", "before", "lead", "95 %", "first", "95 %", "worth in R2", "")


def coefficient_rows(result: FitResult) -> list[list[str]]:
    """Return the rows of the table of coefficients. `COEFFICIENT_HEADS` are the heads of its columns."""
    rows = []
    for lead, first in zip(result.lead, result.first, strict=True):
        worth = "" if lead.worth is None else f"{lead.worth:+.4f}"
        rows.append([lead.name, f"{lead.start:g}", *_cells(lead), *_cells(first), worth, _remark(lead)])
    return rows


def _cells(one: Coefficient) -> list[str]:
    """Return a coefficient and its interval as texts. The text for an interval that is too wide is ``unknown``."""
    if one.high <= one.low or one.high - one.low > _VAGUE * max(abs(one.value), abs(one.start)):
        return [f"{one.value:.3g}", "unknown"]
    return [f"{one.value:.3g}", f"{one.low:.3g} .. {one.high:.3g}"]


def _remark(one: Coefficient) -> str:
    if one.earns_nothing:
        return "earns nothing"
    return "at its limit" if one.limited else ""


#: Names of the features of the one-hot model.
FEATURE_NAMES = {
    "life": "life",
    "mines": "own mines",
    "tavern": "distance to the nearest tavern",
    "mine": "distance to the nearest mine of others",
}
QUALITY_HEADS = ("round", "positions", "R2", "fitted", "bins", "rank", "fitted", "bins")


def quality_rows(result: FitResult) -> list[list[str]]:
    """Return the rows of the table of the quality on validation. `QUALITY_HEADS` are the heads of its columns."""
    rows = []
    for begin, before in result.before.items():
        after, bins = result.after[begin], result.bins[begin]
        name = "all" if begin < 0 else str(begin)
        scores = [f"{one.r2:.3f}" for one in (before, after, bins)] + [f"{one.rank:.3f}" for one in (before, after, bins)]
        rows.append([name, str(before.count), *scores])
    return rows


def summary_lines(result: FitResult) -> list[str]:
    """Return sentences that summarise the fit."""
    nothing = [one.name for one in result.lead if one.earns_nothing]
    words = f"Features that earn nothing: {', '.join(nothing)}." if nothing else "Each feature earns something."
    before, after = result.entropy
    return [
        f"{result.positions[0]} positions for fitting, {result.positions[1]} on other maps for validation.",
        words,
        f"Cross-entropy of the first place on validation: {before:.4f} before, {after:.4f} fitted (nats per position).",
        "R2 is a diagnostic. Only games show whether a bot with these weights is stronger.",
    ]


def fit_parts(result: FitResult, dataset: Dataset) -> list[ReportPart]:
    """Return the sections of the report of a fit."""
    bars = [
        Range(one.name, number % 8, one.value / one.start, (one.low / one.start, one.high / one.start))
        for number, one in enumerate(result.lead)
        if one.start > 0 and one.high - one.low < _VAGUE * one.start
    ]
    size = f"The columns take {dataset.bytes / 1e6:.1f} MB: {dataset.bytes / max(1, len(dataset)):.0f} bytes per position."
    predicted = [100 * one for one, _ in result.calibration]
    observed = [100 * one for _, one in result.calibration]
    return [
        ReportPart("Fit of the evaluation", [*summary_lines(result), size]),
        ReportPart(
            "Coefficients",
            [
                "Lead: least squares on the lead at the end. First: cross-entropy of the hero that ends first.",
                "Worth: the loss of R2 on validation if the feature is left out. Intervals come from sums per game.",
            ],
            COEFFICIENT_HEADS,
            coefficient_rows(result),
            [ranges(bars, "Fitted weights with 95 % intervals", "fitted weight / weight before", zero=True)] if bars else [],
        ),
        ReportPart(
            "Quality on validation",
            [
                "R2 is for the change of the lead until the end, per round left. Rank is the rank correlation of the lead.",
                "Each has three columns: the weights before the fit, the fitted weights, and the one-hot model (bins).",
            ],
            QUALITY_HEADS,
            quality_rows(result),
            _by_round(result.before, result.after, result.bins),
        ),
        *(_one_hot_part(result, name) for name in result.one_hot.tables),
        ReportPart(
            "Calibration",
            ["Ten groups of heroes by their predicted probability to end first: its mean, and the share that ended first."],
            ("predicted", "observed"),
            [[f"{one:.3f}", f"{other:.3f}"] for one, other in result.calibration],
            [lines([Curve("predicted", 0, predicted), Curve("observed", 1, observed)], "Calibration", "group", "percent")],
        ),
    ]


def _one_hot_part(result: FitResult, feature: str) -> ReportPart:
    """Return the section about the one-hot table of a feature: one row per bin of the feature."""
    table, errors = result.one_hot.tables[feature], result.one_hot.errors[feature]
    worth = result.one_hot_worth.get(feature)
    words = ["Gold per round left, +- its standard error. Each column is a bin of the rounds left."]
    if worth is not None:
        words.append(f"Without this feature, R2 on validation changes by {-worth:+.4f}.")
    rows = [
        [name, *(f"{value:+.2f} +- {error:.2f}" for value, error in zip(table[:, number], errors[:, number], strict=True))]
        for number, name in enumerate(_bin_names(BINS[feature]))
    ]
    return ReportPart(f"One-hot table: {FEATURE_NAMES[feature]}", words, (feature, *_bin_names(LEFT_BINS)), rows)


def _bin_names(ends: Sequence[int]) -> list[str]:
    lows = [0, *(end + 1 for end in ends)]
    return [*(str(end) if low == end else f"{low} to {end}" for low, end in zip(lows, ends, strict=False)), f"{lows[-1]} or more"]


def _by_round(*kinds: Mapping[int, Quality]) -> Sequence[str]:
    names = ("before", "fitted", "bins")
    curves = [
        Curve(name, number, [one.rank for begin, one in kind.items() if begin >= 0])
        for number, (name, kind) in enumerate(zip(names, kinds, strict=True))
    ]
    return [lines(curves, "Rank correlation", "phase of 50 rounds", "rank correlation")]
