"""The ballot of one turn: who voted what, with which weight, and what it came to.

Votes are multiplied by the bot's weights and summed. Only the **candidates** count, that is Stay and the directions that
have an effect of their own; each starts at 0, and the largest sum wins. Ties are broken by the generator that the caller
passes in, never by the order of the directions or of the traits: a bot that always prefers North among equals walks in loops.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Literal, get_args

import numpy as np

from behaviours.base import SearchInfo
from sim.game import DIRECTIONS

#: How a trait fared on a turn: "ok" it answered (perhaps without an opinion); "late" no answer, or no last one, before the
#: deadline; "error" it raised; "killed" its worker was; "benched" it is no longer asked; "void" its answer was no vote.
Status = Literal["ok", "late", "error", "killed", "benched", "void"]
STATUSES: tuple[str, ...] = get_args(Status)

# Weighted votes beyond this are cut, so that no sum can overflow: a trait that insists that much has won all the same.
_LIMIT = 1e300


@dataclass(frozen=True)
class BallotEntry:
    """One trait's part in a turn.

    `votes` are five finite numbers in the order of the directions, before the weight; None is no opinion, or no usable
    answer. Votes that are there count whatever the status is: those of a "late" anytime trait are its last in time.
    `info` is what led to the votes (it repeats them), None for a trait that gave votes alone.
    """

    label: str
    weight: float
    votes: list[float] | None = None
    ms: float = 0.0
    status: Status = "ok"
    note: str = ""
    info: SearchInfo | None = None

    @property
    def weighted(self) -> list[float]:
        """The votes times the weight: what this trait added to the sums; zeros where it has none."""
        if self.votes is None:
            return [0.0] * len(DIRECTIONS)
        return [min(_LIMIT, max(-_LIMIT, self.weight * vote)) for vote in self.votes]


@dataclass(frozen=True)
class Ballot:
    """What one turn's vote came to.

    `sums` has five numbers in the order of the directions, and 0 for those that are no candidates. `margin_ms` are the
    milliseconds left before the deadline when the order was decided. `fallback` says that no trait had answered in time
    and that the direction is the move prepared for that case.
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
    """Count the votes: the candidate (0..4) with the largest weighted sum wins, ties are drawn from `rng`.

    `rng`, a generator or a function that makes one, is used only where there is a tie, and the result does not depend on
    the order of the entries or candidates.
    If no entry has votes and none is "ok", the direction is `fallback` (a direction, or a function that chooses one), where it
    is given. Raises ValueError if there is no candidate, or one that is no direction.
    """
    entries = list(entries)
    standing = tuple(sorted({int(candidate) for candidate in candidates}))
    if not standing or not 0 <= standing[0] <= standing[-1] < len(DIRECTIONS):
        raise ValueError(f"the candidates must be directions 0..4, at least one, not {candidates!r}")
    shares = [entry.weighted for entry in entries if entry.votes is not None]
    # fsum rounds once, so the order of the traits cannot make or break a tie.
    sums = [math.fsum(share[direction] for share in shares) if direction in standing else 0.0 for direction in range(5)]
    if fallback is not None and not shares and all(entry.status != "ok" for entry in entries):
        direction = fallback() if callable(fallback) else fallback
        return Ballot(entries, sums, standing, direction, margin_ms, fallback=True)
    best = max(sums[direction] for direction in standing)
    winners = [direction for direction in standing if sums[direction] == best]
    if len(winners) == 1:
        return Ballot(entries, sums, standing, winners[0], margin_ms)
    drawn = (rng() if callable(rng) else rng).integers(len(winners))
    return Ballot(entries, sums, standing, winners[int(drawn)], margin_ms)
