"""Keys and tokens taken out of texts that are logged, shown or raised: a server's words, a URL, a library's message."""

from __future__ import annotations

import logging
import re
from urllib.parse import quote_plus

from vindibot.printable import printable

#: What stands in the place of a secret.
MASK = "********"

# The token in a URL for orders; and what is called a key or a token in a form, a query or JSON.
_PLAY = re.compile(r"(/api/[^/\s\"']+/)[^/\s\"'?]+(?=/play)")
_NAMED = re.compile(r"(?i)(\b(?:key|token)[\"']?\s*[=:]\s*[\"']?)[^\s\"'&,;<>}]+")


def masked(text: str) -> str:
    """`text` without what looks like the token of a URL for orders, a ``key=...`` or a ``token: ...``."""
    return _NAMED.sub(rf"\1{MASK}", _PLAY.sub(rf"\1{MASK}", text))


class Mask:
    """Knows the secrets of one game, and takes them out of any text, with whatever else looks like one."""

    def __init__(self, *secrets: str) -> None:
        self._secrets: set[str] = set()
        for secret in secrets:
            self.add(secret)

    def add(self, secret: str) -> None:
        """From now on `secret` is masked, plain and as it is written in a form. One or two characters are no secret."""
        if len(secret) > 2:
            self._secrets.update((secret, quote_plus(secret)))

    def __call__(self, text: str) -> str:
        for secret in sorted(self._secrets, key=len, reverse=True):
            text = text.replace(secret, MASK)
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
