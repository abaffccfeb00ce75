"""Where things lie that tests read."""

from __future__ import annotations

from pathlib import Path

#: The folder of the project, and that of its tests.
TOP = Path(__file__).resolve().parents[2]
TESTS = TOP / "tests"
#: Recorded games, boards and positions; bots that tests play with.
DATA, BOTS = TESTS / "data", TESTS / "bots"
#: Recorded games of the original engine and a C engine, beside the project where they are at hand.
SHARED = TOP.parent / "shared"
