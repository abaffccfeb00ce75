"""The ballot of one turn: the votes of all traits, their weights, the sums, and the chosen direction.

Votes are multiplied by the bot's weights and summed. Only the **candidates** count: Stay and the directions that have an effect
of their own. Each starts at 0, and the largest sum wins. A random generator breaks ties, never the order of directions or
traits: a bot that always prefers North in a tie walks in loops.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Literal, get_args

import numpy as np

from behaviours.base import SearchInfo
from sim.game import DIRECTIONS

#: The result of a trait on a turn: "ok": it answered (perhaps without an opinion); "late": no answer, or not its last one, came
#: before the deadline; "error": it raised an error; "killed": its worker was killed; "benched": it is not asked any more; "void":
#: its answer was no vote.
Status = Literal["ok", "late", "error", "killed", "benched", "void"]
STATUSES: tuple[str, ...] = get_args(Status)

# Bound of weighted votes, so that no sum can overflow.
_LIMIT = 1e300


@dataclass(frozen=True)
class BallotEntry:
    """The votes of one trait in a turn.

    `votes` are five finite numbers in the order of the directions, before the weight; None for no opinion or no valid answer.
    They count with any status: those of a "late" anytime trait are its last ones before the deadline. `ms` is the time the trait
    took. `info` is the result of the search behind the votes (it repeats them), None for votes alone.
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
        """The votes times the weight, five numbers; zeros without votes."""
        if self.votes is None:
            return [0.0] * len(DIRECTIONS)
        return [min(_LIMIT, max(-_LIMIT, self.weight * vote)) for vote in self.votes]


@dataclass(frozen=True)
class Ballot:
    """The result of the vote on one turn.

    `sums` has five numbers in the order of the directions, 0 for directions that are no candidates. `margin_ms` are the
    milliseconds between the decision and the deadline. `fallback` is True if no trait answered in time, and `direction` is the
    move prepared for that case.
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

    `rng`, a generator or a function that makes one, is used for ties only. The result does not depend on the order of the entries
    or candidates. If no entry has votes and none is "ok", the direction is `fallback` (a direction, or a function that chooses
    one) if it is given. Raises ValueError if there is no candidate, or one that is no direction.
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
