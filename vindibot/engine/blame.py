"""Which trait is to blame for the end of a worker.

The trait that ran is the first suspect: it goes on alone, in a worker of its own. If it does well there, the traits that had
run in the same process before it may have damaged that process. A trait that was there at two such ends is a suspect too.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Sequence

from vindibot.engine.health import TraitHealth

#: Ends of workers with a running trait that turned out to be innocent, after which a trait that had run before is a suspect.
COINCIDENCES = 2


class Blame:
    """The suspicions of one game. Traits are numbers of `health_records`."""

    def __init__(self, health_records: Sequence[TraitHealth]) -> None:
        self._health_records = health_records
        self._company: dict[int, set[int]] = {}  # of a first suspect: what had run before it
        self._seen: Counter[int] = Counter()

    def worker_ended(self, running: int, ran: Collection[int], note: str) -> None:
        """A worker died, or was killed, while `running` ran, and after the traits `ran` had."""
        company = set(ran) - {running}
        self._health_records[running].lost_worker(note, alone=not company)
        if company:
            self._company[running] = company
        else:
            self._company.pop(running, None)

    def did_well_alone(self, trait: int) -> None:
        """A suspect has answered, and its worker, which nothing else has run in, is still sound."""
        for other in self._company.pop(trait, ()):
            self._seen[other] += 1
            if self._seen[other] >= COINCIDENCES and not self._health_records[other].benched:
                self._health_records[other].suspect = True
                del self._seen[other]
