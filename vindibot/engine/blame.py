"""Finds the trait that made a worker process end: the trait that ran at the end, or an earlier trait that damaged the process.

The trait that ran at the end becomes a suspect: the pool runs it alone, in a worker of its own. If it answers there, it is
innocent. Then one of the traits that had run before it in the ended worker may have damaged this worker. If the same trait had
run before innocent suspects in `COINCIDENCES` ended workers, this trait becomes a suspect too.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Sequence

from vindibot.engine.health import TraitHealth

#: A trait becomes a suspect if it had run in this number of ended workers, each time before a trait that proved innocent.
COINCIDENCES = 2


class Blame:
    """Records which traits may have damaged worker processes in one game. A trait is given by its index in `health_records`."""

    def __init__(self, health_records: Sequence[TraitHealth]) -> None:
        self._health_records = health_records
        self._company: dict[int, set[int]] = {}  # suspect: the traits that had run before it
        self._seen: Counter[int] = Counter()

    def worker_ended(self, running: int, ran: Collection[int], note: str) -> None:
        """Record that a worker died or was killed while the trait `running` ran in it.

        `ran` are the traits that had run in this worker before. `note` is a text for the log about what happened.
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
