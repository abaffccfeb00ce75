"""Paths of files that tests read."""

from __future__ import annotations

from pathlib import Path

#: The folder of the project, and that of its tests.
TOP = Path(__file__).resolve().parents[2]
TESTS = TOP / "tests"
#: The folder of recorded games, boards and positions, and the folder of bots for tests.
DATA, BOTS = TESTS / "data", TESTS / "bots"
#: Recorded games of the original engine, and a C engine. They are beside the project, but not everywhere.
SHARED = TOP.parent / "shared"
