"""One trait's part in a turn as it stands in a recording: label, weight, votes, time, status, and the thought if there is one.

Of a thought (`behaviours.base.SearchInfo`) only what is set is written. The line, its principal variation, is a word with a
letter for each ply, ``.`` for Stay; the goal is a square as on the wire, [x, y] with x the row.
"""

from __future__ import annotations

import math
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field

from behaviours.base import LONGEST_PV, SearchInfo
from sim.game import MAX_SIZE, row_column, square
from vindibot.games.ballot import BallotEntry, Status

#: How the directions 0..4 of a principal variation are written.
LINE_LETTERS = ".NSEW"

Five = Annotated[list[float], Field(min_length=5, max_length=5)]
_Count = Annotated[int, Field(ge=0, lt=2**63)]
_Place = Annotated[int, Field(ge=0, lt=MAX_SIZE)]


class VoteLine(BaseModel):
    """A trait's part as read; `entry` gives it back as a line of the ballot."""

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
        """As a line of the ballot."""
        pv = tuple(map(LINE_LETTERS.index, self.pv))
        goal = None if self.goal is None else square(*self.goal)
        votes = None if self.votes is None else tuple(self.votes)
        info = SearchInfo(votes, self.depth, self.score, self.nodes, pv, goal)
        said = info if info != SearchInfo(votes) else None
        return BallotEntry(self.label, self.weight, self.votes, read_number(self.ms), self.status, self.note, said)


def write_entry(entry: BallotEntry) -> dict[str, Any]:
    """A line of the ballot as JSON, what `VoteLine` reads."""
    line = vars(entry) | {"ms": write_number(entry.ms)}
    info = line.pop("info")
    if info is not None:
        goal = None if info.goal is None else row_column(info.goal)
        path = write_line(info.pv)
        told = {"depth": info.depth, "score": info.score, "nodes": info.nodes, "pv": path or None, "goal": goal}
        line |= {key: value for key, value in told.items() if value is not None}
    return line


def write_line(line: tuple[int, ...]) -> str:
    """A principal variation as a word: ``N.ES``."""
    return "".join(LINE_LETTERS[direction] for direction in line)


def write_number(value: float) -> float | None:
    """Milliseconds for JSON, which has no infinity (there is no deadline in tests) and no NaN."""
    return round(float(value), 3) if math.isfinite(value) else None


def read_number(value: float | None) -> float:
    """The inverse of `write_number`; NaN for what could not be written."""
    return math.nan if value is None else value
