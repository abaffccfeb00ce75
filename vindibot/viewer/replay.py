"""``vindibot replay``: write a recording or a game record as one HTML file."""

from __future__ import annotations

import re
from pathlib import Path

from vindibot.base.errors import UsageError
from vindibot.base.writing import Output
from vindibot.games.files.game_files import read_game_file
from vindibot.games.files.recording import Recording
from vindibot.games.files.review import REVIEW_SUFFIX, Review, read_review, review_path, write_review_line
from vindibot.games.game_record import GameRecord, dumps
from vindibot.viewer.bundle import bundle_of
from vindibot.viewer.page import MARK, SourceFile, whole_page


def replay_file(path: Path, out: Path | None = None, game: str | None = None) -> Path:
    """Write the page of the game in the file `path` to `out`, or into the current folder. Return the path of the page.

    If the file has several games, `game` selects one: an id, or a number from 1. The page shows the review of the game if the
    file has one, or if ``x.review.jsonl`` beside ``x.jsonl`` has one. An earlier page of this command is overwritten. Raises
    `VindibotError` for a damaged file and for a file without a game, and `UsageError` if `out` exists and is no page of this
    command.
    """
    target = out if out is not None else Path(f"{path.name.removesuffix('.gz').removesuffix('.jsonl')}.html")
    if target.exists() and target.samefile(path):
        raise UsageError(f"{target} is the game itself: give another file to --html")
    output = page_output(target, "--html names another file")
    output.check()
    found = read_game_file(path, game)
    review = _review(path, found)
    output.write(whole_page(bundle_of(found, review), source_file(found, review)))
    return target


def _review(path: Path, game: Recording | GameRecord) -> Review | None:
    """Return the review of a game from the file `path`, or from the file of `vindibot review` beside it. Return None if there is
    none."""
    name = game.id if isinstance(game, GameRecord) else game.header.game
    beside = review_path(path)
    return read_review(path, name) or (read_review(beside, name) if beside.is_file() else None)


def source_file(game: Recording | GameRecord, review: Review | None = None) -> SourceFile:
    """Return the file that the page of a game offers for download: the unchanged recording, or a file with this game record.

    `review` is the review of a game record, None if there is none. The file has this review too.
    """
    if isinstance(game, GameRecord):
        lines = [dumps(game)]
        if review is not None:
            lines += [write_review_line(review.header), *map(write_review_line, review.turns)]
        name = re.sub(r"[^A-Za-z0-9_-]+", "-", game.id)[:60] + (".games.jsonl" if review is None else REVIEW_SUFFIX)
        return SourceFile(name, b"".join(line + b"\n" for line in lines))
    path = game.path
    # The user may send the page to others, so it has no absolute path of this machine.
    inside = not path.is_absolute() and ".." not in path.parts
    return SourceFile(path.name, path.read_bytes(), path.as_posix() if inside else path.name)


def page_output(path: Path, instead: str) -> Output:
    """Return an `Output` that writes the page of a game to `path`. It replaces an existing file only if this file is an earlier
    page.

    `instead` tells the user how to name another file.
    """
    return Output(path, MARK, "vindibot replay", instead)


def record_page(record: GameRecord) -> str:
    """Return the page of a game record as one HTML file. Raises `GameRecordError` if the game cannot be computed from the
    record."""
    return whole_page(bundle_of(record), source_file(record))
