"""The file of a review: a copy of the game's lines, then the lines of the review. The game's own file never changes.

By default, the review of the game in ``recordings/x.jsonl`` is in ``recordings/x.review.jsonl``. Each reviewed turn is appended
when it is ready. So an interrupted review can be continued.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Self

from vindibot.base.errors import UsageError, VindibotError
from vindibot.base.writing import LineFile, short
from vindibot.games.files.lines import whole_lines
from vindibot.games.files.recording import Recording
from vindibot.games.files.review import (
    REVIEW_SUFFIX,
    Review,
    ReviewedTurn,
    ReviewHeader,
    is_review_line,
    parse_review,
    read_reviews,
    write_review_line,
)
from vindibot.games.game_record import GameRecord, dumps

INSTEAD = "--output names another file"


class ReviewFile:
    """A file of reviews, open for more lines. `reviews` has the reviews that the file had when it was opened, by game id.

    `source` is the file of the game. With `again`, the first line that is written replaces all earlier lines. Raises `UsageError`
    if the file exists and has no review, if it is the game itself, or if another review is writing to it. Raises `VindibotError`
    if the file cannot be written.
    """

    def __init__(self, path: Path, source: Path, again: bool = False) -> None:
        self.path = path
        self._games: set[str] = set()
        self.reviews: dict[str, Review] = {}
        if path.exists() and source.exists() and path.samefile(source) and not path.name.endswith(REVIEW_SUFFIX):
            raise UsageError(f"{short(path)} is the game itself: {INSTEAD}")
        self._file = LineFile.locked(path, "review", VindibotError)
        try:
            reviews = self._read()
            if again:
                self._file.clear()
            else:
                self.reviews = {one.header.game: one for one in parse_review(reviews, path)}
        except BaseException:
            self._file.discard()
            raise

    def _read(self) -> list[tuple[int, bytes]]:
        """Return the complete lines of reviews with their line numbers. Raises `UsageError` if the file has content, but none."""
        try:
            content = self._file.read()
        except OSError as problem:
            raise VindibotError(f"{short(self.path)}: cannot be read: {problem.strerror or problem}", 2) from None
        complete = content[: content.rfind(b"\n") + 1]
        numbered = [(number, line) for number, line in enumerate(complete.split(b"\n"), 1) if is_review_line(line)]
        if content and not numbered and b'"review' not in content:
            raise UsageError(f"{short(self.path)} is there already and has no review: move it away, or {INSTEAD}")
        return numbered

    def begin(self, game: Recording | GameRecord, header: ReviewHeader) -> None:
        """Write the game and the header of its review, unless the file has them.

        Raises `UsageError` if the file has a review of this game with other settings.
        """
        before = self.reviews.get(header.game)
        if before is None:
            lines = [dumps(game)] if isinstance(game, GameRecord) else _complete_lines(game)
            for line in [*lines, write_review_line(header)]:
                self._append(line)
            return
        if before.header.digest != header.digest:
            raise UsageError(
                f"{short(self.path)} has a review of game {header.game:.60} by {before.header.bot} with other settings or another"
                f" version: --again replaces it, {INSTEAD}"
            )
        if before.header != header:
            self._append(write_review_line(header))

    def add(self, turn: ReviewedTurn) -> None:
        """Append a reviewed turn. It belongs to the game of the last call of `begin`."""
        self._append(write_review_line(turn))

    def complete(self) -> list[Review]:
        """Return all reviews of the file as they are now."""
        return read_reviews(self.path)

    def close(self) -> None:
        """Close the file. Remove it if it is new and empty."""
        self._file.discard()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _append(self, line: bytes) -> None:
        try:
            self._file.append(line)
        except OSError as problem:
            raise VindibotError(f"{short(self.path)}: cannot be written: {problem.strerror or os.strerror(5)}") from None


def _complete_lines(recording: Recording) -> list[bytes]:
    """Return the lines of a recording's file, without the lines of a review and without an unfinished last line."""
    return [line.rstrip(b"\n") for _, line in whole_lines(recording.path, VindibotError) if not is_review_line(line)]
