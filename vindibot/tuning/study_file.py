"""The file of a study: lines of JSON, which are appended as the study goes on.

::

    {"vindibot-study": 1, "digest": ..., "setup": {...}}      the first line: everything that determines the games
    {"block": 17, "difference": {...}, "level": {...}, ...}   a block that has been played
    {"optuna": {...}}                                         an entry of Optuna's journal: its study and its trials

After a crash, the last line may be incomplete. It is removed when the study is resumed. So a crash loses at most the running
blocks.
"""

from __future__ import annotations

import json
from codecs import BOM_UTF8
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from vindibot.base.errors import UsageError, VindibotError
from vindibot.base.output.text import decode_json
from vindibot.base.writing import LineFile, begins_with, short
from vindibot.config.signature import digest_of
from vindibot.games.files.lines import fault
from vindibot.tuning.blocks import BlockResult

#: The key of the first line with the version of the format, and the first bytes of the file.
FORMAT, VERSION = "vindibot-study", 1
MARK = b'{"vindibot-study":'
INSTEAD = "--study names another file"


class StudyError(VindibotError):
    """The file of a study cannot be read or written. The message names the file and the reason."""


class _BlockLine(BaseModel):
    """A line with the result of a block (see `BlockResult`)."""

    model_config = ConfigDict(extra="forbid", allow_inf_nan=False)

    block: int = Field(ge=0)
    difference: dict[str, float]
    level: dict[str, float]
    rivals: tuple[str, ...] = ()
    failed: bool = False


class StudyFile:
    """The file of a study, open and locked, so that lines can be appended.

    `setup` is the setup of the study. `blocks` has the results by the number of the block. `journal` has the entries of Optuna's
    journal.
    """

    def __init__(self, path: Path, setup: Mapping[str, Any], lines: LineFile) -> None:
        self.path, self.setup = path, dict(setup)
        self.blocks: dict[int, BlockResult] = {}
        self.journal: list[dict[str, Any]] = []
        self._lines = lines

    @property
    def digest(self) -> str:
        """The digest of the setup, which names the study."""
        return digest_of(self.setup)

    @classmethod
    def create(cls, path: Path, setup: Mapping[str, Any]) -> StudyFile:
        """Begin a new file with this setup, and return it. Raises `UsageError` if the file exists and is not empty."""
        lines = LineFile.locked(path, "study", StudyError)
        try:
            if not lines.empty:
                goes_on = "--resume continues it, " if begins_with(path, MARK) else ""
                raise UsageError(f"{short(path)} is there already: {goes_on}{INSTEAD}")
            found = cls(path, json.loads(json.dumps(setup)), lines)
            found._append({FORMAT: VERSION, "digest": found.digest, "setup": found.setup})
        except BaseException:
            lines.discard()
            raise
        return found

    @classmethod
    def resume(cls, path: Path) -> StudyFile:
        """Open the file of a study to resume it. Raises `UsageError` if it is no study, and `StudyError` for a faulty line."""
        if not path.is_file():
            raise UsageError(f"{short(path)}: there is no such study")
        lines = LineFile.locked(path, "study", StudyError)
        try:
            if not begins_with(path, MARK):
                raise UsageError(f"{short(path)} is no study of vindibot tune")
            content = lines.read().removeprefix(BOM_UTF8).split(b"\n")[:-1]
            if not content:
                raise UsageError(f"{short(path)}: the study has no complete line: delete the file and begin again")
            head = _decoded(path, 1, content[0])
            if head.get(FORMAT) != VERSION:
                raise UsageError(f"{short(path)}: this vindibot reads studies of version {VERSION}, not {head.get(FORMAT)}")
            setup = head.get("setup")
            found = cls(path, setup if isinstance(setup, dict) else {}, lines)
            if found.digest != head.get("digest"):
                raise UsageError(f"{short(path)}, line 1: the setup was changed: a study cannot go on with another setup")
            for number, line in enumerate(content[1:], start=2):
                found._read(_decoded(path, number, line), number)
        except BaseException:
            lines.close()
            raise
        return found

    def _read(self, entry: dict[str, Any], number: int) -> None:
        if isinstance(entry.get("optuna"), dict):
            self.journal.append(entry["optuna"])
            return
        try:
            line = _BlockLine.model_validate(entry)
        except ValidationError as problem:
            raise StudyError(f"{short(self.path)}, line {number}: {fault(problem, VERSION)}", 2) from None
        self.blocks.setdefault(line.block, BlockResult(line.difference, line.level, line.rivals, line.failed))

    def add_block(self, number: int, result: BlockResult) -> None:
        """Append the result of a block."""
        self._append({"block": number, **asdict(result)})
        self.blocks[number] = result

    def add_journal(self, entry: dict[str, Any]) -> None:
        """Append an entry of Optuna's journal."""
        self._append({"optuna": entry})
        self.journal.append(entry)

    def _append(self, entry: Mapping[str, Any]) -> None:
        try:
            self._lines.append(json.dumps(entry, separators=(",", ":")).encode())
        except OSError as problem:
            raise StudyError(f"{short(self.path)}: cannot be written: {problem.strerror or problem}") from None

    def close(self) -> None:
        """Close the file."""
        self._lines.close()


def _decoded(path: Path, number: int, line: bytes) -> dict[str, Any]:
    try:
        found = decode_json(line)
    except ValueError as problem:
        raise StudyError(f"{short(path)}, line {number}: {problem}", 2) from None
    if not isinstance(found, dict):
        raise StudyError(f"{short(path)}, line {number}: must be an object", 2)
    return found
