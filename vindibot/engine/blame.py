"""The blame for the end of a worker: the trait that ran, or one that has damaged the process before.

The trait that ran becomes a suspect: it continues alone, in its own worker. If it answers there, one of the traits that had run
before it may have damaged the process. A trait that has run before two such ends becomes a suspect too.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Sequence

from vindibot.engine.health import TraitHealth

#: Number of ends of workers, each with another innocent trait running, that make a trait a suspect if it had run before.
COINCIDENCES = 2


class Blame:
    """The suspicions of a game. A trait is an index of `health_records`."""

    def __init__(self, health_records: Sequence[TraitHealth]) -> None:
        self._health_records = health_records
        self._company: dict[int, set[int]] = {}  # suspect: the traits that had run before it
        self._seen: Counter[int] = Counter()

    def worker_ended(self, running: int, ran: Collection[int], note: str) -> None:
        """Record that a worker died or was killed while `running` ran, after the traits `ran` had run in it."""
        company = set(ran) - {running}
        self._health_records[running].lost_worker(note, alone=not company)
        if company:
            self._company[running] = company
        else:
            self._company.pop(running, None)

    def did_well_alone(self, trait: int) -> None:
        """Record that a suspect has answered in its own worker, and that the worker is not damaged."""
        for other in self._company.pop(trait, ()):
            self._seen[other] += 1
            if self._seen[other] >= COINCIDENCES and not self._health_records[other].benched:
                self._health_records[other].suspect = True
                del self._seen[other]
