"""The ballot of one turn: the votes of all traits, their weights, the sums, and the chosen direction.

Votes are multiplied by the traits' weights and summed per direction. Only the **candidates** can win: Stay, and the directions
that have another effect than Stay. The sum of each candidate starts at 0, and the largest sum wins. A random generator breaks
ties. The order of directions or traits never breaks a tie, because a bot that always prefers North in a tie walks in loops.

A recording has the entries of a ballot as JSON objects (`VoteLine`). Fields of a `behaviours.base.SearchInfo` that are None are
left out. The goal and the marked squares are squares of the protocol: [x, y], with x the row.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Annotated, Any, Literal, get_args

import numpy as np
from pydantic import BaseModel, ConfigDict, Field

from behaviours.base import LONGEST_PV, SearchInfo
from behaviours.notes import Note
from sim.game import DIRECTIONS, MAX_SIZE, row_column, square
from vindibot.games.position import DIRECTION_LETTERS, read_moves, write_moves

#: The result of a trait on a turn.
#:
#: - "ok": the trait answered (perhaps without an opinion).
#: - "late": the trait had not answered at the deadline. An anytime trait is late only if it had no votes yet.
#: - "error": the trait raised an error.
#: - "killed": the trait's worker ended or was killed while the trait ran.
#: - "benched": the trait is not asked any more in this game.
#: - "void": the trait's answer was not a valid vote.
Status = Literal["ok", "late", "error", "killed", "benched", "void"]
STATUSES: tuple[str, ...] = get_args(Status)

# Largest absolute value of a weighted vote, so that no sum can overflow.
_LIMIT = 1e300


@dataclass(frozen=True)
class BallotEntry:
    """The votes of one trait in a turn.

    - `votes`: five finite numbers in the order of the directions, not yet multiplied by the weight. None for no opinion or no
      valid answer. Votes count with any status. For example, if the worker of an anytime trait is killed, the last votes
      of the trait count.
    - `ms`: the time that the trait took, in milliseconds.
    - `note`: a description of the fault, "" without a fault.
    - `info`: the result of the search that computed the votes. This object repeats the votes. None if the trait gave votes only.
    - `notes`: what the trait said on the turn (`behaviours.base.View.note`).
    """

    label: str
    weight: float
    votes: list[float] | None = None
    ms: float = 0.0
    status: Status = "ok"
    note: str = ""
    info: SearchInfo | None = None
    notes: tuple[Note, ...] = ()

    @property
    def weighted(self) -> list[float]:
        """The votes multiplied by the weight: five numbers, which are all 0 if there are no votes."""
        if self.votes is None:
            return [0.0] * len(DIRECTIONS)
        return [min(_LIMIT, max(-_LIMIT, self.weight * vote)) for vote in self.votes]


@dataclass(frozen=True)
class Ballot:
    """The result of the vote of all traits on one turn.

    - `sums`: five numbers in the order of the directions, 0 for directions that are no candidates.
    - `candidates`: the directions that could win.
    - `direction`: the direction (0..4) that was chosen.
    - `margin_ms`: the milliseconds from the decision until the time limit, negative if the decision was late.
    - `fallback`: whether no trait answered in time. If so, `direction` is the move that was prepared for this case.
    """

    entries: list[BallotEntry] = field(default_factory=list)
    sums: list[float] = field(default_factory=lambda: [0.0] * len(DIRECTIONS))
    candidates: tuple[int, ...] = (0,)
    direction: int = 0
    margin_ms: float = 0.0
    fallback: bool = False


def tally(
    entries: Iterable[BallotEntry],
    candidates: Sequence[int],
    rng: np.random.Generator | Callable[[], np.random.Generator],
    *,
    fallback: int | Callable[[], int] | None = None,
    margin_ms: float = 0.0,
) -> Ballot:
    """Count the votes and return the ballot. The candidate (0..4) with the largest weighted sum wins.

    `rng`, a generator or a function that returns one, is used only for ties. The result does not depend on the order of the
    entries or candidates. `fallback` is a direction, or a function that returns a direction. It is chosen if no entry has votes
    and no entry is "ok". None for no fallback. `margin_ms` is the field of the ballot. Raises ValueError if there are no
    candidates, or if a candidate is not a direction.
    """
    entries = list(entries)
    valid = tuple(sorted({int(candidate) for candidate in candidates}))
    if not valid or not 0 <= valid[0] <= valid[-1] < len(DIRECTIONS):
        raise ValueError(f"the candidates must be directions 0..4, at least one, not {candidates!r}")
    shares = [entry.weighted for entry in entries if entry.votes is not None]
    # fsum rounds once, so a tie does not depend on the order of the traits.
    sums = [math.fsum(share[direction] for share in shares) if direction in valid else 0.0 for direction in range(5)]
    if fallback is not None and not shares and all(entry.status != "ok" for entry in entries):
        direction = fallback() if callable(fallback) else fallback
        return Ballot(entries, sums, valid, direction, margin_ms, fallback=True)
    best = max(sums[direction] for direction in valid)
    winners = [direction for direction in valid if sums[direction] == best]
    if len(winners) > 1:
        winners = [winners[int((rng() if callable(rng) else rng).integers(len(winners)))]]
    return Ballot(entries, sums, valid, winners[0], margin_ms)


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
    pv: Annotated[str, Field(pattern=rf"^[{DIRECTION_LETTERS}]*$", max_length=LONGEST_PV)] = ""
    goal: tuple[_Place, _Place] | None = None
    notes: tuple[NoteLine, ...] = ()

    def entry(self) -> BallotEntry:
        """Return these votes as an entry of a ballot."""
        goal = None if self.goal is None else square(*self.goal)
        votes = None if self.votes is None else tuple(self.votes)
        info = SearchInfo(votes, self.depth, self.score, self.nodes, read_moves(self.pv), goal)
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
        fields = {"depth": info.depth, "score": info.score, "nodes": info.nodes, "pv": write_moves(info.pv) or None, "goal": goal}
        line |= {key: value for key, value in fields.items() if value is not None}
    return line


def write_number(value: float) -> float | None:
    """Return a number of milliseconds in a form for JSON. Infinity (in a test without a deadline) and NaN become None."""
    return round(float(value), 3) if math.isfinite(value) else None


def read_number(value: float | None) -> float:
    """Return the milliseconds that `write_number` has written. None becomes NaN."""
    return math.nan if value is None else value


def new_failures(ballot: Ballot, reported: set[tuple[str, str]]) -> Iterator[BallotEntry]:
    """Yield the entries of traits that failed, each trait only once per kind of failure.

    `reported` has the failures so far (label of a trait, kind of failure), and gets the new ones.
    """
    for entry in ballot.entries:
        failure = entry.label, "late" if entry.status in ("late", "killed") else entry.note.partition(":")[0]
        if entry.note and failure not in reported:
            reported.add(failure)
            yield entry
