"""The log of a command: readable lines in the terminal, JSON lines in a file, without secrets.

All modules log with ``structlog.get_logger()``. Within ``context(game=..., hero=..., turn=...)`` each log line has these fields.
`setup` chooses the outputs. Libraries that use the standard library's `logging` (httpx, uvicorn, asyncio) write their warnings
and errors to the same outputs. Lines of these libraries with lower levels are left out, because they contain URLs with tokens.

A line of the file is one JSON object: time (ISO 8601, UTC), level, event, then game, turn and hero if known, then the other
fields. Each line is written at once, so that a crash loses no line.
"""

from __future__ import annotations

import logging
import sys
import time
import traceback
from collections.abc import Iterator, Mapping, MutableMapping
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import Any

import structlog
from rich.console import Console
from rich.text import Text
from structlog.dev import BRIGHT, CYAN, DIM, RED, RESET_ALL, YELLOW
from structlog.stdlib import ProcessorFormatter, add_log_level, add_logger_name

from vindibot.base.errors import UsageError
from vindibot.base.output.console import terminal
from vindibot.base.output.redaction import (
    add_secret as add_secret,
    redacted,
)
from vindibot.base.output.text import printable, printable_lines
from vindibot.base.writing import begins_with

LEVELS = {"debug": 10, "info": 20, "warning": 30, "error": 40, "critical": 50}
#: The first bytes of a log file.
LINE = b'{"time": "'
#: The first fields of a line of the file, in this order.
_FIRST = ("time", "level", "event", "game", "turn", "hero")
_STYLES = {"debug": DIM, "warning": YELLOW, "error": RED, "critical": BRIGHT + RED}
#: The parent of all our loggers.
_OURS = "vindibot"

_Event = MutableMapping[str, Any]
_log = structlog.get_logger("vindibot.base.log")


# ---- Processors ----


def _describe_exception(_logger: Any, _method: str, event: _Event) -> _Event:
    """Replace an exception by the fields `error` (one line) and `traceback`."""
    problem = event.pop("exc_info", None)
    if problem is True:
        problem = sys.exc_info()
    if isinstance(problem, tuple):
        problem = problem[1]
    if isinstance(problem, BaseException):
        event.setdefault("error", f"{type(problem).__name__}: {redacted(problem)}")
        event["traceback"] = "".join(traceback.format_exception(problem))
    return event


def _redact(_logger: Any, _method: str, event: _Event) -> _Event:
    """Mask all secrets, and convert values to plain data (see `Redactor.plain`). Leave the fields for `ProcessorFormatter` as
    they are."""
    meta = {name: event.pop(name) for name in ("_record", "_from_structlog") if name in event}
    return {**redacted(event), "event": redacted(str(event.get("event", ""))), **meta}


def _put_in_order(_logger: Any, _method: str, event: _Event) -> _Event:
    return {name: event[name] for name in _FIRST if name in event} | {**event}


def _shorten_warning(_logger: Any, _method: str, event: _Event) -> _Event:
    """Reduce a warning of Python to the message: remove the file, the line and the source."""
    if event["_record"].name == "py.warnings":
        line = str(event["event"]).partition("\n")[0]
        event["event"] = line.partition("Warning: ")[2] or line
    return event


_SHARED: list[Any] = [
    structlog.contextvars.merge_contextvars,
    _describe_exception,
    _redact,
    add_log_level,
    add_logger_name,
    structlog.processors.TimeStamper(fmt="iso", utc=True, key="time"),
    _put_in_order,
]


def _formatter(*processors: Any) -> ProcessorFormatter:
    """Return a formatter with these processors. It formats our lines and the lines of the standard library's loggers."""
    return ProcessorFormatter(
        foreign_pre_chain=[_shorten_warning, *_SHARED],
        processors=[ProcessorFormatter.remove_processors_meta, *processors],
    )


_ABOUT = {"game": "", "hero": "#", "turn": "turn "}


def _for_terminal(_logger: Any, _method: str, event: _Event, *, traces: bool) -> str:
    """Return a line for the terminal: ``12:01:33 warning a1b2c3d4 #1 turn 400  worker killed trait=combat``."""
    style = _STYLES.get(event["level"], "")
    about = "".join(f"{mark}{_word(event[name])} " for name, mark in _ABOUT.items() if event.get(name) is not None)
    words = [f"{DIM}{time.strftime('%H:%M:%S')}{RESET_ALL}", f"{style}{event['level']:<7}{RESET_ALL}"]
    words += [f"{CYAN}{about}{RESET_ALL}"] if about else []
    words.append(f"{style}{printable(event['event'])}{RESET_ALL}")
    others = {printable(name): value for name, value in event.items() if name not in (*_FIRST, "logger", "traceback")}
    words += [f" {DIM}{name}{RESET_ALL}={_word(value)}" for name, value in others.items()]
    trace = f"\n{DIM}{printable_lines(event['traceback'].rstrip())}{RESET_ALL}" if "traceback" in event else ""
    return " ".join(words) + (trace if traces else "")


