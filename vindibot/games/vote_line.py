"""The votes of one trait as a recording stores them: label, weight, votes, time, status, and the result of a search if any.

Only the fields of a `behaviours.base.SearchInfo` that are set are written. The principal variation is text with a letter per ply,
``.`` for Stay; the goal is a square of the protocol, [x, y] with x the row.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field

from behaviours.base import LONGEST_PV, SearchInfo
from sim.game import MAX_SIZE, row_column, square
from vindibot.games.ballot import BallotEntry, Status

#: The letters of the directions 0..4 in a principal variation.
PV_LETTERS = ".NSEW"

Five = Annotated[list[float], Field(min_length=5, max_length=5)]
_Count = Annotated[int, Field(ge=0, lt=2**63)]
_Place = Annotated[int, Field(ge=0, lt=MAX_SIZE)]


class VoteLine(BaseModel):
    """The votes of a trait as read; `entry` converts them."""

    model_config = ConfigDict(frozen=True, extra="ignore")

    label: str
    weight: float
    votes: Five | None = None
    ms: float | None = None
    status: Status = "ok"
    note: str = ""
    depth: _Count | None = None
    score: Annotated[float, Field(allow_inf_nan=False)] | None = None
    nodes: _Count | None = None
    pv: Annotated[str, Field(pattern=r"^[.NSEW]*$", max_length=LONGEST_PV)] = ""
    goal: tuple[_Place, _Place] | None = None

    def entry(self) -> BallotEntry:
        """Return the entry of the ballot."""
        pv = tuple(map(PV_LETTERS.index, self.pv))
        goal = None if self.goal is None else square(*self.goal)
        votes = None if self.votes is None else tuple(self.votes)
        info = SearchInfo(votes, self.depth, self.score, self.nodes, pv, goal)
        searched = info if info != SearchInfo(votes) else None
        return BallotEntry(self.label, self.weight, self.votes, read_number(self.ms), self.status, self.note, searched)


def write_entry(entry: BallotEntry) -> dict[str, Any]:
    """Return an entry of the ballot as JSON that `VoteLine` reads."""
    line = vars(entry) | {"ms": write_number(entry.ms)}
    info = line.pop("info")
    if info is not None:
        goal = None if info.goal is None else row_column(info.goal)
        found = {"depth": info.depth, "score": info.score, "nodes": info.nodes, "pv": write_pv(info.pv) or None, "goal": goal}
        line |= {key: value for key, value in found.items() if value is not None}
    return line


def write_pv(pv: Sequence[int]) -> str:
    """Return a principal variation as text: ``N.ES``."""
    return "".join(PV_LETTERS[direction] for direction in pv)


def write_number(value: float) -> float | None:
    """Return milliseconds for JSON; None for infinity (tests have no deadline) and NaN."""
    return round(float(value), 3) if math.isfinite(value) else None


def read_number(value: float | None) -> float:
    """Return the inverse of `write_number`; NaN for None."""
    return math.nan if value is None else value
