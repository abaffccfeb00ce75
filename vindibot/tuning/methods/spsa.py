"""SPSA: simultaneous perturbation stochastic approximation (Spall 1992). The gains have the form that OpenBench uses.

Each block compares two points on both sides of the current point. Each parameter is c(k) above the current point for one bot, and
c(k) below it for the other bot. The signs are random. Then the difference of the block moves all parameters. Positions are in
steps of the parameters. In block k of N (from 0), with A = N / 10::

    perturbation c(k) = 1 / (k + 1)^0.101         gain a(k) = a / (A + k + 1)^0.602
    position += a(k) * difference * signs / (2 c(k))

The scale `a` follows from the effects (`Gains.reaching`). The result is the mean of the last positions.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean

import numpy as np

from vindibot.base.seeds import derive_seed
from vindibot.tuning.methods.screening import Effect
from vindibot.tuning.space import Floats

ALPHA, GAMMA = 0.602, 0.101
#: The constant A of the gains, as a share of the number of blocks.
STABILITY = 0.1
#: Largest change of a position in one block, in steps.
LARGEST_MOVE = 0.5
#: Largest factor by which the gain of a parameter with a small effect is raised.
LARGEST_FACTOR = 2.0


def signs(seed: int, block: int, parameters: int) -> Floats:
    """Return +1 (plus has the larger value) or -1 for each parameter, at random, in a block of SPSA."""
    rng = np.random.default_rng(derive_seed(seed, "spsa", block))
    chosen: Floats = rng.choice((-1.0, 1.0), parameters)
    return chosen


@dataclass(frozen=True)
class Gains:
    """The gains of SPSA for a run of `blocks` blocks. `scale` is `a` in the formulas of this module.

    `factors` has a factor per parameter, by which the gain is multiplied. Parameters with small effects have larger factors.
    """

    blocks: int
    scale: float
    factors: Floats

    def step(self, block: int) -> float:
        """Return c(k), the perturbation of a block, in steps of the parameters."""
        return float((block + 1) ** -GAMMA)

    def gain(self, block: int) -> float:
        """Return a(k), the gain of a block."""
        return float(self.scale * (STABILITY * self.blocks + block + 1) ** -ALPHA)

    def move(self, block: int, difference: float) -> Floats:
        """Return the distance by which a block moves each parameter, in steps, before the sign is applied.

        `block` is the number of the block, `difference` is its result.
        """
        change: Floats = self.factors * self.gain(block) * difference / (2 * self.step(block))
        return np.clip(change, -LARGEST_MOVE, LARGEST_MOVE)

    @classmethod
    def reaching(cls, blocks: int, reach: float, effects: Sequence[Effect]) -> Gains:
        """Return gains that move a parameter by `reach` steps in `blocks` blocks, if its effect is typical and stays the same.

        The typical effect is the root mean square of `effects`, after subtracting the noise of the estimates. It is at least the
        root mean square of their standard errors.
        """
        squares = [one.value**2 - one.error**2 for one in effects]
        errors = [one.error**2 for one in effects]
        typical = math.sqrt(max(fmean(squares), fmean(errors)))
        sizes = np.maximum(np.abs([one.value for one in effects]), typical / LARGEST_FACTOR**2)
        factors: Floats = np.minimum(np.sqrt(typical / sizes), LARGEST_FACTOR)
        unit = cls(blocks, 1.0, factors)
        total = math.fsum(unit.gain(block) for block in range(blocks))
        return cls(blocks, 2 * reach / (typical * total), factors)


class SpsaRun:
    """A run of SPSA. `positions` has the start (0 for each parameter), and then the positions after each iterate.

    `low` and `high` are the limits of the positions.
    """

    def __init__(self, low: Floats, high: Floats) -> None:
        self._low, self._high = low, high
        self._squares: list[Floats] = []  # per iterate, the sum of the squared moves of its blocks
        self.positions = [np.zeros_like(low)]

    def add(self, gains: Gains, first: int, signs: Sequence[Floats], differences: Sequence[float]) -> None:
        """Add an iterate with the signs and the differences of its blocks. `first` is the number of its first block."""
        moves = np.array([gains.move(number, difference) for number, difference in enumerate(differences, start=first)])
        self.positions.append(np.clip(self.positions[-1] + (moves * signs).sum(axis=0), self._low, self._high))
        self._squares.append((moves**2).sum(axis=0))

    def result(self, last: float) -> tuple[Floats, Floats]:
        """Return the mean of the last positions, and its standard errors if no parameter matters.

        `last` (0..1) is the share of the positions in the mean. There must be an iterate.
        """
        count = len(self._squares)
        averaged = max(1, math.ceil(last * count))
        weights = np.minimum(np.arange(count, 0, -1) / averaged, 1.0)  # the share of an iterate's moves in the mean
        return np.mean(self.positions[-averaged:], axis=0), np.sqrt(weights**2 @ np.array(self._squares))