def _word(value: Any) -> str:
    """Return a value as one line of text: a word as it is, other texts in quotes, lists and dictionaries in brackets."""
    if isinstance(value, float):
        return f"{value:.4g}"
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{printable(key)}: {_word(inner)}" for key, inner in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(_word(inner) for inner in value) + "]"
    text = printable(str(value))
    return text if text and " " not in text else f'"{text}"'


# ---- Outputs ----


class _ConsoleHandler(logging.Handler):
    """A handler that prints lines on a console of rich. If the console shows a live board, the board stays intact."""

    def __init__(self, console: Console, level: int) -> None:
        super().__init__(level)
        self._console = console
        self.setFormatter(_formatter(partial(_for_terminal, traces=level <= logging.DEBUG)))

    def emit(self, record: logging.LogRecord) -> None:
        """Print a line. Ignore all errors, such as a closed terminal: they must not disturb a game."""
        with suppress(Exception, SystemExit):
            self._console.print(Text.from_ansi(self.format(record)), soft_wrap=True, highlight=False)


class _FileHandler(logging.FileHandler):
    """A handler that appends lines as JSON to a file. After a failed write it logs one error and closes the file."""

    def __init__(self, path: Path) -> None:
        if not begins_with(path, LINE):
            raise UsageError(f"log.file: {path} exists and is no log of vindibot: name another file")
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            super().__init__(path, encoding="utf-8", errors="backslashreplace")
        except OSError as problem:
            raise UsageError(f"log.file: {path} cannot be written: {problem.strerror or problem}") from None
        self._shown_path = str(path)
        self.setFormatter(_formatter(structlog.processors.JSONRenderer(ensure_ascii=False)))

    def handleError(self, record: logging.LogRecord) -> None:  # noqa: N802 - the name is logging's
        """Log one error and close the file."""
        problem = sys.exc_info()[1]
        if isinstance(problem, OSError | ValueError):
            self.setLevel(logging.CRITICAL + 1)
            with suppress(OSError, ValueError):
                self.close()
            _log.error(f"the log {self._shown_path} cannot be written any more: {problem}")


_handlers: list[logging.Handler] = []


def setup(level: str = "info", file: Path | str | None = None, console: Console | None = None) -> None:
    """Show log lines of `level` and above in the terminal, and append all log lines to `file`. Create `file` and its folders.

    `console` is the rich console that shows the game. Without `console`, the terminal's lines go to standard error. A second call
    replaces the outputs of the first call. Raises `UsageError` if the file cannot be opened.
    """
    if level not in LEVELS:
        raise UsageError(f"log.level must be one of {', '.join(LEVELS)}, not {level}")
    opened = [_FileHandler(Path(file))] if file else []
    close()
    _handlers.extend([*opened, _ConsoleHandler(console if console is not None else terminal(stderr=True), LEVELS[level])])
    lowest = logging.DEBUG if opened else LEVELS[level]
    structlog.configure(
        processors=[*_SHARED, ProcessorFormatter.wrap_for_formatter],
        wrapper_class=structlog.make_filtering_bound_logger(lowest),
        logger_factory=lambda name=_OURS: logging.getLogger(name),
        cache_logger_on_first_use=False,
    )
    logging.getLogger(_OURS).setLevel(lowest)
    for handler in _handlers:
        handler.addFilter(_is_wanted)
        logging.getLogger().addHandler(handler)
    logging.captureWarnings(True)


def _is_wanted(record: logging.LogRecord) -> bool:
    """Return whether a line is ours, or a warning or an error of another library."""
    return record.levelno >= logging.WARNING or record.name.partition(".")[0] == _OURS


def close() -> None:
    """Close the log file, and stop all output of log lines. Called at the end of a command and between tests."""
    if not _handlers:
        return
    logging.captureWarnings(False)
    for handler in _handlers:
        logging.getLogger().removeHandler(handler)
        with suppress(OSError, ValueError):
            handler.close()
    _handlers.clear()
    logging.getLogger(_OURS).setLevel(logging.NOTSET)
    structlog.reset_defaults()


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


def bind(**about: Any) -> None:
    """Add these fields to every later log line of this asyncio task, until the surrounding `context` ends: ``bind(turn=12)``."""
    structlog.contextvars.bind_contextvars(**about)


@contextmanager
def configured(level: str = "info", file: Path | str | None = None, console: Console | None = None) -> Iterator[None]:
    """Call `setup` with these arguments before the block, and `close` after the block."""
    setup(level, file, console)
    try:
        yield
    finally:
        close()
