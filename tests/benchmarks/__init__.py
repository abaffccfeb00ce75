"""Measurements in one table: ``python -m tests.benchmarks`` measures everything, or only the named parts.

A part is a module of this folder with a function ``rows() -> list[Row]``. New files are found automatically. Figures depend on
the load of the machine. So where a comparison is possible, both sides are measured by turns in the same run, and the ratio
counts. ``--small`` measures in a size of seconds, which shows only that all parts work.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

#: The variable of the environment that says that all sizes are small.
SMALL = "BENCHMARKS_SMALL"
_Size = TypeVar("_Size")


class Missing(Exception):  # noqa: N818  # the name of what it says
    """What a part needs and this machine lacks, and where to get it."""


def sized(usual: _Size, small: _Size) -> _Size:
    """Return the size of a measurement."""
    return small if os.environ.get(SMALL) else usual


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
