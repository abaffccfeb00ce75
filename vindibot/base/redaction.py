"""Keys and tokens taken out of texts that are logged, shown or raised: a server's words, a URL, a library's message."""

from __future__ import annotations

import logging
import math
import re
import threading
from collections import OrderedDict
from collections.abc import Mapping
from typing import Any
from urllib.parse import quote_plus

from pydantic import SecretStr

from vindibot.base.text import printable

#: What stands in the place of a secret.
MASK = "********"

# The token in a URL for orders; and what is called a key or a token in a form, a query or JSON.
_PLAY = re.compile(r"(/api/[^/\s\"']+/)[^/\s\"'?]+(?=/play)")
WORD = re.compile(r"[0-9A-Za-z]+")
_NAMED = re.compile(r"(?i)(\b(?:key|token)[\"']?\s*[=:]\s*[\"']?)[^\s\"'&,;<>}]+")


def masked(text: str) -> str:
    """`text` without what looks like the token of a URL for orders, a ``key=...`` or a ``token: ...``."""
    return _NAMED.sub(rf"\1{MASK}", _PLAY.sub(rf"\1{MASK}", text))


#: A token with fewer characters is masked as a whole word only: it may be a part of a number or of a name by chance.
LONG_TOKEN = 8


def is_short(token: str) -> bool:
    """Whether a token is masked as a whole word only; the original server's have four characters."""
    return len(token) < LONG_TOKEN and token.isascii() and token.isalnum()


class Mask:
    """Knows the secrets of one game, and takes them out of any text, with whatever else looks like one."""

    def __init__(self, *secrets: str) -> None:
        self._secrets: set[str] = set()
        self._words: set[str] = set()
        for secret in secrets:
            self.add(secret)

    def add(self, secret: str, *, token: bool = False) -> None:
        """From now on `secret` is masked, plain and as it is written in a form: a key or a long token wherever it stands, a
        short token as a whole word. One or two characters are no secret."""
        if len(secret) <= 2:
            return
        if token and is_short(secret):
            self._words.add(secret)
        else:
            self._secrets.update((secret, quote_plus(secret)))

    def __call__(self, text: str) -> str:
        for secret in sorted(self._secrets, key=len, reverse=True):
            text = text.replace(secret, MASK)
        if self._words:
            text = WORD.sub(lambda found: MASK if found[0] in self._words else found[0], text)
        return masked(text)

    def excerpt(self, body: bytes, length: int = 120) -> str:
        """The first bytes of a body in one line, masked, for a log or a message."""
        text = " ".join(self(body[: length + 200].decode("utf-8", "replace")).split())
        text = printable(text)
        return text if len(text) <= length else text[: length - 1] + "…"


# httpx logs the URL of each request; httpcore, below it, the head of each answer, and what a proxy is told.
_LIBRARY_LOGGERS = ("httpx", *(f"httpcore.{part}" for part in ("connection", "http11", "http2", "proxy", "socks")))


class _MaskingFilter(logging.Filter):
    """Masks what looks like a secret in the lines of a logger."""

    def filter(self, record: logging.LogRecord) -> bool:
        record.msg, record.args = masked(record.getMessage()), ()
        return True


def mask_library_logs() -> None:
    """Mask what the HTTP libraries log, such as the URL of an order, which holds the token. May be called repeatedly."""
    for name in _LIBRARY_LOGGERS:
        logger = logging.getLogger(name)
        if not any(isinstance(present, _MaskingFilter) for present in logger.filters):
            logger.addFilter(_MaskingFilter())


# ---- The secrets of this process, which no log may tell ----

#: How many tokens of past games are remembered; keys are never forgotten.
KEPT_TOKENS = 200
#: Shorter texts are no secrets: masking them would tear holes into everything.
SHORTEST_SECRET = 4
# Fields whose whole value is masked, whatever it looks like.
_SECRET_FIELDS = frozenset({"key", "token", "play_url", "playurl", "authorization"})


class _Secrets:
    """The texts that must never be told. A key or a long token is found wherever it stands; a short token as a whole word, so
    that no number or name loses a part."""

    def __init__(self) -> None:
        self._keys: tuple[str, ...] = ()
        self._tokens: OrderedDict[str, None] = OrderedDict()
        self._long_tokens: tuple[str, ...] = ()
        self._lock = threading.Lock()

    def add(self, text: str, *, token: bool) -> None:
        if len(text) < SHORTEST_SECRET:
            return
        with self._lock:
            if token:
                self._tokens[text] = None
                self._tokens.move_to_end(text)
                while len(self._tokens) > KEPT_TOKENS:
                    self._tokens.popitem(last=False)
                self._long_tokens = tuple(other for other in self._tokens if not is_short(other))
            elif text not in self._keys:
                self._keys = tuple(sorted({*self._keys, text}, key=len, reverse=True))

    def mask(self, text: str) -> str:
        for secret in (*self._keys, *self._long_tokens):
            text = text.replace(secret, MASK)
        if self._tokens:
            text = WORD.sub(self._mask_word, text)
        return masked(text)

    def _mask_word(self, found: re.Match[str]) -> str:
        word = found[0]
        return MASK if word in self._tokens else word


_secrets = _Secrets()


def add_secret(text: str | SecretStr | None, *, token: bool = False) -> None:
    """Mask this text in whatever is logged from now on: wherever it stands, but a short `token` of a game as a whole word only.

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
    if isinstance(value, list | tuple | set | frozenset):
        return [censor(inner) for inner in value]
    try:
        return _secrets.mask(str(value))
    except Exception as problem:  # a trait's own object may have a broken __str__
        return f"<{type(value).__name__}: {type(problem).__name__} when shown>"
