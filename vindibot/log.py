"""What is told while a command runs: readable lines in the terminal, JSON lines in a file, and no secret in either.

Anyone logs with ``structlog.get_logger()``. Within ``context(game=..., hero=..., turn=...)`` every line knows what it is
about. `setup` decides where the lines go; the standard library's loggers (httpx, uvicorn, asyncio) go the same way, from
warnings on, since what they say below that has URLs with tokens in it.

A line of the file is one JSON object: time (ISO 8601, UTC), level, event, then game, turn and hero where there is a game,
and the rest by name. It is written at once; a crash loses nothing that was told before.
"""

from __future__ import annotations

import json
import logging
import math
import re
import sys
import threading
import time
from collections import OrderedDict
from collections.abc import Iterable, Iterator, Mapping, MutableMapping
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO

import structlog
from pydantic import SecretStr
from rich.console import Console
from rich.text import Text

from vindibot.errors import UsageError
from vindibot.masking import MASK, masked

if TYPE_CHECKING:
    from vindibot.ballot import Ballot

LEVELS = {"debug": 10, "info": 20, "warning": 30, "error": 40, "critical": 50}
#: Names of directions as they stand in a line; `sim.game.DIRECTIONS`, which costs too much to import for a log.
_DIRECTIONS = ("Stay", "North", "South", "East", "West")
#: What stands first in a line, in this order.
_CONTEXT = ("game", "turn", "hero")
#: How many tokens of past games are remembered; keys are never forgotten.
KEPT_TOKENS = 200
#: Shorter texts are no secrets: masking them would tear holes into everything.
SHORTEST_SECRET = 4
_STYLES = {"debug": "dim", "warning": "yellow", "error": "red", "critical": "bold red"}
# Loggers that tell tokens, keys or headers below this level.
_TALKATIVE = ("httpx", "httpcore", "uvicorn", "uvicorn.access", "uvicorn.error", "asyncio")
_WORD = re.compile(r"[0-9A-Za-z]+")
# Fields whose whole value is masked, whatever it looks like.
_SECRET_FIELDS = frozenset({"key", "token", "play_url", "playurl", "authorization"})


class _Secrets:
    """The texts that must never be told. A key is found wherever it stands; a token, which has four characters only,
    as a whole word, so that no number or name loses a part."""

    def __init__(self) -> None:
        self._keys: tuple[str, ...] = ()
        self._tokens: OrderedDict[str, None] = OrderedDict()
        self._lock = threading.Lock()

    def add(self, text: str, *, token: bool) -> None:
        if len(text) < SHORTEST_SECRET:
            return
        with self._lock:
            if token and _WORD.fullmatch(text):
                self._tokens[text] = None
                self._tokens.move_to_end(text)
                while len(self._tokens) > KEPT_TOKENS:
                    self._tokens.popitem(last=False)
            elif text not in self._keys:
                self._keys = tuple(sorted({*self._keys, text}, key=len, reverse=True))

    def mask(self, text: str) -> str:
        for key in self._keys:
            text = text.replace(key, MASK)
        if self._tokens:
            text = _WORD.sub(self._mask_word, text)
        return masked(text)

    def _mask_word(self, found: re.Match[str]) -> str:
        word = found[0]
        return MASK if word in self._tokens else word


_secrets = _Secrets()


def add_secret(text: str | SecretStr | None, *, token: bool = False) -> None:
    """Mask this text in whatever is told from now on: a key wherever it stands, a game's `token` as a whole word.

    This is the last resort; nobody should log a secret in the first place. Texts of less than four characters are ignored,
    and only the latest 200 tokens are kept.
    """
    if isinstance(text, SecretStr):
        text = text.get_secret_value()
    if text:
        _secrets.add(text, token=token)


def censor(value: Any) -> Any:
    """A copy of `value` made of plain, printable data (text, numbers, lists, dictionaries) with all secrets masked."""
    if value is None or isinstance(value, bool | int):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else str(value)
    if isinstance(value, str):
        return _secrets.mask(value)
    if isinstance(value, bytes | bytearray):
        return _secrets.mask(bytes(value).decode("utf-8", "replace"))
    if isinstance(value, Mapping):
        return {
            _secrets.mask(str(key)): MASK if str(key).lower() in _SECRET_FIELDS else censor(inner) for key, inner in value.items()
        }
    if hasattr(value, "tolist"):  # numpy's numbers and arrays
        return censor(value.tolist())
    if isinstance(value, Iterable) and isinstance(value, list | tuple | set | frozenset):
        return [censor(inner) for inner in value]
    try:
        return _secrets.mask(str(value))
    except Exception as problem:  # a trait's own object may have a broken __str__
        return f"<{type(value).__name__}: {type(problem).__name__} when shown>"


