"""The log of a command: readable lines in the terminal, JSON lines in a file, without secrets.

All modules log with ``structlog.get_logger()``. Within ``context(game=..., hero=..., turn=...)`` each log line has these fields.
`configured` chooses the outputs. Libraries that use Python's own `logging` (httpx, uvicorn, asyncio) write their warnings and
errors to the same outputs. Lines of these libraries with lower levels are left out, because they contain URLs with tokens.

A line of the file is one JSON object: time (ISO 8601, UTC), level, event, then game, turn and hero if known, then the other
fields. Each line is written at once, so that a crash loses no line.
"""

from __future__ import annotations

import json
import logging
import sys
import time
import traceback
from collections.abc import Iterator, Mapping, MutableMapping
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import structlog
from rich.console import Console
from rich.text import Text

from vindibot.base.console import terminal
from vindibot.base.errors import UsageError
from vindibot.base.text import SECRETS, add_secret as add_secret, printable, printable_lines
from vindibot.base.writing import begins_with

LEVELS = {"debug": 10, "info": 20, "warning": 30, "error": 40, "critical": 50}
#: The first bytes of a log file.
LINE = b'{"time": "'
#: The fields of a line that say which game it is about, and what stands before each in the terminal.
_ABOUT = {"game": "", "hero": "#", "turn": "turn "}
#: The fields that have places of their own in a line of the terminal, or none.
_PLACED = ("time", "level", "event", "logger", "traceback", *_ABOUT)
_STYLES = {"debug": "dim", "warning": "yellow", "error": "red", "critical": "bright_red"}
#: The parent of all our loggers.
_OURS = "vindibot"

_log = structlog.get_logger("vindibot.base.log")

#: Add these fields to every later log line of this asyncio task, until the surrounding `context` ends: ``bind(turn=12)``.
bind = structlog.contextvars.bind_contextvars


class _Output(logging.Handler):
    """Prints log lines of `level` and above on a console of rich, below which a live board stays intact, and appends all to a
    file.

    Errors of the console are ignored, and the first error of the file ends it: no log may disturb a game.
    """

    def __init__(self, console: Console, level: int, path: Path | None) -> None:
        super().__init__()
        self._console, self._level, self._path = console, level, path
        if path is None:
            return
        if not begins_with(path, LINE):
            raise UsageError(f"log.file: {path} exists and is not a log of vindibot: name another file")
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            self._file = path.open("a", encoding="utf-8", errors="backslashreplace")
        except OSError as problem:
            raise UsageError(f"log.file: {path} cannot be written: {problem.strerror or problem}") from None

    def filter(self, record: logging.LogRecord) -> bool:
        """Return whether a line is ours, or a warning or an error of a library."""
        return record.levelno >= logging.WARNING or record.name.partition(".")[0] == _OURS

    def emit(self, record: logging.LogRecord) -> None:
        """Write a line."""
        with suppress(Exception, SystemExit):
            line = SECRETS.plain(_fields(record))
            self._append(line)
            if record.levelno >= self._level:
                text = _shown(line, traces=self._level <= logging.DEBUG)
                self._console.print(text, soft_wrap=True, highlight=False)

    def _append(self, line: Mapping[str, Any]) -> None:
        if self._path is None:
            return
        try:
            self._file.write(json.dumps(line, ensure_ascii=False) + "\n")
            self._file.flush()
        except (OSError, ValueError) as problem:
            path, self._path = self._path, None
            with suppress(OSError, ValueError):
                self._file.close()
            _log.error(f"the log {path} cannot be written any more: {problem}")

    def close(self) -> None:
        """Close the file."""
        if self._path is not None:
            with suppress(OSError, ValueError):
                self._file.close()
        super().close()


