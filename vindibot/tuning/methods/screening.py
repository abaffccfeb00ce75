"""Screening: it finds the parameters that matter, and in which direction they do.

In each block, each parameter is one step above its start value in one bot, and one step below it in the other bot (`signs`). A
ridge regression of the differences of the blocks estimates the contribution of each parameter (`effects`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from vindibot.base.seeds import derive_seed
from vindibot.tuning.space import Floats

#: The ridge: for each parameter, the regression gets this number of further blocks with a difference of 0.
RIDGE = 1.0
#: Probability with which an interval contains the true value.
LEVEL = 0.95


@dataclass(frozen=True)
class Effect:
    """The effect of a parameter on the difference of a block (the score of plus less the score of minus).

    `value` is the contribution of the parameter if it is one step up in plus and one step down in minus. `error` is its standard
    error. `low` and `high` are the ends of the 95 % interval. `p_value` is the probability of an estimate of this size or larger
    if the parameter does not matter.
    """

    key: str
    value: float
    error: float
    low: float
    high: float
    p_value: float


def signs(seed: int, block: int, parameters: int) -> Floats:
    """Return +1 (plus has the larger value) or -1 for each parameter in block `block` of the screening.

    The design is orthogonal. A group of blocks has one block per row of a Hadamard matrix, in random order. Each parameter has
    one column of this matrix, times a random sign. So within a group, the signs of any two parameters are uncorrelated.
    """
    from scipy.linalg import hadamard

    order = 1 << parameters.bit_length()
    group, row = divmod(block, order)
    rng = np.random.default_rng(derive_seed(seed, "signs", group))
    rows, flips = rng.permutation(order), rng.choice((-1.0, 1.0), parameters)
    chosen: Floats = hadamard(order)[rows[row], 1 : parameters + 1] * flips
    return chosen


def effects(keys: Sequence[str], tried: NDArray[np.float64], differences: Sequence[float] | Floats) -> list[Effect]:
    """Return the effect of each parameter, in the order of `keys`.

    `tried` (blocks x parameters) has half the distance from the value of minus to the value of plus, in steps. There must be more
    blocks than parameters. The standard errors (HC3) stay valid if some blocks vary more than others.
    """
    from scipy.special import stdtr, stdtrit  # the distribution of Student's t; scipy.stats takes seconds to import

    observed = np.asarray(differences, dtype=np.float64)
    blocks, parameters = tried.shape
    curve = np.linalg.inv(tried.T @ tried + RIDGE * np.eye(parameters))
    found = curve @ (tried.T @ observed)
    pulls = np.einsum("ij,jk,ik->i", tried, curve, tried)  # the leverage of each block
    weighted = tried * ((observed - tried @ found) / (1 - pulls))[:, None]
    free = blocks - parameters
    spread = curve @ (weighted.T @ weighted) @ curve
    errors = np.sqrt(np.maximum(np.diag(spread), 1e-18))
    wide = stdtrit(free, (1 + LEVEL) / 2) * errors
    chances = 2 * stdtr(free, -np.abs(found) / errors)
    rows = zip(keys, found.tolist(), errors.tolist(), wide.tolist(), chances.tolist(), strict=True)
    return [Effect(key, value, error, value - half, value + half, chance) for key, value, error, half, chance in rows]


def that_matter(found: Sequence[Effect], alpha: float) -> list[str]:
    """Return the keys of the parameters that matter, by the method of Benjamini and Hochberg.

    On average, at most the share `alpha` (0..1) of the returned parameters does not matter. If no parameter matters, the result
    is empty with a probability of at least 1 - `alpha`. If `alpha` is 1, all parameters are returned.
    """
    ranked = sorted(found, key=lambda one: one.p_value)
    count = max((rank for rank, one in enumerate(ranked, start=1) if one.p_value <= alpha * rank / len(ranked)), default=0)
    chosen = {one.key for one in ranked[:count]}
    return [one.key for one in found if one.key in chosen]
