"""Split traits: the memory with statistics, the leader's votes, and helpers that join, stop and fail."""

from __future__ import annotations

import itertools
import mmap
import os
import signal
import time
from typing import Any

import numpy as np
import pytest
from hypothesis import given, strategies as st
from hypothesis.extra.numpy import array_shapes, arrays

from behaviours import Behaviour, SplitBehaviour, View, VoteError
from behaviours.base import MOST_DIMENSIONS, MOST_STATISTICS, plain_statistics
from behaviours.registry import BehaviourError, find
from tests.support.pools import STAY, all_ready, ask, game, pool_of, records, statuses, trait
from tests.support.waiting import until
from vindibot.engine.parts import HelperPart, Parts, PartsLayout, lead
from vindibot.games.ballot import BallotEntry

LAYOUT = PartsLayout((3, 5), 2)
#: Seconds of a turn in which helpers surely join.
LONG = 1.0


def memory(layout: PartsLayout = LAYOUT) -> Parts:
    return Parts(mmap.mmap(-1, layout.size), layout)


def counts(entry: BallotEntry) -> tuple[int, int, int]:
    """Return the number of parts, the steps of part 0, and the steps of all other parts, as the trait `Splits` votes."""
    assert entry.votes is not None
    parts, own, others = (int(vote) for vote in entry.votes[:3])
    return parts, own, others


# -- the memory --


def test_statistics_are_found_by_request_trait_and_worker() -> None:
    parts = memory()
    assert parts.get(7, 3) == []
    parts.put(7, 1, 3, np.array([1.0, 2.0]))
    parts.put(7, 1, 5, np.array([[3.0], [4.0]]))
    parts.put(7, 0, 3, np.array(9.0))
    first, second = parts.get(7, 3)
    assert (first.statistics.tolist(), second.statistics.tolist()) == (9.0, [1.0, 2.0])
    assert [part.statistics.tolist() for part in parts.get(7, 5)] == [[[3.0], [4.0]]]
    assert parts.get(8, 3) == []
    assert not second.final
    parts.finish(8, 1, 3)
    assert not parts.get(7, 3)[1].final
    parts.finish(7, 1, 3)
    assert [part.final for part in parts.get(7, 3)] == [False, True]
    parts.put(8, 1, 3, np.array([5.0]))
    assert [(part.statistics.tolist(), part.final) for part in parts.get(8, 3)] == [([5.0], False)]
    assert second.statistics.tolist() == [1.0, 2.0], "what was read is a copy"


@given(st.lists(arrays(np.float64, array_shapes(min_dims=0, max_dims=MOST_DIMENSIONS, min_side=0, max_side=5)), min_size=1))
def test_all_statistics_pass_through_the_memory(written: list[Any]) -> None:
    parts = memory(PartsLayout((0,), 2))
    for number, statistics in enumerate(written, start=1):
        parts.put(number, 1, 0, plain_statistics(statistics))
        (part,) = parts.get(number, 0)
        assert part.statistics.shape == statistics.shape
        assert part.statistics.tobytes() == statistics.tobytes()


def test_half_written_statistics_are_never_read() -> None:
    """Another process writes all the time: long arrays of equal numbers, whose shapes differ."""
    parts = memory(PartsLayout((0,), 2))
    pid = os.fork()
    if not pid:
        for count in itertools.count(1):
            parts.put(4, 1, 0, np.full((100 + count % 3, 1000), float(count)))
    try:
        limit, seen = time.monotonic() + 20.0, set[float]()
        while len(seen) < 50 and time.monotonic() < limit:
            for part in parts.get(4, 0):
                (value,) = np.unique(part.statistics)
                assert part.statistics.shape == (100 + int(value) % 3, 1000)
                seen.add(float(value))
    finally:
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
    assert len(seen) == 50


@pytest.mark.parametrize(
    ("statistics", "message"),
    [
        ([1.0], "not list"),
        (np.zeros(3, np.int64), "not int64"),
        (np.zeros(MOST_STATISTICS + 1), r"not of shape \(131073,\)"),
        (np.zeros((1,) * (MOST_DIMENSIONS + 1)), "at most 4 dimensions"),
    ],
)
def test_what_is_no_statistics_is_an_error(statistics: Any, message: str) -> None:
    with pytest.raises(VoteError, match=message):
        plain_statistics(statistics)


# -- the leader --


def splits(**parameters: Any) -> SplitBehaviour:
    records([])  # makes the module importable
    found = trait("Splits", **parameters).build()
    assert isinstance(found, SplitBehaviour)
    return found


def part(number: int, steps: int, *, final: bool = True) -> HelperPart:
    return HelperPart(np.array([float(number), float(steps)]), final)