class _Sinks:
    """Where lines go: the terminal from `level` on, the file with everything from debug on."""

    def __init__(self, level: int, console: Console | None, file: TextIO | None, name: str) -> None:
        self.level = level
        self.console = console
        self.file = file
        self.name = name
        self._lock = threading.Lock()

    @property
    def lowest(self) -> int:
        return LEVELS["debug"] if self.file is not None else self.level

    def write(self, line: Mapping[str, Any], trace: str) -> None:
        """Tell one censored line; whatever goes wrong here must not disturb a game."""
        with self._lock:
            if self.file is not None:
                full = {**line, "traceback": trace} if trace else line
                try:
                    self.file.write(json.dumps(full, ensure_ascii=False) + "\n")
                    self.file.flush()
                except (OSError, ValueError) as problem:
                    with suppress(OSError, ValueError):
                        self.file.close()
                    self.file = None
                    self._show({**line_start("error"), "event": f"the log {self.name} cannot be written any more: {problem}"}, "")
            if LEVELS[line["level"]] >= self.level:
                self._show(line, trace if self.level <= LEVELS["debug"] else "")

    def _show(self, line: Mapping[str, Any], trace: str) -> None:
        if self.console is None:
            return
        with suppress(OSError, ValueError):  # the terminal may be gone
            self.console.print(_readable(line, trace), soft_wrap=True, highlight=False)

    def close(self) -> None:
        if self.file is not None:
            with suppress(OSError, ValueError):
                self.file.close()
            self.file = None


def line_start(level: str) -> dict[str, Any]:
    """The first fields of a line: time and level."""
    return {"time": datetime.now(UTC).isoformat(timespec="milliseconds"), "level": level}


def _readable(line: Mapping[str, Any], trace: str) -> Text:
    """``12:01:33 warning  a1b2c3d4 #1 turn 400  worker killed  trait=combat``, colours by level."""
    level = str(line["level"])
    text = Text(time.strftime("%H:%M:%S "), style="dim")
    style = _STYLES.get(level, "none")
    text.append(f"{level:<8}", style=style)
    about = [_word(line["game"])] if line.get("game") is not None else []
    about += [f"#{_word(line['hero'])}"] if line.get("hero") is not None else []
    about += [f"turn {_word(line['turn'])}"] if line.get("turn") is not None else []
    if about:
        text.append(f"{' '.join(about)}  ", style="cyan")
    text.append(_printable(str(line.get("event", ""))), style=style)
    for key, value in line.items():
        if key not in ("time", "level", "event", "logger", *_CONTEXT):
            text.append(f"  {_printable(key)}=", style="dim")
            text.append(_word(value))
    if trace:
        text.append("\n" + "\n".join(_printable(row) for row in trace.rstrip().splitlines()), style="dim")
    return text


def _printable(text: str) -> str:
    """Text without signs that could move the cursor or change colours: names and answers come from strangers."""
    return "".join(sign if sign.isprintable() else ascii(sign)[1:-1] for sign in text)


def _word(value: Any) -> str:
    """A value on one line: plain where it is one word, quoted where it is not, compact where it has parts."""
    if isinstance(value, float):
        return f"{value:.4g}"
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{_printable(key)}: {_word(inner)}" for key, inner in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(_word(inner) for inner in value) + "]"
    text = _printable(str(value))
    return text if text and " " not in text else f'"{text}"'


_sinks: _Sinks | None = None


class _Named:
    """What ``structlog.get_logger("vindibot.pool")`` wraps: only the name, since `_write` lets nothing through."""

    def __init__(self, name: str = "") -> None:
        self.name = name


def setup(level: str = "info", file: Path | str | None = None, console: Console | None = None) -> None:
    """Send all lines to the terminal from `level` on, and everything to `file` (appended, made with its folders).

    `console` is the rich console that shows the game, so that lines and a live board do not tear each other; without it,
    lines go to standard error. May be called again. Raises `UsageError` if the file cannot be opened.
    """
    global _sinks
    if level not in LEVELS:
        raise UsageError(f"log.level must be one of {', '.join(LEVELS)}, not {level}")
    opened = _open(Path(file)) if file else None
    close()
    _sinks = _Sinks(LEVELS[level], console if console is not None else Console(stderr=True), opened, str(file or ""))
    structlog.configure(
        processors=[_drop_unwanted, structlog.contextvars.merge_contextvars, _write],
        wrapper_class=structlog.make_filtering_bound_logger(_sinks.lowest),
        logger_factory=_Named,
        cache_logger_on_first_use=False,
    )
    root = logging.getLogger()
    root.addHandler(_bridge)
    for name in _TALKATIVE:
        logging.getLogger(name).setLevel(logging.WARNING)
    logging.captureWarnings(True)


