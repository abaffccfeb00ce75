"""Finds the trait that made a worker end: the trait that ran then, or a trait that ran earlier and damaged the process.

The trait that ran then becomes a suspect: the pool runs it alone, in its own worker. If it answers there, it is innocent, and one
of the traits that had run before it may have damaged the process. If the same earlier trait had run in two workers that ended
like this, this trait becomes a suspect too.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Sequence

from vindibot.engine.health import TraitHealth

#: A trait becomes a suspect if it had run in this number of ended workers, each time before a trait that proved innocent.
COINCIDENCES = 2


class Blame:
    """The suspicions in one game. A trait is given by its index in `health_records`."""

    def __init__(self, health_records: Sequence[TraitHealth]) -> None:
        self._health_records = health_records
        self._company: dict[int, set[int]] = {}  # suspect: the traits that had run before it
        self._seen: Counter[int] = Counter()

    def worker_ended(self, running: int, ran: Collection[int], note: str) -> None:
        """Record that a worker died or was killed while the trait `running` ran. `ran` are the traits that had run in it before.

        `note` says what happened.
        """
        company = set(ran) - {running}
        self._health_records[running].lost_worker(note, alone=not company)
        if company:
            self._company[running] = company
        else:
            self._company.pop(running, None)

    def did_well_alone(self, trait: int) -> None:
        """Record that a suspect has answered in its own worker and has not damaged it."""
        for other in self._company.pop(trait, ()):
            self._seen[other] += 1
            if self._seen[other] >= COINCIDENCES and not self._health_records[other].benched:
                self._health_records[other].suspect = True
                del self._seen[other]
