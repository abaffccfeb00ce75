"""Fits the one-hot tables of the evaluation (`behaviours.common.one_hot`) to how games ended.

The model predicts the change of a hero's lead until the end of the game, per round left. The lead is the hero's gold, less the
mean gold of its rivals. Each entry of the tables is a coefficient of a ridge regression.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from behaviours.common.one_hot import BINS, LEFT_BINS
from sim.game import SEATS
from vindibot.tuning.dataset import Dataset

Floats = NDArray[np.float64]

#: The ridge: the fit of each bin gets this number of further positions in which the bin has no effect.
_RIDGE = 20.0


@dataclass(frozen=True)
class OneHotFit:
    """Fitted one-hot tables.

    - `tables` has the entries by feature, in gold per round left. A table has one row per bin of the rounds left and one column
      per bin of the feature.
    - `errors` has the standard errors of the entries. They come from sums per game.
    - `predicted` has the predicted leads of the validation positions (n x 4).
    - `without` has, by feature, the predicted leads of a fit without this feature (n x 4).
    """

    tables: Mapping[str, Floats]
    errors: Mapping[str, Floats]
    predicted: Floats
    without: Mapping[str, Floats]

    def rounded_tables(self) -> dict[str, list[list[float]]]:
        """Return the tables for a bot file, rounded to 1/1000 gold."""
        return {name: np.round(table, 3).tolist() for name, table in self.tables.items()}


def leads(worth: Floats) -> Floats:
    """Return each hero's value less the mean of its rivals' values (n x 4)."""
    found: Floats = (worth - worth.mean(axis=1, keepdims=True)) * (SEATS / (SEATS - 1))
    return found


def fit_one_hot(training: Dataset, held: Dataset, features: Sequence[str]) -> OneHotFit:
    """Fit the tables of `features` (keys of `BINS`) to `training`, and predict the leads of `held`."""
    design, check = _design(training, features), _design(held, features)
    columns = training.columns
    target = ((leads(columns["final"].astype(float)) - leads(columns["gold"].astype(float))) / columns["left"][:, None]).ravel()
    curve, slope = design.T @ design + _RIDGE * np.eye(design.shape[1]), design.T @ target
    starts = np.cumsum([0, *(_size(name) for name in features)])
    parts = {name: slice(begin, end) for name, begin, end in zip(features, starts[:-1], starts[1:], strict=True)}

    def solved(chosen: NDArray[np.int64]) -> tuple[Floats, Floats]:
        found = np.linalg.solve(curve[np.ix_(chosen, chosen)], slope[chosen])
        gains = (check[:, chosen] @ found).reshape(-1, SEATS) * held.columns["left"][:, None]
        return found, gains + leads(held.columns["gold"].astype(float))

    everything = np.arange(design.shape[1])
    found, predicted = solved(everything)
    errors = _standard_errors(design, target - design @ found, curve, columns["game"])
    without = {name: solved(np.delete(everything, part))[1] for name, part in parts.items() if len(features) > 1}

    def by_feature(entries: Floats) -> dict[str, Floats]:
        return {name: entries[part].reshape(len(LEFT_BINS) + 1, -1) for name, part in parts.items()}

    return OneHotFit(by_feature(found), by_feature(errors), predicted, without)


def _size(feature: str) -> int:
    return (len(LEFT_BINS) + 1) * (len(BINS[feature]) + 1)


def _design(dataset: Dataset, features: Sequence[str]) -> NDArray[np.float32]:
    """Return the design matrix (4n x entries): the bins of each hero less the mean of its rivals' bins."""
    left = np.searchsorted(LEFT_BINS, dataset.columns["left"])[:, None]
    parts = []
    for name in features:
        bins = left * (len(BINS[name]) + 1) + np.searchsorted(BINS[name], dataset.columns[name])
        hot = np.zeros((len(dataset), SEATS, _size(name)), np.float32)
        np.put_along_axis(hot, bins[:, :, None], 1, axis=2)
        hot -= hot.mean(axis=1, keepdims=True)
        parts.append(hot.reshape(len(dataset) * SEATS, -1) * np.float32(SEATS / (SEATS - 1)))
    return np.concatenate(parts, axis=1)


def _standard_errors(design: NDArray[np.float32], residuals: Floats, curve: Floats, games: NDArray[np.int64]) -> Floats:
    """Return the standard errors of the entries (a sandwich estimator with one cluster per game)."""
    _, cluster = np.unique(games, return_inverse=True)
    rows = np.repeat(cluster, SEATS)
    order = np.argsort(rows, kind="stable")
    begins = np.flatnonzero(np.diff(rows[order], prepend=-1))
    sums = np.add.reduceat(design[order] * residuals[order, None].astype(np.float32), begins, axis=0)
    inverse = np.linalg.inv(curve)
    found: Floats = np.sqrt(np.diag(inverse @ (sums.T @ sums) @ inverse))
    return found
