"""The clock of a trial: memory that the process of a trait writes and its owner reads, at any moment."""

from __future__ import annotations

import time

from vindibot.devtools.trials.answering import CLOCK, TrialClock


def test_it_tells_the_seconds_of_the_running_trait() -> None:
    clock = TrialClock(bytearray(CLOCK.itemsize))
    clock.rest()
    assert (clock.number, clock.used) == (-1, 0.0)
    clock.begin(3, 5.0)
    assert clock.number == 3
    assert 5.0 <= clock.used < 30.0
    clock.rest()
    assert (clock.number, clock.used) == (-1, 0.0)


def test_a_number_never_stands_beside_times_that_are_not_written() -> None:
    """The owner may read between two writes of the process. A trait must not seem to run since the start of the machine."""
    writes: list[tuple[str, float]] = []

    class Record(dict[str, float]):
        def __setitem__(self, name: str, value: float) -> None:
            super().__setitem__(name, value)
            writes.append((name, value))
            if seen.get("trait", -1) >= 0:
                assert time.monotonic() - seen["since"] < 30.0

    seen = Record()
    clock = TrialClock(bytearray(CLOCK.itemsize))
    clock._record = seen  # type: ignore[assignment]
    clock.rest()
    clock.begin(0, 0.0)
    clock.rest()
    clock.begin(1, 0.0)
    assert [name for name, _ in writes] == ["trait", "since", "used", "trait", "trait", "since", "used", "trait"]
