"""Fits the weights of the evaluation, so that it predicts how games end.

The model is the evaluation in `behaviours.common.evaluation`. The value of a position for a hero is the sum of its gold, the gold
that its mines will bring, the value of its life, and terms about squares and fights. There are two targets:

- **lead**: the hero's gold at the end, less the mean gold of its rivals. The prediction is the hero's value, less the mean value
  of its rivals. The error is divided by the number of rounds left. The fit is least squares with a robust loss
  (`scipy.optimize.least_squares`, soft_l1).
- **first**: the hero that ends first. The prediction is the softmax of the four values, divided by a scale. The scale is
  ``exp(a) * left^b`` gold; `left` is the number of rounds left, and `a` and `b` are fitted too. The loss is the cross-entropy.

Positions of one game resemble each other. So all intervals come from sums per game (a sandwich estimator with clusters).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from behaviours.common.evaluation import Weights
from behaviours.common.one_hot import BINS
from sim.game import BEER_HEALS, MAX_LIFE, SEATS
from vindibot.base import UsageError
from vindibot.tuning.dataset import Dataset
from vindibot.tuning.one_hot_fit import OneHotFit, fit_one_hot, leads
from vindibot.tuning.space import declared_range

Floats = NDArray[np.float64]

#: The weights that are fitted. A weight in `LINEAR` is the factor of a column. The function `values` uses the others.
NONLINEAR = ("keep", "life", "life_curve", "life_season", "frailty", "frail")
LINEAR = ("reach", "loss", "tavern", "danger", "prey", "spawn")
FITTED = (*NONLINEAR, *LINEAR)
#: Half the width of a 95 % interval, in standard errors.
_WIDE = 1.96
#: Relative step of numeric derivatives.
_STEP = 1e-4
#: Largest number of positions of a fit. If there are more, every second, third ... position is used.
MOST = 100_000
#: First rounds of the phases. A report has the quality for each phase.
PHASES = (0, 50, 100, 150, 200, 250)


@dataclass(frozen=True)
class Coefficient:
    """A fitted weight, `value`, with its 95 % interval, `low` to `high`. `start` is the value before the fit.

    `limited` says whether the fitted value is at an end of its range. `worth` is the amount by which R2 on validation falls
    without the feature, None if it was not computed.
    """

    name: str
    start: float
    value: float
    low: float
    high: float
    limited: bool = False
    worth: float | None = None

    @property
    def earns_nothing(self) -> bool:
        """Whether the interval includes 0 or lies below 0, or R2 on validation is as good without the feature.

        It is false for weights that are not in `LINEAR`.
        """
        return self.name in LINEAR and (self.low <= 0 or (self.worth is not None and self.worth <= 0))


@dataclass(frozen=True)
class Quality:
    """The quality of predictions of the lead: R2 (see `_r2`), the rank correlation, and the number of positions."""

    r2: float
    rank: float
    count: int


@dataclass(frozen=True)
class FitResult:
    """A finished fit.

    - `lead`, `first`: the coefficients for each target.
    - `before`, `after`, `bins`: the quality on validation with the weights before the fit, with the fitted weights (target lead),
      and with the one-hot model. Each of the three has one entry per phase of the game. Its key is the
    first round of the phase, or -1 for all rounds.
    - `calibration`: pairs (predicted, observed) of the probability to end first, for groups of heroes.
    - `entropy`: the cross-entropy on validation before and after the fit, in nats per position.
    - `scale`: `a` and `b` of the scale of the target first (see the module).
    - `one_hot`: the one-hot model. `one_hot_worth` has, by feature, the amount by which its R2 falls without the feature.
    - `positions`: number of positions for fitting and for validation.
    """

    lead: tuple[Coefficient, ...]
    first: tuple[Coefficient, ...]
    before: Mapping[int, Quality]
    after: Mapping[int, Quality]
    bins: Mapping[int, Quality]
    calibration: tuple[tuple[float, float], ...]
    entropy: tuple[float, float]
    scale: tuple[float, float]
    one_hot: OneHotFit
    one_hot_worth: Mapping[str, float]
    positions: tuple[int, int]

    def weights(self, target: str = "lead") -> dict[str, float]:
        """Return the fitted weights for a target (lead or first), by name."""
        return {one.name: one.value for one in (self.lead if target == "lead" else self.first)}


@dataclass(frozen=True)
class PositionColumns:
    """The columns of positions as floats (n x 4), the rounds left (n x 1), and the number of each position's game (n)."""

    data: Mapping[str, Floats]
    left: Floats
    games: NDArray[np.int64]


