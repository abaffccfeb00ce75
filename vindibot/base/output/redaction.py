"""Redaction of keys and tokens in everything that comes from a server, and in texts that are logged, shown or raised, such as
URLs and messages of libraries."""

from __future__ import annotations

import html
import json
import logging
import math
import re
import threading
from collections import OrderedDict
from collections.abc import Iterable, Mapping
from typing import Any
from urllib.parse import quote, quote_plus

from pydantic import SecretStr

from vindibot.base.output.text import printable

#: The text that replaces a secret.
MASK = "********"
#: Smallest number of characters of a token that is also masked inside words. A shorter token may be part of a number or a name by
#: chance, so it is masked as a whole word only. The original server's tokens have four characters.
LONG_TOKEN = 8
#: Largest number of tokens that are stored. All keys are stored.
MAX_TOKENS = 200

# The first characters of an answer that an excerpt reads, per character of the excerpt. A mask can be so much shorter than a
# secret (256 characters, each three in a URL), and the excerpt must not end within a secret that was cut.
_READ_AHEAD = 100
# Patterns of the token in a URL for moves, of words, and of keys and tokens with their names in a form, a query or JSON.
_PLAY = re.compile(r"(/api/[^/\s\"']+/)[^/\s\"'?]+(?=/play)")
_WORD = re.compile(r"[0-9A-Za-z]+")
_NAMED = re.compile(r"(?i)(\b(?:key|token)[\"']?\s*[=:]\s*[\"']?)[^\s\"'&,;<>}]+")
# Fields whose whole value is masked.
_SECRET_FIELDS = frozenset({"key", "token", "play_url", "playurl", "authorization"})


class Redactor:
    """A collection of secrets that masks them in texts and values.

    The collection also masks other texts that look like secrets: the token in a URL for moves, ``key=...``, ``token: ...``.
    Several threads may use it. A secret with fewer than `shortest` characters is not stored, because its text occurs too often by
    chance.
    """

    def __init__(self, *secrets: str, shortest: int = 3) -> None:
        self._shortest = shortest
        self._keys: tuple[str, ...] = ()
        self._tokens: OrderedDict[str, None] = OrderedDict()
        self._long_tokens: tuple[str, ...] = ()
        self._lock = threading.Lock()
        for secret in secrets:
            self.add(secret)

    def add(self, secret: str, *, token: bool = False) -> None:
        """Store a secret. From now on the secret is masked, unchanged and as URLs, forms, JSON and HTML contain it.

        Without `token`, the secret is a key. Keys and long tokens are masked everywhere, short tokens only as whole words. All
        keys are stored, but only the latest `MAX_TOKENS` tokens.
        """
        if len(secret) < self._shortest:
            return
        with self._lock:
            if token:
                self._tokens[secret] = None
                self._tokens.move_to_end(secret)
                while len(self._tokens) > MAX_TOKENS:
                    self._tokens.popitem(last=False)
                self._long_tokens = _forms(other for other in self._tokens if not _is_short(other))
            elif secret not in self._keys:
                self._keys = _forms((*self._keys, secret))

    def __call__(self, text: str) -> str:
        """Return the text with `MASK` in place of each secret."""
        for secret in (*self._keys, *self._long_tokens):
            text = text.replace(secret, MASK)
        if self._tokens:
            text = _WORD.sub(lambda found: MASK if found[0] in self._tokens else found[0], text)
        return _NAMED.sub(rf"\1{MASK}", _PLAY.sub(rf"\1{MASK}", text))

    def excerpt(self, body: bytes, length: int = 120) -> str:
        """Return the start of the body of an HTTP message as one line without secrets, for a log or an error message. The line
        has at most `length` characters."""
        words = " ".join(body.decode("utf-8", "replace").split())
        text = printable(self(words[: _READ_AHEAD * length]))
        return text if len(text) <= length else text[: length - 1] + "…"

    def plain(self, value: Any) -> Any:
        """Return a copy of `value` as plain data (text, numbers, lists, dictionaries) without secrets."""
        if value is None or isinstance(value, bool):
            return value
        if isinstance(value, int | float):
            if any(secret in str(value) for secret in (*self._keys, *self._long_tokens)):
                return MASK
            return value if math.isfinite(value) else str(value)
        if isinstance(value, str):
            return self(value)
        if isinstance(value, bytes | bytearray):
            return self(bytes(value).decode("utf-8", "replace"))
        if isinstance(value, Mapping):
            named = ((str(key), inner) for key, inner in value.items())
            return {self(key): MASK if key.lower() in _SECRET_FIELDS else self.plain(inner) for key, inner in named}
        if hasattr(value, "tolist"):  # numpy's numbers and arrays
            return self.plain(value.tolist())
        if isinstance(value, list | tuple | set | frozenset):
            return [self.plain(inner) for inner in value]
        try:
            return self(str(value))
        except Exception as problem:  # a trait's own object may have a broken __str__
            return f"<{type(value).__name__}: {type(problem).__name__} when shown>"


def _is_short(token: str) -> bool:
    return len(token) < LONG_TOKEN and token.isascii() and token.isalnum()


def _forms(secrets: Iterable[str]) -> tuple[str, ...]:
    """Return the secrets, unchanged and in the encodings of URLs, forms, JSON and HTML, the longest first."""
    found: set[str] = set()
    for secret in secrets:
        found |= {secret, quote_plus(secret), quote(secret), json.dumps(secret)[1:-1]}
        found |= {html.escape(secret), html.escape(secret, quote=False)}
    return tuple(sorted(found, key=len, reverse=True))


def token_of(url: str) -> str:
    """Return the token in a URL for moves, "" if there is none."""
    found = _PLAY.search(url)
    return url[found.end(1) : found.end()] if found is not None else ""


# ---- The secrets of this process ----

_redact = Redactor(shortest=4)


def add_secret(text: str | SecretStr | None, *, token: bool = False) -> None:
    """Mask the secret `text` in all later log lines. With `token`, the secret is the token of a game, not a key. A token of less
    than eight characters is masked only as a whole word.

    The mask is an additional protection: no code should log a secret. The function ignores texts of less than four characters. It
    stores all keys, and the latest 200 tokens.
    """
    if isinstance(text, SecretStr):
        text = text.get_secret_value()
    if text:
        _redact.add(text, token=token)


def redacted(value: Any) -> Any:
    """Return a copy of `value` as plain data (see `Redactor.plain`), without the secrets of this process."""
    return _redact.plain(value)


# httpx logs the URL of each request. Its library httpcore logs the head of each answer and the requests to a proxy.
_LIBRARY_LOGGERS = ("httpx", *(f"httpcore.{part}" for part in ("connection", "http11", "http2", "proxy", "socks")))


class _RedactingFilter(logging.Filter):
    """A filter that masks secrets in the lines of a logger."""

    def filter(self, record: logging.LogRecord) -> bool:
        record.msg, record.args = _redact(record.getMessage()), ()
        return True


def redact_library_logs() -> None:
    """Mask secrets in the log lines of the HTTP libraries, such as the token in the URL of a move. A second call changes
    nothing."""
    for name in _LIBRARY_LOGGERS:
        logger = logging.getLogger(name)
        if not any(isinstance(present, _RedactingFilter) for present in logger.filters):
            logger.addFilter(_RedactingFilter())
