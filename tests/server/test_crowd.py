"""Many games at once, with clients in a process of their own."""

from __future__ import annotations

import pytest

from tests.benchmarks.server import measure


@pytest.mark.slow
async def test_200_games_at_once_and_nobody_who_answers_in_time_is_crashed() -> None:
    rate, watch, _, refused = await measure(200, 20.0)
    assert rate > 0
    assert watch.plies > 1000
    assert watch.crashes == 0
    assert not refused
