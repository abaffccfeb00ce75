"""The health of the traits in a game: for each trait its strikes, whether it is benched, and the time that it takes.

A strike is a turn on which a trait raised, or on which its worker died or was killed. A trait with too many strikes is benched:
it is not asked for the rest of the game.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field
from inspect import isgeneratorfunction

import structlog

from behaviours.base import Behaviour, SplitBehaviour
from vindibot.engine.runner import Vote
from vindibot.games.ballot import BallotEntry, Status

log = structlog.get_logger("vindibot.traits")

#: Number of a trait's last turns in which its strikes count.
WINDOW = 20
#: Number of characters of a trait's output that the terminal shows.
EXCERPT = 120
#: The note in the ballot about a trait that had no votes and still ran at the end of the turn.
STILL_RUNNING = "it was still running when the time of the turn was over"
#: Number of strikes within `WINDOW` turns after which a trait is benched for the rest of the game.
STRIKES = 3


@dataclass
class TraitHealth:
    """The health record of a trait in a game.

    - `allowed`: the number of strikes within `WINDOW` turns after which the trait is benched.
    - `mean_ms`: a moving average of the trait's time per turn, in milliseconds.
    - `failures`, `printed`: the number of failures, and the number of turns on which the trait printed something.
    - `strikes`: for each of the trait's last turns, whether it was a strike.
    - `split`: whether workers can share the trait's work (`behaviours.base.SplitBehaviour`).
    - `all_prints`: whether the terminal shows everything that the trait prints.
    """

    label: str
    weight: float
    anytime: bool
    allowed: int = STRIKES
    benched: bool = False
    mean_ms: float = 0.0
    failures: int = 0
    printed: int = 0
    strikes: deque[bool] = field(default_factory=lambda: deque(maxlen=WINDOW))
    split: bool = False
    all_prints: bool = False

    @classmethod
    def of(
        cls, label: str, weight: float, behaviour: Behaviour, allowed: int = STRIKES, *, all_prints: bool = False
    ) -> TraitHealth:
        """Return a clean record of a behaviour with this label and weight in a bot.

        The trait is benched after `allowed` strikes within `WINDOW` turns.
        """
        split = isinstance(behaviour, SplitBehaviour)
        return cls(label, weight, is_anytime(behaviour), allowed, split=split, all_prints=all_prints)

    def fresh(self) -> TraitHealth:
        """Return a clean record of the same trait."""
        return TraitHealth(self.label, self.weight, self.anytime, self.allowed, split=self.split, all_prints=self.all_prints)

    def note(self, status: Status, note: str, ms: float) -> None:
        """Record the final vote of the trait on a turn: its status, its note, and its time in milliseconds."""
        if status == "error":
            self.strike(note)
        elif status == "void":
            self.voided(note)
        else:
            self.answered(ms)

    def answered(self, ms: float) -> None:
        """Record a valid answer that took `ms` milliseconds."""
        self._record(strike=False)
        self.mean_ms += (ms - self.mean_ms) * 0.2

    def voided(self, note: str) -> None:
        """Record an answer that was no valid vote, and log it. Such an answer is not a strike."""
        self._record(strike=False)
        self._warn("void vote", note)

    def strike(self, note: str) -> None:
        """Record a strike: the trait raised, or its worker ended while the trait ran."""
        self._warn("trait failed", note)
        self._record(strike=True)
        if not self.benched and sum(self.strikes) >= self.allowed:
            self.benched = True
            log.error("trait benched", trait=self.label, strikes=sum(self.strikes), turns=len(self.strikes), last=note)

    def prints(self, text: str) -> None:
        """Write the text that the trait printed on a turn to the log file.

        For the 1st, 2nd, 4th, 8th, ... text, also show its start on the terminal. With `all_prints`, show each text as a whole.
        """
        self.printed += 1
        if self.all_prints:
            log.info("trait printed", trait=self.label, count=self.printed, text=text)
            return
        if _is_power_of_two(self.printed):
            log.info("trait printed", trait=self.label, count=self.printed, text=_excerpt(text))
        log.debug("all that the trait printed", trait=self.label, text=text)

    def _record(self, *, strike: bool) -> None:
        self.strikes.append(strike)

    def _warn(self, event: str, note: str) -> None:
        """Count a failure. Log the 1st, 2nd, 4th, 8th, ... failure."""
        self.failures += 1
        if _is_power_of_two(self.failures):
            log.warning(event, trait=self.label, count=self.failures, reason=note)


def _is_power_of_two(count: int) -> bool:
    return count & (count - 1) == 0


def _excerpt(text: str) -> str:
    return text if len(text) <= EXCERPT else f"{text[:EXCERPT]}…"


def is_anytime(behaviour: type[Behaviour] | Behaviour) -> bool:
    """Return whether a behaviour is an anytime behaviour: its `vote` is a generator function."""
    return isgeneratorfunction(behaviour.vote)


def ballot_entry(health: TraitHealth, vote: Vote | None, failure: tuple[Status, str] | None = None) -> BallotEntry:
    """Return a trait's entry in the ballot: its latest vote of this turn, if any, and its status.

    `failure` is the status and the note of a trait that has failed on this turn.
    """
    votes = list(vote.votes) if vote is not None and vote.votes is not None else None
    ms = vote.ms if vote is not None else 0.0
    info = vote.info if vote is not None else None
    notes = vote.notes if vote is not None else ()
    if failure is not None:
        return BallotEntry(health.label, health.weight, votes, ms, *failure, info, notes)
    if vote is not None and vote.status != "ok":
        return BallotEntry(health.label, health.weight, None, ms, vote.status, vote.note, notes=notes)
    # An anytime trait that has voted and still runs at the deadline is not late.
    in_time = vote is not None and (vote.final or health.anytime)
    status: Status = "ok" if in_time else "benched" if health.benched else "late"
    return BallotEntry(health.label, health.weight, votes, ms, status, info=info, notes=notes)
