"""The votes of one trait, as a recording stores them: label, weight, votes, time, status, its notes, and the result of its search
if there is one.

Fields of a `behaviours.base.SearchInfo` that are None are left out. The principal variation is text with one letter per ply,
``.`` for Stay. The goal and the marked squares are squares of the protocol: [x, y], with x the row.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field

from behaviours.base import LONGEST_PV, SearchInfo
from behaviours.notes import Note
from sim.game import MAX_SIZE, row_column, square
from vindibot.games.ballot import BallotEntry, Status

#: The letters of the directions 0..4 in a principal variation.
PV_LETTERS = ".NSEW"

Five = Annotated[list[float], Field(min_length=5, max_length=5)]
_Count = Annotated[int, Field(ge=0, lt=2**63)]
_Place = Annotated[int, Field(ge=0, lt=MAX_SIZE)]


class NoteLine(BaseModel):
    """A note of a trait, as read from a recording."""

    model_config = ConfigDict(frozen=True, extra="ignore")

    text: str
    square: tuple[_Place, _Place] | None = None


class VoteLine(BaseModel):
    """The votes of a trait, as read from a recording. `entry` converts them to a `BallotEntry`."""

    model_config = ConfigDict(frozen=True, extra="ignore", allow_inf_nan=False)

    label: str
    weight: float
    votes: Five | None = None
    ms: float | None = None
    status: Status = "ok"
    note: str = ""
    depth: _Count | None = None
    score: float | None = None
    nodes: _Count | None = None
    pv: Annotated[str, Field(pattern=r"^[.NSEW]*$", max_length=LONGEST_PV)] = ""
    goal: tuple[_Place, _Place] | None = None
    notes: tuple[NoteLine, ...] = ()

    def entry(self) -> BallotEntry:
        """Return these votes as an entry of a ballot."""
        pv = tuple(map(PV_LETTERS.index, self.pv))
        goal = None if self.goal is None else square(*self.goal)
        votes = None if self.votes is None else tuple(self.votes)
        info = SearchInfo(votes, self.depth, self.score, self.nodes, pv, goal)
        searched = info if info != SearchInfo(votes) else None
        notes = tuple(Note(note.text, None if note.square is None else square(*note.square)) for note in self.notes)
        return BallotEntry(self.label, self.weight, self.votes, read_number(self.ms), self.status, self.note, searched, notes)


def write_entry(entry: BallotEntry) -> dict[str, Any]:
    """Return an entry of a ballot as a JSON object that `VoteLine` reads."""
    line = vars(entry) | {"ms": write_number(entry.ms)}
    info, notes = line.pop("info"), line.pop("notes")
    if notes:
        line["notes"] = [
            {"text": note.text} if note.square is None else {"text": note.text, "square": row_column(note.square)}
            for note in notes
        ]
    if info is not None:
        goal = None if info.goal is None else row_column(info.goal)
        found = {"depth": info.depth, "score": info.score, "nodes": info.nodes, "pv": write_pv(info.pv) or None, "goal": goal}
        line |= {key: value for key, value in found.items() if value is not None}
    return line


def write_pv(pv: Sequence[int]) -> str:
    """Return a principal variation (directions 0..4) as text with one letter per ply, such as ``N.ES``; ``.`` is Stay."""
    return "".join(PV_LETTERS[direction] for direction in pv)


def write_number(value: float) -> float | None:
    """Return a number of milliseconds in a form for JSON. Infinity (in a test without a deadline) and NaN become None."""
    return round(float(value), 3) if math.isfinite(value) else None


def read_number(value: float | None) -> float:
    """Return the milliseconds that `write_number` has written. None becomes NaN."""
    return math.nan if value is None else value