def test_the_leader_adds_up_what_the_helpers_have_published() -> None:
    split, view = splits(steps=3, pause=0.0), View(game(), 0)
    assert list(lead(split, view, list)) == list(split.vote(view)), "without helpers the answers are those of the trait"
    published: list[list[HelperPart]] = [[], [part(2, 7)], [part(2, 8), part(3, 1)], [part(2, 9), part(3, 4)]]
    answers = list(lead(split, view, iter(published).__next__))
    assert [answer.votes[:3] for answer in answers] == [[1, 1, 0], [2, 2, 7], [3, 3, 9], [3, 3, 13]]
    assert [answer.nodes for answer in answers] == [1, 9, 12, 16]


# -- the pool --


@pytest.mark.slow_faults
async def test_a_worker_without_work_helps() -> None:
    async with pool_of(trait("Splits"), workers=3) as pool:
        assert len(pool.workers) == 3
        for turn in range(3):
            (entry,) = await ask(pool, 4 * turn, LONG)
            parts, own, others = counts(entry)
            assert entry.status == "ok"
            assert parts == 3
            assert others > own / 2 > 3
            assert entry.info is not None
            assert entry.info.nodes == own + others
            await until(lambda: all_ready(pool))
        assert not pool.replacements


@pytest.mark.parametrize("workers", [1, 2])
async def test_with_nodes_the_votes_do_not_depend_on_the_number_of_workers(workers: int) -> None:
    async with pool_of(trait("Splits"), STAY, workers=workers) as pool:
        entries = await ask(pool, seconds=20.0, nodes=20)
        assert entries[0].votes == [1, 20, 0, 0, 0]


async def test_the_end_of_part_0_ends_the_turn() -> None:
    async with pool_of(trait("Splits", steps=100), STAY) as pool:
        began = time.monotonic()
        entries = await ask(pool, seconds=30.0)
        assert time.monotonic() - began < 15.0
        parts, own, others = counts(entries[0])
        assert (parts, own) == (2, 100)
        assert 0 < others <= 100
        await until(lambda: all_ready(pool))
        assert not pool.replacements


@pytest.mark.slow_faults
@pytest.mark.parametrize("workers", [2, 3])
async def test_a_trait_that_cannot_be_split_is_asked_first(workers: int) -> None:
    """No helper delays it, also if it waits behind a slow trait."""
    plans = [trait("Splits"), trait("Splits"), trait("Tags", seconds=0.15), trait("Tags"), trait("Improves", pause=0.001)]
    async with pool_of(*plans, workers=workers) as pool:
        for turn in range(4):
            entries = await ask(pool, 4 * turn, LONG)
            assert statuses(entries) == ["ok"] * 5
            assert entries[3].votes == [4 * turn, 0, 0, 0, 0]
            await until(lambda: all_ready(pool))


@pytest.mark.slow_faults
async def test_a_helper_stops_if_a_trait_waits_for_a_worker() -> None:
    """The split trait waits behind a slow trait. The worker that helped then leads it."""
    async with pool_of(trait("Splits"), STAY, trait("Tags", seconds=1.5), grace=5.0) as pool:
        entries = await ask(pool, seconds=LONG)
        assert statuses(entries) == ["ok", "ok", "late"]
        parts, own, others = counts(entries[0])
        assert parts == 2, "its own part, and the one that it played before"
        assert own > others > 0


@pytest.mark.slow_faults
@pytest.mark.parametrize("fails", ["raises", "dies", "hangs"])
async def test_a_part_that_fails_costs_a_strike_and_no_vote(fails: str) -> None:
    """The votes count with what the part had published."""
    async with pool_of(trait("Splits", fails=fails), STAY, workers=2, grace=0.05) as pool:
        entries = await ask(pool, seconds=LONG)
        assert statuses(entries) == ["ok", "ok"]
        parts, own, others = counts(entries[0])
        assert (parts, others) == (2, 3)
        assert own > 3
        await until(lambda: all_ready(pool) and sum(pool.health_records[0].strikes) == 1)


class NoStatistics(SplitBehaviour):
    """Has nothing."""


class NoCombine(SplitBehaviour):
    """Has statistics only."""

    def statistics(self, view: View, part: int) -> Any:
        yield np.zeros(1)


@pytest.mark.parametrize(("kind", "method"), [(NoStatistics, "statistics"), (NoCombine, "combine")])
def test_a_split_trait_without_its_methods_is_refused(kind: type[Behaviour], method: str) -> None:
    with pytest.raises(BehaviourError, match=f"has no method {method}"):
        find(f"{kind.__module__}:{kind.__qualname__}")