def _fields(record: logging.LogRecord) -> dict[str, Any]:
    """Return the fields of a log line. An exception becomes `error` (one line) and `traceback`."""
    if isinstance(record.msg, dict):  # one of our lines
        fields = {**record.msg}
    else:
        fields = {**structlog.contextvars.get_contextvars(), "event": record.getMessage(), "exc_info": record.exc_info}
    if record.name == "py.warnings":  # without the file, the line and the source
        first = str(fields["event"]).partition("\n")[0]
        fields["event"] = first.partition("Warning: ")[2] or first
    problem = fields.pop("exc_info", None)
    problem = sys.exc_info()[1] if problem is True else problem[1] if isinstance(problem, tuple) else problem
    if isinstance(problem, BaseException):
        fields |= {"error": f"{type(problem).__name__}: {problem}", "traceback": "".join(traceback.format_exception(problem))}
    moment = datetime.fromtimestamp(record.created, UTC).isoformat()
    first_fields = {"time": moment, "level": record.levelname.lower(), "event": str(fields.pop("event", ""))}
    about = {name: fields.pop(name) for name in _ABOUT if name in fields}
    return first_fields | about | fields | {"logger": record.name}


def _shown(line: Mapping[str, Any], *, traces: bool) -> Text:
    """Return a line for the terminal: ``12:01:33 warning a1b2c3d4 #1 turn 400  worker killed  trait=combat``."""
    style = _STYLES.get(line["level"], "")
    about = "".join(f"{mark}{_word(line[name])} " for name, mark in _ABOUT.items() if line.get(name) is not None)
    text = Text.assemble((time.strftime("%H:%M:%S "), "dim"), (f"{line['level']:<7} ", style))
    text.append(f"{about} " if about else "", "cyan").append(printable(line["event"]), style)
    for name, value in line.items():
        if name not in _PLACED:
            text.append(f"  {printable(name)}", "dim").append(f"={_word(value)}")
    if traces and "traceback" in line:
        text.append(f"\n{printable_lines(line['traceback'].rstrip())}", "dim")
    return text


def _word(value: Any) -> str:
    """Return a value as one line of text: a word as it is, other texts in quotes, lists and dictionaries as JSON."""
    if isinstance(value, float):
        return f"{value:.4g}"
    if isinstance(value, dict | list):
        return printable(json.dumps(value, ensure_ascii=False))
    text = printable(str(value))
    return text if text and " " not in text else f'"{text}"'


def _to_record(_logger: Any, _method: str, event: MutableMapping[str, Any]) -> tuple[tuple[object, ...], dict[str, Any]]:
    """Return the arguments with which structlog calls a logger of the standard library: the fields as its message."""
    return (dict(event),), {}


@contextmanager
def context(**about: Any) -> Iterator[None]:
    """Add these fields (game, turn, hero ...) to every log line within this block, and in asyncio tasks that the block starts.

    At the end of the block all fields get their earlier values back, also the fields that `bind` has set.
    """
    before = structlog.contextvars.get_contextvars()
    structlog.contextvars.bind_contextvars(**about)
    try:
        yield
    finally:
        structlog.contextvars.clear_contextvars()
        structlog.contextvars.bind_contextvars(**before)


@contextmanager
def configured(level: str = "info", file: Path | str | None = None, console: Console | None = None) -> Iterator[None]:
    """Within this block, show log lines of `level` and above in the terminal, and append all log lines to `file`.

    Create `file` and its folders. `console` is the rich console that shows the game. Without `console`, the terminal's lines go
    to standard error. A block in this block replaces its outputs. Raises `UsageError` if the file cannot be opened.
    """
    if level not in LEVELS:
        raise UsageError(f"log.level must be one of {', '.join(LEVELS)}, not {level}")
    output = _Output(console if console is not None else terminal(stderr=True), LEVELS[level], Path(file) if file else None)
    lowest = logging.DEBUG if file else LEVELS[level]
    root, ours = logging.getLogger(), logging.getLogger(_OURS)
    outer = [handler for handler in root.handlers if isinstance(handler, _Output)]
    before, level_before = structlog.get_config(), ours.level
    for handler in outer:
        root.removeHandler(handler)
    structlog.configure(
        processors=[structlog.contextvars.merge_contextvars, _to_record],
        wrapper_class=structlog.make_filtering_bound_logger(lowest),
        logger_factory=lambda name=_OURS: logging.getLogger(name),
        cache_logger_on_first_use=False,
    )
    ours.setLevel(lowest)
    root.addHandler(output)
    logging.captureWarnings(True)
    try:
        yield
    finally:
        logging.captureWarnings(bool(outer))
        root.removeHandler(output)
        output.close()
        for handler in outer:
            root.addHandler(handler)
        ours.setLevel(level_before)
        structlog.configure(**before)
