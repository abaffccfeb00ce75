"""What is told while a command runs: readable lines in the terminal, JSON lines in a file, and no secret in either.

Anyone logs with ``structlog.get_logger()``. Within ``context(game=..., hero=..., turn=...)`` every line knows what it is
about. `setup` decides where the lines go. The standard library's loggers (httpx, uvicorn, asyncio) go the same way, from
warnings on: what they say below that has URLs with tokens in it.

A line of the file is one JSON object: time (ISO 8601, UTC), level, event, then game, turn and hero where there is a game,
and the rest by name. It is written at once: a crash loses nothing that was told before.
"""

from __future__ import annotations

import logging
import sys
import time
import traceback
from collections.abc import Iterator, Mapping, MutableMapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import structlog
from rich.console import Console
from rich.text import Text
from structlog.dev import BRIGHT, CYAN, DIM, RED, RESET_ALL, YELLOW, Column, ConsoleRenderer, KeyValueColumnFormatter
from structlog.stdlib import ProcessorFormatter, add_log_level, add_logger_name

from vindibot.base.console import terminal
from vindibot.base.errors import UsageError
from vindibot.base.redaction import (
    add_secret as add_secret,  # also for those who log
    redacted,
)
from vindibot.base.text import printable, printable_lines
from vindibot.base.writing import begins_with

LEVELS = {"debug": 10, "info": 20, "warning": 30, "error": 40, "critical": 50}
#: How a log begins.
LINE = b'{"time": "'
#: What stands first in a line of the file, in this order.
_FIRST = ("time", "level", "event", "game", "turn", "hero")
_STYLES = {"debug": DIM, "warning": YELLOW, "error": RED, "critical": BRIGHT + RED}
#: The parent of all our loggers; its level is ours to set.
_OURS = "vindibot"

_Event = MutableMapping[str, Any]
_log = structlog.get_logger("vindibot.base.log")


# ---- Processors ----


def _describe_exception(_logger: Any, _method: str, event: _Event) -> _Event:
    """Put an exception into the fields `error` (one line) and `traceback`."""
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
    """Mask all secrets, and make every value plain data; see `Redactor.plain`. What belongs to `ProcessorFormatter` stays."""
    meta = {name: event.pop(name) for name in ("_record", "_from_structlog") if name in event}
    return {**redacted(event), "event": redacted(str(event.get("event", ""))), **meta}


def _put_in_order(_logger: Any, _method: str, event: _Event) -> _Event:
    return {name: event[name] for name in _FIRST if name in event} | {**event}


def _shorten_warning(_logger: Any, _method: str, event: _Event) -> _Event:
    """Of a warning of Python's, the message without the place before it and the line of source below it."""
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
    """Renders our lines, and those of the standard library's loggers, by these processors."""
    return ProcessorFormatter(
        foreign_pre_chain=[_shorten_warning, *_SHARED],
        processors=[ProcessorFormatter.remove_processors_meta, *processors],
    )


class _ForTerminal:
    """Makes of a line what the terminal shows: ``12:01:33 warning a1b2c3d4 #1 turn 400  worker killed  trait=combat``."""

    def __init__(self, *, traces: bool) -> None:
        self._traces = traces

    def __call__(self, _logger: Any, _method: str, event: _Event) -> _Event:
        level, style = str(event["level"]), _STYLES.get(str(event["level"]), "")
        about = [f"{mark}{_word(event[name])}" for name, mark in _ABOUT.items() if event.get(name) is not None]
        line = {"clock": time.strftime("%H:%M:%S"), "level": f"{style}{level:<7}{RESET_ALL}"}
        line |= {"about": " ".join(about)} if about else {}
        line["event"] = f"{style}{printable(event['event'])}{RESET_ALL}"
        line |= {printable(name): value for name, value in event.items() if name not in (*_FIRST, "logger", "traceback")}
        if self._traces and "traceback" in event:
            line["exception"] = f"{DIM}{printable_lines(event['traceback'].rstrip())}{RESET_ALL}"
        return line


_ABOUT = {"game": "", "hero": "#", "turn": "turn "}


