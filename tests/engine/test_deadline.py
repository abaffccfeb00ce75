"""The stop word: set in time, turn after turn, by a thread that is told only of what it would miss."""

from __future__ import annotations

import time
from collections.abc import Iterator

import pytest

from tests.support.waiting import wait_until
from vindibot.engine.deadline import StopWord

#: Seconds that nobody waits for.
LONG = 600.0


@pytest.fixture
def stop() -> Iterator[StopWord]:
    made = StopWord()
    yield made
    made.close()


def wait_for(stop: StopWord) -> float:
    """The moment at which the word was set."""
    wait_until(lambda: stop.word[0], 30.0)
    return time.monotonic()


def test_it_is_set_at_its_moment_turn_after_turn(stop: StopWord) -> None:
    for seconds in (0.02, 0.001, 0.05, 0.0, -1.0, 0.02):
        moment = time.monotonic() + seconds
        stop.set_at(moment)
        assert wait_for(stop) >= moment
        stop.rest()
        assert stop.word[0] == 1


def test_a_short_turn_after_a_long_one_is_not_slept_through(stop: StopWord) -> None:
    stop.set_at(time.monotonic() + LONG)
    stop.rest()
    assert stop.word[0] == 0
    stop.set_at(time.monotonic() + 0.01)
    wait_for(stop)


def test_a_turn_that_is_over_does_not_stop_the_next(stop: StopWord) -> None:
    for _ in range(200):
        stop.set_at(time.monotonic() + 0.0005)
        stop.rest()
        stop.clear()
        assert stop.word[0] == 0
    stop.set_at(time.monotonic() + LONG)
    time.sleep(0.01)
    assert stop.word[0] == 0
    stop.set()
    assert stop.word[0] == 1