def columns_of(dataset: Dataset) -> PositionColumns:
    """Return the columns of a dataset as floats."""
    columns = dataset.columns
    names = ("gold", "mines", "life", "final", "reach", "loss", "drink", "danger", "prey", "spawn")
    _, games = np.unique(columns["game"], return_inverse=True)
    return PositionColumns({name: columns[name].astype(float) for name in names}, columns["left"].astype(float)[:, None], games)


def values(columns: PositionColumns, weights: Sequence[float] | Floats) -> Floats:
    """Return the value of each position for each hero, in gold (n x 4). `weights` are in the order of `FITTED`."""
    named = dict(zip(FITTED, weights, strict=True))
    data, left = columns.data, columns.left
    mine = named["keep"] * (1 - np.exp(-left / named["keep"]))
    season = np.minimum(1.0, left / named["life_season"])

    def held(life: Floats) -> Floats:
        worth = named["life"] * (1 - np.exp(-life / named["life_curve"])) / (1 - np.exp(-MAX_LIFE / named["life_curve"]))
        safe = 1 - named["frailty"] * np.exp(-life / named["frail"])
        found: Floats = data["mines"] * mine * safe + worth * season
        return found

    now = held(data["life"])
    drink = (held(np.minimum(data["life"] + BEER_HEALS, MAX_LIFE)) - now) * data["drink"]
    fights = named["prey"] * data["prey"] - named["danger"] * data["danger"]
    squares = mine * (named["reach"] * data["reach"] - named["loss"] * data["loss"] + fights)
    found: Floats = data["gold"] + now + named["tavern"] * drink + squares - named["spawn"] * data["spawn"] * season
    return found


def _errors(columns: PositionColumns, weights: Floats) -> Floats:
    """Return the errors of the predicted lead, in gold per round left (n x 4)."""
    return (leads(columns.data["final"]) - leads(values(columns, weights))) / columns.left


def _limits() -> tuple[Floats, Floats]:
    """Return the lowest and the largest value of each weight.

    In a fit, a weight in `LINEAR` may be negative. So a feature that earns nothing has an interval around 0.
    """
    ends = [declared_range(Weights.model_fields[name]) for name in FITTED]
    low = [-(end[1] or 0.0) if name in LINEAR else end[0] for name, end in zip(FITTED, ends, strict=True)]
    return np.array(low, float), np.array([end[1] for end in ends], float)


def _start(weights: Weights) -> Floats:
    return np.array([getattr(weights, name) for name in FITTED], float)


def fit(
    dataset: Dataset, start: Weights | None = None, without: Sequence[str] = (), features: Sequence[str] = tuple(BINS)
) -> FitResult:
    """Fit the weights to the positions of a dataset, and return the result. `start` has the weights before the fit.

    For `without` see `Dataset.split`. `features` are the features of the one-hot model.

    Raises `UsageError` if there are too few games for fitting or for validation.
    """
    training, held = dataset.split(without)
    for part, words in ((training, "fitting"), (held, "validation")):
        count = len(np.unique(part.columns["game"]))
        if count < 2 * len(FITTED):
            raise UsageError(f"there are {count} games for {words}, but a fit needs at least {2 * len(FITTED)}: play more games")
    columns, check = columns_of(_thinned(training)), columns_of(_thinned(held))
    before = np.clip(_start(start or Weights()), _limits()[0] + 1e-6, _limits()[1] - 1e-6)
    found, spread = _fit_lead(columns, before)
    worth = {name: _worth(columns, check, found, name) for name in LINEAR}
    scale = _fit_scale(columns, found)
    first, first_spread = _fit_first(columns, np.concatenate([found, scale]))
    one_hot = fit_one_hot(_thinned(training), _thinned(held), features)
    scale_before = _fit_scale(columns, before)
    entropies = tuple(float(-_log_chances(check, point).mean()) for point in (np.concatenate([before, scale_before]), first))
    rounds = _thinned(held).columns["round"]
    truth = leads(check.data["final"])
    return FitResult(
        _coefficients(before, found, spread, worth),
        _coefficients(before, first[: len(FITTED)], first_spread, {}),
        _qualities(leads(values(check, before)), truth, rounds, check),
        _qualities(leads(values(check, found)), truth, rounds, check),
        _qualities(one_hot.predicted, truth, rounds, check),
        _calibration(check, first),
        (entropies[0], entropies[1]),
        (float(first[-2]), float(first[-1])),
        one_hot,
        {name: _r2(one_hot.predicted, truth, check) - _r2(other, truth, check) for name, other in one_hot.without.items()},
        (len(training), len(held)),
    )


