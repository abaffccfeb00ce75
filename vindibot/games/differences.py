"""What comes of comparing recorded games with the rules: how much was right, and the first thing that was not."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(frozen=True)
class Difference:
    """The first state of a game that came out otherwise: the ply counts from 0, boards are drawings."""

    game: str
    ply: int
    move: str
    before: str
    expected: str
    got: str


@dataclass
class Tally:
    """What verifying came to. `differences` has one entry per game that went wrong, `problems` a sentence for each that went
    wrong where there are no boards to show; `skipped` says what could not be compared, and why; `remarks` are for people."""

    games: int = 0
    states: int = 0
    differences: list[Difference] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)
    skipped: list[str] = field(default_factory=list)
    remarks: list[str] = field(default_factory=list)

    @property
    def mismatches(self) -> int:
        """How many games came out otherwise."""
        return len(self.differences) + len(self.problems)
