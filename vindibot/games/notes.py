"""The notes of a game: what bots and programs said on their turns, and the squares that they marked.

A trait says something with `behaviours.base.View.note` and `View.mark`. A program that speaks the line protocol says something
with the message of its answer, and every program with the lines of its standard error.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Annotated

from pydantic import AfterValidator, Field, TypeAdapter

from behaviours.notes import LONGEST_NOTE, Note
from sim.game import MAX_SIZE, row_column

#: Largest number of notes of a hero that are kept in a game.
MOST_IN_GAME = 4000
#: The last note of a hero that has too many notes.
NO_MORE = f"… further notes of this game are left out: there are more than {MOST_IN_GAME}"
#: The sources of notes of a program: the message of its answer, and its standard error.
MESSAGE, STANDARD_ERROR = "message", "stderr"

_Place = Annotated[int, Field(ge=0, lt=MAX_SIZE)]


def _on_board(square: int) -> int:
    if not all(0 <= place < MAX_SIZE for place in row_column(square)):
        raise ValueError(f"{square} is no square of a board")
    return square


_Text = Annotated[str, Field(max_length=LONGEST_NOTE)]
_NOTES: TypeAdapter[list[tuple[_Text, Annotated[int, AfterValidator(_on_board)] | None]]] = TypeAdapter(
    list[tuple[_Text, Annotated[int, AfterValidator(_on_board)] | None]]
)


@dataclass(frozen=True)
class GameNote:
    """A note in a game record.

    - `turn`: the protocol's turn on which it was said.
    - `hero`: the hero that said it, 1..4.
    - `source`: the label of a trait, `MESSAGE` or `STANDARD_ERROR`.
    - `square`: (row, column) of the marked square, None for a note without a square.
    """

    turn: Annotated[int, Field(ge=0)]
    hero: Annotated[int, Field(ge=1, le=4)]
    source: str
    text: str
    square: tuple[_Place, _Place] | None = None


class NoteLimit:
    """The limit of the notes of one hero in one game."""

    def __init__(self) -> None:
        self._left = MOST_IN_GAME

    def limited(self, notes: Sequence[Note]) -> tuple[Note, ...]:
        """Return the next notes without those above the limit. The first note above the limit becomes `NO_MORE`."""
        left, self._left = self._left, self._left - len(notes)
        if self._left >= 0:
            return tuple(notes)
        return (*notes[:left], Note(NO_MORE)) if left >= 0 else ()


def game_notes(turn: int, hero: int, source: str, notes: Iterable[Note]) -> list[GameNote]:
    """Return the notes of one source on a turn, as notes of a game. `hero` is 1..4."""
    return [GameNote(turn, hero, source, note.text, None if note.square is None else row_column(note.square)) for note in notes]


def write_notes(notes: Sequence[Note]) -> bytes:
    """Return notes as JSON for another process, empty without notes."""
    return json.dumps(notes, ensure_ascii=False, separators=(",", ":")).encode() if notes else b""


def read_notes(data: bytes) -> tuple[Note, ...]:
    """Return the notes in what `write_notes` has made. Return no notes for other bytes, which a trait of another process may
    write."""
    try:
        return tuple(Note(*note) for note in _NOTES.validate_json(data)) if data else ()
    except ValueError:
        return ()
