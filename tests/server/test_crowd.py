"""Many games at once, with clients in a process of their own."""

from __future__ import annotations

import pytest

from tests.benchmarks.server import measure


@pytest.mark.slow_long
async def test_200_games_at_once_without_a_crash_of_a_player_in_time() -> None:
    rate, watch, _, refused = await measure(200, 20.0)
    assert rate > 0
    assert watch.plies > 1000
    assert watch.crashes == 0
    assert not refused
