"""Reading of files with one JSON value per line, and messages about faulty lines. If the name of a file ends in ``.gz``, the file
is gzipped."""

from __future__ import annotations

import gzip
import warnings
import zlib
from codecs import BOM_UTF8
from collections.abc import Iterator
from pathlib import Path

from pydantic import ValidationError

from vindibot.base.errors import VindibotError
from vindibot.base.text import decode_json
from vindibot.base.writing import short

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
                line = line.removeprefix(BOM_UTF8) if number == 1 else line
                if line.strip():
                    yield number, line
    except (EOFError, gzip.BadGzipFile, zlib.error) as problem:
        raise error(f"{path}, after line {number}: the file is cut off or damaged ({problem})") from None
    except OSError as problem:
        raise error(f"{path}: cannot be read: {problem.strerror or problem}", 2) from None


def whole_lines(path: Path, error: type[VindibotError]) -> Iterator[tuple[int, bytes]]:
    """Yield the lines of a file as `read_lines` does, but leave out an unfinished last line, and warn of it.

    A program that still writes the file, or that was killed, leaves such a line.
    """
    for number, line in read_lines(path, error):
        if number > 1 and is_unfinished(line):
            warnings.warn(
                f"{short(path)}, line {number}: the last line is unfinished and was left out", RuntimeWarning, stacklevel=1
            )
            return
        yield number, line


def is_unfinished(line: bytes) -> bool:
    """Return whether a line of JSON, or of a stream of events, was not written to its end.

    After a power failure, some file systems leave zeros instead of a line.
    """
    if line.endswith(b"\n"):
        return not line.strip(b"\0\n")
    try:
        decode_json(line.removeprefix(b"data:"))
    except ValueError:
        return True
    return False


def is_no_json(problem: ValidationError) -> bool:
    """Return whether `problem`, the error of a line, says that the line is not valid JSON."""
    return problem.errors(include_url=False)[0]["type"] == "json_invalid"


def fault(problem: ValidationError, version: int) -> str:
    """Return a text that says what is wrong with a line. If the version of the format is wrong, the text says only this.

    `problem` is the error of the line. `version` is the version of the format that this program reads.
    """
    errors = problem.errors(include_url=False)
    first = next((error for error in errors if error["loc"] == ("version",)), errors[0])
    if first["type"] == "json_invalid":
        return f"this is no JSON ({first['ctx']['error']})"
    if first["loc"] != ("version",):
        return ": ".join(filter(None, (".".join(map(str, first["loc"])), first["msg"])))
    return f"the format's version is {first['input']!r:.20}, this program reads {version}: use the vindibot that wrote it"