def close() -> None:
    """Close the file and tell nothing more; for the end of a command and between tests."""
    global _sinks
    if _sinks is None:
        return
    _sinks.close()
    _sinks = None
    logging.captureWarnings(False)
    logging.getLogger().removeHandler(_bridge)
    structlog.reset_defaults()


def _open(path: Path) -> TextIO:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        return path.open("a", encoding="utf-8", errors="backslashreplace")
    except OSError as problem:
        raise UsageError(f"log.file: {path} cannot be written: {problem.strerror or problem}") from None


def _drop_unwanted(_logger: Any, method: str, event: MutableMapping[str, Any]) -> MutableMapping[str, Any]:
    if _sinks is None or LEVELS.get(_level(method), 0) < _sinks.lowest:
        raise structlog.DropEvent
    return event


def _level(method: str) -> str:
    return {"exception": "error", "fatal": "critical", "warn": "warning", "msg": "info"}.get(method, method)


def _write(logger: Any, method: str, event: MutableMapping[str, Any]) -> MutableMapping[str, Any]:
    """The last processor: put the line in order, censor it and hand it to the sinks."""
    problem = event.pop("exc_info", None)
    if problem is True:
        problem = sys.exc_info()
    if isinstance(problem, tuple):
        problem = problem[1]
    trace = ""
    if isinstance(problem, BaseException):
        import traceback

        trace = _secrets.mask("".join(traceback.format_exception(problem)))
        event.setdefault("error", f"{type(problem).__name__}: {problem}")
    line = line_start(_level(method))
    line["event"] = censor(str(event.pop("event", "")))
    for key in _CONTEXT:
        if key in event:
            line[key] = censor(event.pop(key))
    line.update(censor(event))
    if name := getattr(logger, "name", ""):
        line["logger"] = name
    if _sinks is not None:
        _sinks.write(line, trace)
    raise structlog.DropEvent


class _Bridge(logging.Handler):
    """Brings the lines of the standard library's loggers into ours."""

    def emit(self, record: logging.LogRecord) -> None:
        talkative = record.name.split(".")[0] in _TALKATIVE
        if _sinks is None or record.levelno < (logging.WARNING if talkative else _sinks.lowest):
            return
        try:
            level = next((name for name, number in reversed(LEVELS.items()) if record.levelno >= number), "debug")
            message = record.getMessage().rstrip()
            if record.name == "py.warnings":
                line = message.partition("\n")[0]  # without the line of source below it, and the place in front
                message = line.partition("Warning: ")[2] or line
            told = {"exc_info": record.exc_info} if record.exc_info else {}
            getattr(structlog.get_logger(record.name), level)(message, **told)
        except Exception:  # a logger's slip must not end a game
            self.handleError(record)


_bridge = _Bridge()


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


def log_turn(ballot: Ballot, **more: Any) -> None:
    """Tell what one turn's vote came to, at level debug: the order, the time left, and each trait's votes and time.

    In the file, `traits` maps each label to its weight, votes (five numbers, or null), ms and status, with a note where
    there is one, and depth, score and nodes where it searched. `more` are further fields.
    """
    log = structlog.get_logger()
    traits: dict[str, dict[str, Any]] = {}
    for entry in ballot.entries:
        traits[entry.label] = {"weight": entry.weight, "votes": entry.votes, "ms": round(entry.ms, 3), "status": entry.status}
        if entry.note:
            traits[entry.label]["note"] = entry.note
        if entry.thought is not None:
            told = {"depth": entry.thought.depth, "score": entry.thought.score, "nodes": entry.thought.nodes}
            traits[entry.label] |= {name: value for name, value in told.items() if value is not None}
    log.debug(
        "turn decided",
        direction=_DIRECTIONS[ballot.direction],
        margin_ms=round(ballot.margin_ms, 3),
        fallback=ballot.fallback,
        sums=ballot.sums,
        traits=traits,
        **more,
    )
