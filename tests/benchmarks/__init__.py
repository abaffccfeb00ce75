"""Measurements, in one table: ``python -m tests.benchmarks`` for all of them, or with the names of some parts.

A part is a module of this folder with a function ``rows() -> list[Row]``; add a file and it is found. Figures drift with the
machine, so wherever there is something to compare with, both are measured in turn in the same run and the ratio counts.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True)
class Row:
    """One line of the table: what was measured, the figure with its unit, how it compares, and a remark (a target, say)."""

    name: str
    figure: str
    ratio: str = ""
    note: str = ""


def best(measure: Callable[[], float], times: int = 5) -> float:
    """The smallest of some measurements: what the machine can do when nobody else disturbs it."""
    return min(measure() for _ in range(times))
