"""Attempts: how often `vindibot tune promote` has tested a candidate for a family of versions.

If a family tests many candidates, one of them passes by chance. So each attempt has games of its own, from a seed of its own. It
also has an error rate of its own: attempt k has the rate alpha / (k (k + 1)). The sum of these rates over all attempts is alpha.
So the probability is at most alpha that the family ever gets a version that is not stronger than its parent.

The attempts of the family NAME are in the file ``NAME.attempts.jsonl`` in the folder of its versions::

    {"attempt": 3, "identity": "5f...", "candidate": "mybot-tuned", "parent": "mybot", "date": "2026-01-31"}
    {"attempt": 3, "outcome": "refused"}

An attempt without an outcome was interrupted. The same command continues it.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from contextlib import closing
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Literal

from vindibot.base.errors import UsageError, VindibotError
from vindibot.base.seeds import derive_seed
from vindibot.base.writing import LineFile, begins_with, short

#: The first bytes of a file of attempts.
MARK = b'{"attempt":'

AttemptOutcome = Literal["promoted", "refused"]


class AttemptError(VindibotError):
    """The file of attempts cannot be read or written. The message names the file and the reason."""


@dataclass(frozen=True)
class PromotionAttempt:
    """An attempt of a family. `number` counts from 1."""

    number: int

    def alpha(self, alpha: float) -> float:
        """Return the error rate of this attempt if all attempts of the family together have the error rate `alpha`."""
        return alpha / (self.number * (self.number + 1))

    def seed(self, seed: int) -> int:
        """Return the seed of the games of this attempt. `seed` is the seed in the settings."""
        return derive_seed(seed, "attempt", self.number)


@dataclass(frozen=True)
class AttemptFile:
    """The file with the attempts of a family. The file is locked only while it is read and written."""

    path: Path

    def begin(self, identity: str, candidate: str, parent: str) -> PromotionAttempt:
        """Return the attempt to play: the last one if it has this `identity` and no outcome, else a new one, which is stored.

        `identity` is a digest of everything that determines the games, except for the seed of the attempt.
        """
        with closing(self._locked()) as file:
            begun: dict[int, str] = {}
            ended: set[int] = set()
            for number, entry in self._entries():
                if "outcome" in entry:
                    ended.add(number)
                else:
                    begun[number] = str(entry.get("identity"))
            last = max(begun, default=0)
            if last and last not in ended and begun[last] == identity:
                return PromotionAttempt(last)
            date = f"{datetime.now(UTC):%Y-%m-%d}"
            entry = {"attempt": last + 1, "identity": identity, "candidate": candidate, "parent": parent, "date": date}
            self._append(file, entry)
            return PromotionAttempt(last + 1)

    def end(self, attempt: PromotionAttempt, outcome: AttemptOutcome) -> None:
        """Store the outcome of an attempt."""
        with closing(self._locked()) as file:
            self._append(file, {"attempt": attempt.number, "outcome": outcome})

    def _locked(self) -> LineFile:
        if self.path.exists() and not begins_with(self.path, MARK):
            raise UsageError(f"{short(self.path)} is there already and has no attempts of vindibot tune promote: move it away")
        return LineFile.locked(self.path, "vindibot tune promote", AttemptError)

    def _entries(self) -> list[tuple[int, Mapping[str, Any]]]:
        found = []
        for number, line in enumerate(self.path.read_bytes().splitlines(), start=1):
            try:
                entry = json.loads(line)
                found.append((int(entry["attempt"]), entry))
            except (ValueError, TypeError, KeyError) as problem:
                raise AttemptError(f"{short(self.path)}, line {number}: is no attempt: {problem}", 2) from None
        return found

    def _append(self, file: LineFile, entry: Mapping[str, Any]) -> None:
        try:
            file.append(json.dumps(entry).encode())
        except OSError as problem:
            raise AttemptError(f"{short(self.path)}: cannot be written: {problem.strerror or problem}") from None
