"""Notes: what a trait says on a turn, and the squares that it marks. `View.note` and `View.mark` make them."""

from __future__ import annotations

from typing import Any, NamedTuple

#: Largest number of notes of a trait on one turn, and the largest length of a note in characters.
MOST_NOTES, LONGEST_NOTE = 16, 200


class Note(NamedTuple):
    """A note: a text, and the square (`sim.game.square`) that the note marks. None for a note without a square."""

    text: str
    square: int | None = None


class Notes:
    """The notes of one trait on one turn. Only the first `MOST_NOTES` notes are kept."""

    def __init__(self) -> None:
        self._first: list[Note] = []
        self._left_out = 0

    def add(self, text: Any, square: int | None = None) -> None:
        """Add a note. Only the first `LONGEST_NOTE` characters of the text are kept, on one line, without control characters."""
        if len(self._first) == MOST_NOTES:
            self._left_out += 1
            return
        words = " ".join(str(text)[: 4 * LONGEST_NOTE].split())
        words = "".join(sign if sign.isprintable() else "\N{REPLACEMENT CHARACTER}" for sign in words)
        self._first.append(Note(words if len(words) <= LONGEST_NOTE else f"{words[: LONGEST_NOTE - 1]}…", square))

    def taken(self) -> tuple[Note, ...]:
        """Return the notes so far. If notes were left out, a last note says how many."""
        if not self._left_out:
            return tuple(self._first)
        more = "1 more note is" if self._left_out == 1 else f"{self._left_out} more notes are"
        return (*self._first, Note(f"… {more} left out"))