def _thinned(dataset: Dataset) -> Dataset:
    step = -(-len(dataset) // MOST)
    return dataset.rows(np.arange(len(dataset)) % step == 0) if step > 1 else dataset


def _fit_lead(columns: PositionColumns, start: Floats, fixed: Sequence[str] = ()) -> tuple[Floats, Floats]:
    """Return the weights with the least loss for the target lead, and their standard errors. Weights in `fixed` are 0."""
    from scipy.optimize import least_squares

    free = np.array([name not in fixed for name in FITTED])
    point = np.where(free, start, 0.0)
    low, high = _limits()
    scale = max(1e-6, float(np.median(np.abs(_errors(columns, point)))))

    def errors(chosen: Floats) -> Floats:
        whole = point.copy()
        whole[free] = chosen
        return _errors(columns, whole).ravel()

    sizes = np.maximum(np.abs(start), 0.1)[free]
    run = least_squares(
        errors, point[free], bounds=(low[free], high[free]), x_scale=sizes, loss="soft_l1", f_scale=scale, max_nfev=100
    )
    found = point.copy()
    found[free] = run.x
    if fixed:
        return found, np.zeros(len(FITTED))
    slopes = _derivatives(errors, run.x)
    last = errors(run.x)
    size = 1 + (last / scale) ** 2  # the influence of an error in soft_l1 is error / sqrt(size), and its derivative is size^-1.5
    return found, _cluster_errors(slopes, last / np.sqrt(size), size**-1.5, np.repeat(columns.games, SEATS))


def _derivatives(function: Callable[[Floats], Floats], point: Floats) -> Floats:
    """Return the numeric derivatives at `point` of a function with m results (m x parameters).

    The first parameters are the weights in `FITTED`. They stay within their limits.
    """
    low, high = _limits()
    found = []
    for number, value in enumerate(point):
        size = _STEP * max(abs(value), 0.1)
        above, below = point.copy(), point.copy()
        inside = number < len(low)
        above[number] = min(value + size, high[number]) if inside else value + size
        below[number] = max(value - size, low[number]) if inside else value - size
        found.append((function(above) - function(below)) / (above[number] - below[number]))
    return np.stack(found, axis=-1)


def _cluster_errors(slopes: Floats, influence: Floats, curves: Floats, games: NDArray[np.int64]) -> Floats:
    """Return the standard errors of the weights in robust least squares.

    Each argument has an entry or a row per error. `slopes` has the derivatives of the errors by the weights. `influence` has the
    influence of each error, and `curves` has the derivative of this influence. `games` has the number of the game.
    """
    sizes = np.maximum(np.abs(slopes).max(axis=0), 1e-12)
    slopes = slopes / sizes
    curve = np.linalg.pinv((slopes * curves[:, None]).T @ slopes)
    sums = np.zeros((games.max() + 1, slopes.shape[1]))
    np.add.at(sums, games, slopes * influence[:, None])
    clusters = len(sums)
    spread = curve @ (sums.T @ sums) @ curve * (clusters / max(1, clusters - slopes.shape[1]))
    errors: Floats = np.sqrt(np.maximum(np.diag(spread), 0)) / sizes
    return errors


def _worth(columns: PositionColumns, check: PositionColumns, found: Floats, name: str) -> float:
    """Return the amount by which R2 on validation falls if the feature `name` is left out and the other weights are fitted again.

    `columns` are the positions for fitting, `check` the positions for validation. `found` are the weights of the full fit.
    """
    without, _ = _fit_lead(columns, found, [name])
    truth = leads(check.data["final"])
    return _r2(leads(values(check, found)), truth, check) - _r2(leads(values(check, without)), truth, check)


def _log_chances(columns: PositionColumns, point: Floats) -> Floats:
    """Return, for each position (n), the logarithm of the predicted probability of the hero that ended first.

    If several heroes ended first, it is the mean of their logarithms. `point` holds the weights, and `a` and `b` of the scale.
    """
    weights, (offset, power) = point[: len(FITTED)], point[len(FITTED) :]
    scaled = values(columns, weights) / np.exp(offset + power * np.log(columns.left))
    scaled -= scaled.max(axis=1, keepdims=True)
    logs = scaled - np.log(np.exp(scaled).sum(axis=1, keepdims=True))
    best = columns.data["final"] == columns.data["final"].max(axis=1, keepdims=True)
    chances: Floats = (logs * best).sum(axis=1) / best.sum(axis=1)
    return chances


def _fit_scale(columns: PositionColumns, weights: Floats) -> Floats:
    from scipy.optimize import minimize

    run = minimize(
        lambda scale: -_log_chances(columns, np.concatenate([weights, scale])).mean(), np.array([1.0, 0.8]), method="Nelder-Mead"
    )
    scale: Floats = run.x
    return scale


def _fit_first(columns: PositionColumns, start: Floats) -> tuple[Floats, Floats]:
    """Return the weights and the scale with the least cross-entropy, and the standard errors of the weights (target first)."""
    from scipy.optimize import minimize

    low, high = _limits()
    sizes = np.concatenate([np.maximum(np.abs(start[: len(low)]), 0.1), [1.0, 1.0]])
    limits = [*zip(low / sizes[: len(low)], high / sizes[: len(low)], strict=True), (-5.0, 8.0), (-1.0, 2.0)]
    run = minimize(
        lambda chosen: -_log_chances(columns, chosen * sizes).mean(),
        start / sizes,
        method="L-BFGS-B",
        bounds=limits,
        options={"maxiter": 60},
    )
    found: Floats = run.x * sizes
    slopes = _derivatives(lambda point: _log_chances(columns, point), found)
    scaled = slopes * sizes
    curve = np.linalg.pinv(scaled.T @ scaled)
    sums = np.zeros((columns.games.max() + 1, scaled.shape[1]))
    np.add.at(sums, columns.games, scaled)
    errors = np.sqrt(np.maximum(np.diag(curve @ (sums.T @ sums) @ curve), 0)) * sizes
    return found, errors[: len(FITTED)]


def _coefficients(before: Floats, found: Floats, errors: Floats, worth: Mapping[str, float]) -> tuple[Coefficient, ...]:
    low, high = _limits()
    return tuple(
        Coefficient(
            name,
            float(before[number]),
            float(found[number]),
            float(found[number] - _WIDE * errors[number]),
            float(found[number] + _WIDE * errors[number]),
            bool(np.isclose(found[number], (low[number], high[number]), rtol=1e-3, atol=1e-4).any()),
            worth.get(name),
        )
        for number, name in enumerate(FITTED)
    )


def _r2(predicted: Floats, truth: Floats, columns: PositionColumns) -> float:
    """Return the share of the variance that a prediction of the lead explains.

    The variance is computed for the change of the lead until the end, per round left. So gold that a hero already has does not
    count.
    """
    gain = (truth - leads(columns.data["gold"])) / columns.left
    errors = (truth - predicted) / columns.left
    return float(1 - (errors**2).sum() / max(1e-12, (gain**2).sum()))


def _rank_correlation(one: Floats, other: Floats) -> float:
    """Return Spearman's rank correlation. Equal numbers share the mean of their ranks."""
    ranked = []
    for numbers in (one, other):
        _, group, counts = np.unique(numbers, return_inverse=True, return_counts=True)
        ranks = (np.cumsum(counts) - counts / 2)[group]
        ranked.append((ranks - ranks.mean()) / max(1e-12, float(ranks.std())))
    return float(np.mean(ranked[0] * ranked[1]))


def _qualities(predicted: Floats, truth: Floats, rounds: NDArray[np.int64], columns: PositionColumns) -> dict[int, Quality]:
    found = {}
    for number, begin in enumerate((-1, *PHASES)):
        end = PHASES[number] if 0 < number < len(PHASES) else np.inf
        chosen = (rounds >= begin) & (rounds < end)
        if chosen.sum() < 10:
            continue
        part = PositionColumns({"gold": columns.data["gold"][chosen]}, columns.left[chosen], columns.games[chosen])
        rank = _rank_correlation(predicted[chosen].ravel(), truth[chosen].ravel())
        found[begin] = Quality(_r2(predicted[chosen], truth[chosen], part), rank, int(chosen.sum()))
    return found


def _calibration(columns: PositionColumns, point: Floats, groups: int = 10) -> tuple[tuple[float, float], ...]:
    """Return pairs of the mean predicted and the observed probability to end first, for groups of heroes of equal size."""
    weights, (offset, power) = point[: len(FITTED)], point[len(FITTED) :]
    scaled = values(columns, weights) / np.exp(offset + power * np.log(columns.left))
    chances = np.exp(scaled - scaled.max(axis=1, keepdims=True))
    chances /= chances.sum(axis=1, keepdims=True)
    best = columns.data["final"] == columns.data["final"].max(axis=1, keepdims=True)
    observed = (best / best.sum(axis=1, keepdims=True)).ravel()
    order = np.array_split(np.argsort(chances.ravel(), kind="stable"), groups)
    return tuple((float(chances.ravel()[group].mean()), float(observed[group].mean())) for group in order)
