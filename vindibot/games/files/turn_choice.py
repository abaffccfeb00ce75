"""The choice of a recorded turn: by its number, by its round, or as one of the worst moves of a review."""

from __future__ import annotations

import shlex

from sim.game import PLIES_PER_ROUND
from vindibot.base.errors import UsageError
from vindibot.base.output.text import counted
from vindibot.base.writing import short
from vindibot.games.files.recording import RecordedTurn, Recording
from vindibot.games.files.review import read_review, review_path


def choose_turn(
    recording: Recording, *, turn: int | None = None, round_number: int | None = None, worst: int | None = None
) -> RecordedTurn:
    """Return one of our turns in a recording. Exactly one of the keyword arguments is not None.

    - `turn`: the number of the turn in the protocol.
    - `round_number`: the number of the round, from 1.
    - `worst`: 1 for the worst move in the review of the recording, 2 for the next, and so on.

    Raises `UsageError` if there is no review or no such bad move, and `RecordingError` if there is no such turn. The message
    names the nearest turns.
    """
    if round_number is not None:
        turn = PLIES_PER_ROUND * (round_number - 1) + recording.header.hero - 1
    if worst is not None:
        turn = _worst_turn(recording, worst)
    assert turn is not None
    return recording.turn(turn)


def _worst_turn(recording: Recording, place: int) -> int:
    path = review_path(recording.path)
    review = read_review(path, recording.header.game) if path.is_file() else None
    if review is None:
        command = shlex.join(["vindibot", "review", short(recording.path)])
        raise UsageError(f"{short(recording.path)} has no review: make one with  {command}")
    moves = review.worst(hero=recording.header.hero - 1)
    if place > len(moves):
        raise UsageError(f"{short(path)} has {counted(len(moves), 'bad move')} of hero {recording.header.hero}")
    return moves[place - 1].turn
