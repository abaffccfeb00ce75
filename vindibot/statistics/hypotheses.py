"""What a sequential test is told: its two hypotheses and its error rates."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Hypotheses:
    """The two hypotheses of the test and its error rates. Raises ValueError unless `elo1` is more than `elo0`.

    - `elo0`, `elo1`: under H0 and under H1, A is stronger by this number of rating points.
    - `alpha`, `beta` (0..0.5): the probability of the verdict H1 if H0 is true, and of the verdict H0 if H1 is true.
    - `fewest`: the number of blocks before the first verdict.
    - `distinct` (0..1): the share of distinct games below which there is no verdict.
    """

    elo0: float = 0.0
    elo1: float = 20.0
    alpha: float = 0.05
    beta: float = 0.05
    fewest: int = 20
    distinct: float = 0.5

    def __post_init__(self) -> None:
        if self.elo1 <= self.elo0:
            raise ValueError(f"elo1 must be more than elo0, not {self.elo1:g} against {self.elo0:g}")
