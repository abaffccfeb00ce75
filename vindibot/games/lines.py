"""Reading of files with one JSON value per line, gzipped if the name of the file ends in ``.gz``."""

from __future__ import annotations

import gzip
import zlib
from collections.abc import Iterator
from pathlib import Path

from vindibot.base import VindibotError

#: Largest length of a line in bytes. A longer line is cut into pieces, which are not valid JSON.
_LONGEST = 1 << 26


def read_lines(path: Path, error: type[VindibotError]) -> Iterator[tuple[int, bytes]]:
    """Yield the number (from 1) and the bytes of each line that is not blank.

    If the file cannot be read or is damaged, raises an exception of type `error` that names the file and the reason.
    """
    number = 0
    try:
        with gzip.open(path, "rb") if path.suffix == ".gz" else path.open("rb") as file:
            while line := file.readline(_LONGEST):
                number += 1
                if line.strip():
                    yield number, line
    except (EOFError, gzip.BadGzipFile, zlib.error) as problem:
        raise error(f"{path}, after line {number}: the file is cut off or damaged ({problem})") from None
    except OSError as problem:
        raise error(f"{path}: cannot be read: {problem.strerror or problem}") from None
