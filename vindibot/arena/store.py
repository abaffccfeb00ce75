"""What is kept of a tournament: the results file, the game records beside it, and the configuration it was played with.

::

    results/cup.jsonl           a line per finished game, appended as they end (`vindibot.arena.results`)
    results/cup.games.jsonl     their records (`vindibot.games.game_record`); of two with the same id the last one counts
    results/cup.effective.toml  the whole configuration, which any later run may extend
    results/cup.html            the report (`vindibot.arena.report`)
    results/cup.logs/           what bots wrote to standard error

A record is written before its line, so that no line is without its record. A line that is cut off, by a crash or a full
disk, is cut away before anything is written behind it. Nothing is written into a file that no arena made.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import tomli_w

from vindibot.arena.results import GameLine, read
from vindibot.arena.sandbox import PlayedGame
from vindibot.base import Output, UsageError, VindibotError, begins_with
from vindibot.config import short

#: How results and game records begin, and what shows that an arena made a configuration or a report.
LINE, RECORD = b'{"version":', b'{"id":'
SETUP_MARK, REPORT_MARK = "# Made by vindibot arena", '<meta name="generator" content="vindibot arena">'
_INSTEAD = "--results names another file"


class StoreError(VindibotError):
    """Results that cannot be written: the message says why, and that what was there is whole."""


class _Lines:
    """A file of lines that only grows by whole ones."""

    def __init__(self, path: Path, whole: int | None = None) -> None:
        self.path = path
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            self._file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o644)
        except OSError as problem:
            raise StoreError(f"{short(path)}: cannot be written: {problem.strerror or problem}", 2) from None
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            os.close(self._file)
            raise UsageError(f"{short(path)}: another arena is writing to this file") from None
        self._size = self._end_of_lines() if whole is None else whole
        with contextlib.suppress(OSError):
            os.ftruncate(self._file, self._size)

    def _end_of_lines(self) -> int:
        """The number of bytes up to the end of the last whole line."""
        end = os.fstat(self._file).st_size
        while end > 0:
            start = max(0, end - 65536)
            found = os.pread(self._file, end - start, start).rfind(b"\n")
            if found >= 0:
                return start + found + 1
            end = start
        return 0

    def append(self, line: bytes) -> None:
        """Add a line. Raises `StoreError`, and leaves the file as it was."""
        data = line + b"\n"
        problem = "the disk is full"
        try:
            written = os.write(self._file, data)
        except OSError as error:
            problem, written = error.strerror or str(error), 0
        if written != len(data):
            with contextlib.suppress(OSError):
                os.ftruncate(self._file, self._size)
            raise StoreError(f"{short(self.path)}: cannot be written: {problem}")
        self._size += len(data)

    def close(self) -> None:
        os.close(self._file)


class Store:
    """The files of a tournament, open for more. `before` are the games that were there; `changes` says why no others may be added
    to them."""

    def __init__(
        self,
        path: Path,
        digest: str,
        setup: Mapping[str, Any],
        *,
        resume: bool,
        records: bool,
        changes: Callable[[Sequence[GameLine]], list[str]] = lambda before: [],
    ) -> None:
        self.path, self.before = path, list[GameLine]()
        whole = 0
        if path.is_file() and path.stat().st_size:
            if not begins_with(path, LINE):
                raise UsageError(f"{short(path)} is there already and has no results of an arena: {_INSTEAD}")
            if not resume:
                raise UsageError(f"{short(path)} is there already: --resume goes on with it, {_INSTEAD}")
            kept = read(path)
            self.before, whole = kept.games, kept.whole
            if self.before and self.before[0].tournament != digest:
                raise UsageError(f"{short(path)} is of another tournament: {difference(setup_path(path), setup)}")
            if found := changes(self.before):
                said = f"its games were played by another version: {'; '.join(found)}"
                raise UsageError(f"{short(path)}: {said}. --mix-versions goes on all the same")
        if not self.before and not resume:
            _refuse_others(path, records=records)
        if records and not begins_with(records_path(path), RECORD):
            raise UsageError(f"{short(records_path(path))} is there already and has no game records: move it away, or {_INSTEAD}")
        setup_file = owned(setup_path(path), SETUP_MARK)
        setup_file.check()
        self._results = _Lines(path, whole if path.is_file() and path.stat().st_size else None)
        self._records = _Lines(records_path(path)) if records else None
        if not self.before:
            setup_file.write(f"{SETUP_MARK}, which writes it anew: change a copy of it.\n{to_toml(setup)}")

    def append(self, played: PlayedGame) -> None:
        """Keep a game. Raises `StoreError`."""
        if self._records is not None:
            self._records.append(played.record)
        self._results.append(played.line.encode().encode())

    def close(self) -> None:
        """Close the files."""
        self._results.close()
        if self._records is not None:
            self._records.close()


def records_path(results: Path) -> Path:
    """Where the game records are."""
    return results.with_name(f"{results.stem}.games.jsonl")


def setup_path(results: Path) -> Path:
    """Where the configuration is."""
    return results.with_suffix(".effective.toml")


def logs_path(results: Path) -> Path:
    """The folder of what bots wrote to standard error."""
    return results.with_suffix(".logs")


def report_path(results: Path) -> Path:
    """Where the report is."""
    return results.with_suffix(".html")


def owned(path: Path, mark: str) -> Output:
    """A file beside the results that an arena writes, and replaces only if an arena made it."""
    return Output(path, mark, "vindibot arena", _INSTEAD)


def check_names(results: Path) -> None:
    """Raise `UsageError` for a name of results that one of the files beside them has too, or that no file can have."""
    if results.is_dir() or not results.name:
        raise UsageError(f"{short(results)} is a folder: --results names a file, as {short(results / 'cup.jsonl')}")
    if results.suffix in (".html", ".logs"):
        raise UsageError(f"{short(results)} is what the report or the logs of these results are called: name them *.jsonl")


def _refuse_others(results: Path, *, records: bool) -> None:
    """Raise `UsageError` if other results, which are not there any more, have left games or logs that ours would mix with."""
    there = [records_path(results)] if records and _has_something(records_path(results)) else []
    there += [logs_path(results)] if _has_something(logs_path(results)) else []
    if there:
        names = " and ".join(map(short, there)) + (" is" if len(there) == 1 else " are")
        raise UsageError(f"{names} there already, of other results: move them away, or {_INSTEAD}")


def _has_something(path: Path) -> bool:
    if path.is_dir():
        return any(path.iterdir())
    return path.is_file() and path.stat().st_size > 0


def difference(path: Path, setup: Mapping[str, Any]) -> str:
    """What differs between the configuration in a file and this one, in words."""
    import tomllib

    try:
        before = _flat(tomllib.loads(path.read_text("utf-8")))
    except (OSError, ValueError):
        return "its bots, maps, seed or limits were others"
    now = _flat(tomllib.loads(to_toml(setup)))
    ignored = ("blocks", "workers", "results", "records", "logs", "max_forfeits", "log.", "sprt.")
    found = [
        f"{key} was {_shown(before, key)} and is {_shown(now, key)}"
        for key in dict.fromkeys([*before, *now])
        if before.get(key) != now.get(key) and not key.startswith(ignored)
    ]
    return "; ".join(found[:4]) or "it was begun by another version of vindibot"


def _shown(table: Mapping[str, Any], key: str) -> str:
    return json.dumps(table[key]) if key in table else "not set"


def _flat(table: Mapping[str, Any], path: str = "") -> dict[str, Any]:
    found: dict[str, Any] = {}
    for key, value in table.items():
        if isinstance(value, Mapping):
            found |= _flat(value, f"{path}{key}.")
        else:
            found[path + key] = value
    return found


def to_toml(table: Mapping[str, Any]) -> str:
    """Return tables as TOML, without the keys whose value is None."""
    return tomli_w.dumps(_without_none(table))


def _without_none(table: Mapping[str, Any]) -> dict[str, Any]:
    kept = {key: value for key, value in table.items() if value is not None}
    return {key: _without_none(value) if isinstance(value, Mapping) else value for key, value in kept.items()}