def _word(value: Any) -> str:
    """A value on one line: plain where it is one word, quoted where it is not, compact where it has parts."""
    if isinstance(value, float):
        return f"{value:.4g}"
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{printable(key)}: {_word(inner)}" for key, inner in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(_word(inner) for inner in value) + "]"
    text = printable(str(value))
    return text if text and " " not in text else f'"{text}"'


_COLUMNS = [
    Column("clock", KeyValueColumnFormatter(None, DIM, RESET_ALL, str)),
    Column("level", KeyValueColumnFormatter(None, "", "", str)),
    Column("about", KeyValueColumnFormatter(None, CYAN, RESET_ALL, str, postfix=" ")),
    Column("event", KeyValueColumnFormatter(None, "", "", str)),
    Column("", KeyValueColumnFormatter(DIM, "", RESET_ALL, _word, prefix=" ")),
]


# ---- Where lines go ----


class _ConsoleHandler(logging.Handler):
    """Prints lines on a console of rich, so that they and a live board do not tear each other."""

    def __init__(self, console: Console, level: int) -> None:
        super().__init__(level)
        self._console = console
        self.setFormatter(
            _formatter(_ForTerminal(traces=level <= logging.DEBUG), ConsoleRenderer(columns=_COLUMNS, sort_keys=False))
        )

    def emit(self, record: logging.LogRecord) -> None:
        """Print a line; nothing that goes wrong here disturbs a game: the terminal may be gone."""
        with suppress(Exception, SystemExit):
            self._console.print(Text.from_ansi(self.format(record)), soft_wrap=True, highlight=False)


class _FileHandler(logging.FileHandler):
    """Appends lines as JSON to a file; when it cannot be written any more, it says so once and leaves it."""

    def __init__(self, path: Path) -> None:
        if not begins_with(path, LINE):
            raise UsageError(f"log.file: {path} is there already and is no log of vindibot: name another file")
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            super().__init__(path, encoding="utf-8", errors="backslashreplace")
        except OSError as problem:
            raise UsageError(f"log.file: {path} cannot be written: {problem.strerror or problem}") from None
        self._shown_path = str(path)
        self.setFormatter(_formatter(structlog.processors.JSONRenderer(ensure_ascii=False)))

    def handleError(self, record: logging.LogRecord) -> None:  # noqa: N802 - the name is logging's
        """See the class."""
        problem = sys.exc_info()[1]
        if isinstance(problem, OSError | ValueError):
            self.setLevel(logging.CRITICAL + 1)
            with suppress(OSError, ValueError):
                self.close()
            _log.error(f"the log {self._shown_path} cannot be written any more: {problem}")


_handlers: list[logging.Handler] = []


def setup(level: str = "info", file: Path | str | None = None, console: Console | None = None) -> None:
    """Send all lines to the terminal from `level` on, and everything to `file` (appended, made with its folders).

    `console` is the rich console that shows the game, so that lines and a live board do not tear each other; without it,
    lines go to standard error. May be called again. Raises `UsageError` if the file cannot be opened.
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
    """Whether a line is ours, or a warning of somebody else's."""
    return record.levelno >= logging.WARNING or record.name.partition(".")[0] == _OURS


def close() -> None:
    """Close the file and tell nothing more; for the end of a command and between tests."""
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
    """Within this block, and in the tasks begun there, every line has these fields: game, turn, hero, or whatever else.

    After it all fields are as they were before, those of `bind` too.
    """
    before = structlog.contextvars.get_contextvars()
    structlog.contextvars.bind_contextvars(**about)
    try:
        yield
    finally:
        structlog.contextvars.clear_contextvars()
        structlog.contextvars.bind_contextvars(**before)


def bind(**about: Any) -> None:
    """From now on every line of this task has these fields, until the `context` around it ends: ``bind(turn=12)``."""
    structlog.contextvars.bind_contextvars(**about)


@contextmanager
def configured(level: str = "info", file: Path | str | None = None, console: Console | None = None) -> Iterator[None]:
    """`setup` for a block, then `close`."""
    setup(level, file, console)
    try:
        yield
    finally:
        close()
