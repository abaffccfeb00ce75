"""Recorded games from which the tests of `vindibot learn` learn."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.learned import recorded_games


@pytest.fixture(scope="package")
def games(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The file of `recorded_games`."""
    return recorded_games(tmp_path_factory.mktemp("games") / "g.games.jsonl")
