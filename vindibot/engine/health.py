"""How the traits of a game have behaved: which raised or hung how often, which are benched, how long each takes.

A trait may be blamed for what another did to the process that both ran in. So a strike benches a trait only if it had the
process to itself; after a strike in company it is a suspect, and the pool lets it run alone.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field
from inspect import isgeneratorfunction

import structlog

from behaviours.base import Behaviour
from vindibot.engine.runner import Vote
from vindibot.games import BallotEntry, Status

log = structlog.get_logger("vindibot.traits")

#: Turns of a trait that are looked back on.
WINDOW = 20
#: Characters of what a trait printed that people are shown.
EXCERPT = 120
#: The note of a trait that had not come back, and had no votes, when the time of the turn was over.
STILL_RUNNING = "it was still running when the time of the turn was over"
#: Strikes within the window that bench a trait for the rest of the game.
STRIKES = 3


@dataclass
class TraitHealth:
    """One trait's record in one game. A strike is a turn in which it raised, or in which its worker died or was killed."""

    label: str
    weight: float
    anytime: bool
    allowed: int = STRIKES
    benched: bool = False
    mean_ms: float = 0.0
    failures: int = 0
    printed: int = 0
    strikes: deque[bool] = field(default_factory=lambda: deque(maxlen=WINDOW))
    suspect: bool = False  # whether it is to run alone

    def fresh(self) -> TraitHealth:
        """A clean record of the same trait."""
        return TraitHealth(self.label, self.weight, self.anytime, self.allowed)

    def note(self, status: Status, note: str, ms: float) -> None:
        """It came back with a final vote."""
        if status == "error":
            self.raised(note)
        elif status == "void":
            self.voided(note)
        else:
            self.answered(ms)

    def answered(self, ms: float) -> None:
        """It answered in `ms` milliseconds."""
        self._went(well=True)
        self.mean_ms += (ms - self.mean_ms) * 0.2

    def voided(self, note: str) -> None:
        """Its answer was no vote: no strike, but it is told."""
        self._went(well=True)
        self._tell("void vote", note)

    def raised(self, note: str, *, alone: bool = True) -> None:
        """It raised; `alone` says that no other trait has run in its process."""
        self._tell("trait failed", note)
        self._struck(note, alone=alone)

    def lost_worker(self, note: str, *, alone: bool) -> None:
        """Its worker died, or had to be killed, while it ran; `alone` as above."""
        self._tell("trait failed" if alone else "trait suspected", note)
        self._struck(note, alone=alone)
        self.suspect = not self.benched

    def _struck(self, note: str, *, alone: bool) -> None:
        self._went(well=False)
        if self.benched or sum(self.strikes) < self.allowed:
            return
        if alone:
            self.benched = True
            log.error("trait benched", trait=self.label, strikes=sum(self.strikes), turns=len(self.strikes), last=note)
        self.suspect = not alone

    def prints(self, text: str) -> None:
        """It printed something on this turn: all of it goes to the log's file, a glimpse of it now and then to people."""
        self.printed += 1
        if _is_power_of_two(self.printed):
            log.info("trait printed", trait=self.label, count=self.printed, text=_excerpt(text))
        log.debug("all that the trait printed", trait=self.label, text=text)

    def _went(self, *, well: bool) -> None:
        self.strikes.append(not well)
        self.suspect = self.suspect and any(self.strikes)

    def _tell(self, event: str, note: str) -> None:
        """Log the 1st, 2nd, 4th, 8th … failure: enough to see it, never a flood."""
        self.failures += 1
        if _is_power_of_two(self.failures):
            log.warning(event, trait=self.label, count=self.failures, reason=note)


def _is_power_of_two(count: int) -> bool:
    return count & (count - 1) == 0


def _excerpt(text: str) -> str:
    return text if len(text) <= EXCERPT else f"{text[:EXCERPT]}…"


def is_anytime(behaviour: type[Behaviour] | Behaviour) -> bool:
    """Whether a behaviour's `vote` is a generator."""
    return isgeneratorfunction(behaviour.vote)


def entry(health: TraitHealth, vote: Vote | None, failure: tuple[Status, str] | None = None) -> BallotEntry:
    """A trait's line in the ballot: its latest vote of this turn, if any, or what went wrong."""
    votes = list(vote.votes) if vote is not None and vote.votes is not None else None
    ms = vote.ms if vote is not None else 0.0
    info = vote.info if vote is not None else None
    if failure is not None:
        return BallotEntry(health.label, health.weight, votes, ms, *failure, info)
    if vote is not None and vote.status != "ok":
        return BallotEntry(health.label, health.weight, None, ms, vote.status, vote.note)
    # An anytime trait that is stopped by the clock has done what it is for.
    in_time = vote is not None and (vote.final or health.anytime)
    status: Status = "ok" if in_time else "benched" if health.benched else "late"
    return BallotEntry(health.label, health.weight, votes, ms, status, info=info)
