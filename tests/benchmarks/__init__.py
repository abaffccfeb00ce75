"""Measurements in one table: ``python -m tests.benchmarks`` measures everything, or only the named parts.

A part is a module of this folder with a function ``rows() -> list[Row]``. New files are found automatically. Figures depend on
the load of the machine. So where a comparison is possible, both sides are measured by turns in the same run, and the ratio
counts.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True)
class Row:
    """One line of the table: its name, the figure with its unit, a comparison, and a remark, for example a target."""

    name: str
    figure: str
    ratio: str = ""
    note: str = ""


def best(measure: Callable[[], float], times: int = 5) -> float:
    """Return the smallest of some measurements, which other programs have disturbed least."""
    return min(measure() for _ in range(times))
