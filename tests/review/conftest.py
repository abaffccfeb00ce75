"""A recording and a file of game records to review, small enough for tests."""

from __future__ import annotations

from pathlib import Path

import pytest
from rich.console import Console

from sim.generator import generate
from tests.support.paths import DATA
from tests.support.recorded import record_of
from vindibot.games.files.review import is_review_line
from vindibot.games.game_record import dumps
from vindibot.games.outcome import Reason

#: Number of turns of the recording that the tests review, and of plies of a game record.
TURNS, PLIES = 6, 24


@pytest.fixture
def recording(tmp_path: Path) -> Path:
    """The last turns of the recorded game in the tests' data, without its review."""
    lines = [line for line in (DATA / "reviewed.review.jsonl").read_bytes().splitlines() if not is_review_line(line)]
    path = tmp_path / "game.jsonl"
    path.write_bytes(b"\n".join([lines[0], *lines[-TURNS - 1 :], b""]))
    return path


@pytest.fixture
def records(tmp_path: Path) -> Path:
    """A file with the records of three short games on one map."""
    path = tmp_path / "cup.games.jsonl"
    plies = [[(3 * ply + game) % 5 for ply in range(PLIES)] for game in range(3)]
    made = [
        record_of(generate(3, size=10), moves, id=f"g{game}", max_turns=PLIES, names=("a", "b", "a", "c"), ending=Reason.FINISHED)
        for game, moves in enumerate(plies)
    ]
    path.write_bytes(b"".join(dumps(record) + b"\n" for record in made))
    return path


@pytest.fixture
def console() -> Console:
    """A console of 80 columns that remembers what it prints."""
    return Console(width=80, record=True, highlight=False)
