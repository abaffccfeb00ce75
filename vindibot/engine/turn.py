"""One turn of the process pool: what the workers are asked, and the votes and failures so far."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field

from vindibot.engine.runner import Vote
from vindibot.games.ballot import Status


@dataclass
class PoolTurn:
    """The turn on which the traits vote now. A trait is given by its number."""

    number: int
    games: bytes
    recent_count: int
    me: int
    deadline: float
    seed: int
    nodes: int | None
    over: bool = False
    idle: bool = False  # no worker works on it, and a timer is set
    done: asyncio.Future[None] | None = None
    waiting: list[int] = field(default_factory=list)
    votes: dict[int, Vote] = field(default_factory=dict)
    failures: dict[int, tuple[Status, str]] = field(default_factory=dict)
    rescued: set[int] = field(default_factory=set)
    helped: set[tuple[int, int]] = field(default_factory=set)  # (index of a worker, trait) of the parts that were begun

    def is_final(self, trait: int) -> bool:
        """Return whether a trait has failed or published its final vote."""
        return trait in self.failures or (trait in self.votes and self.votes[trait].final)

    def take(self, vote: Vote) -> None:
        """Take a vote that a worker has published. A vote that is already final is not replaced.

        Of a trait that has failed, only the notes are taken. Its earlier votes stay.
        """
        if not self.is_final(vote.trait):
            self.votes[vote.trait] = vote
        elif vote.trait in self.failures and vote.notes:
            before = self.votes.get(vote.trait, Vote(vote.trait, None, 0.0, final=True))
            self.votes[vote.trait] = before._replace(notes=vote.notes)

    def end(self) -> None:
        """End the turn, because all votes are final or the deadline has come."""
        self.over = True
        if self.done is not None and not self.done.done():
            self.done.set_result(None)
