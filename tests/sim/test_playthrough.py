"""The transcript of a whole game is as it was."""

from __future__ import annotations

from tests.support.playthrough import FILE, transcript


def test_the_game_is_as_it_was() -> None:
    """After a change of the rules or of paths that is meant: ``python tests/support/playthrough.py``, and look at the
    difference."""
    assert transcript().splitlines() == FILE.read_text().splitlines()
