"""Functions that make texts from elsewhere safe: for a terminal, as JSON, and without keys and tokens.

Names, answers and error texts come from opponents, servers, programs and traits. They may hold escape sequences, which a
terminal obeys, or characters that reverse or hide other text. Masking keys and tokens is a second line: no code should log a
secret.
"""

from __future__ import annotations

import html
import json
import math
import re
from typing import TYPE_CHECKING, Any
from urllib.parse import quote_plus

if TYPE_CHECKING:
    from pydantic import SecretStr

#: Invisible characters that Unicode calls letters, marks or symbols.
_BLANK_LETTERS = frozenset(
    "\u034f\u115f\u1160\u17b4\u17b5\u180b\u180c\u180d\u180f\u2800\u3164\uffa0"
    + "".join(map(chr, [*range(0xFE00, 0xFE10), *range(0xE0100, 0xE01F0)]))
)


def printable(text: str) -> str:
    r"""Return the text as one line of visible characters and spaces. All other characters are escaped.

    The escaped characters are line breaks, control characters (C0, C1, DEL), formatting characters (bidirectional controls,
    zero-width characters), lone surrogates, and unassigned code points. Examples of escapes: ``\n``, ``\x1b``, ``\u202e``.
    """
    if text.isprintable():
        return text
    return "".join(sign if sign.isprintable() else ascii(sign)[1:-1] for sign in text)


def printable_lines(text: str) -> str:
    """Return the text like `printable`, but leave line breaks and tabs unchanged, for messages of several lines."""
    if text.isprintable():
        return text
    return "".join(sign if sign.isprintable() or sign in "\n\t" else ascii(sign)[1:-1] for sign in text)


def counted(number: int, what: str) -> str:
    """Return a number with the noun `what`, which is in the plural unless the number is 1: ``1 block``, ``2 blocks``."""
    return f"{number} {what}" if number == 1 else f"{number} {what}s"


def decode_json(text: str | bytes) -> Any:
    """Return the value in a JSON text. Its numbers are finite, and its whole numbers have at most 64 bits.

    Raises ValueError for any other text.
    """
    try:
        return json.loads(text, parse_int=_whole_number, parse_float=_finite_number, parse_constant=_finite_number)
    except RecursionError:
        raise ValueError("it is nested too deeply (recursion)") from None


def _whole_number(digits: str) -> int:
    number = int(digits) if len(digits) <= 20 else 2**64
    if not -(2**63) <= number < 2**64:
        raise ValueError(f"a whole number has too many digits for 64 bits: {digits:.20}...")
    return number


def _finite_number(digits: str) -> float:
    number = float(digits)
    if not math.isfinite(number):
        raise ValueError(f"a number is not finite: {digits:.20}")
    return number


def weight_text(weight: float) -> str:
    """Return the weight of a trait as tables, lists and bot files show it: ``300``, ``0.9``, ``1e+07``."""
    return f"{weight + 0.0:g}"


def unseen_character(name: str) -> str | None:
    """Return the code point of the first character that is invisible or changes the direction of the text, for example
    ``U+202E``. Return None if there is no such character.

    Such characters are control characters, format characters (direction, zero width), blanks other than the space, halves of
    surrogate pairs, unassigned code points, and letters without a shape.
    """
    unseen = next((sign for sign in name if not sign.isprintable() or sign in _BLANK_LETTERS), None)
    return None if unseen is None else f"U+{ord(unseen):04X}"


# ---- Keys and tokens ----

#: The text that replaces a secret.
MASK = "********"
#: Smallest number of characters of a secret: a key has 8. A shorter text occurs too often by chance.
SHORTEST = 8

# Patterns of the token in a URL for moves, and of keys and tokens with their names in a form, a query or JSON.
_PLAY = re.compile(r"(/api/[^/\s\"']+/)[^/\s\"'?]+(?=/play)")
_NAMED = re.compile(r"(?i)(\b(?:key|token)(?:[\"']?\s*[=:]\s*[\"']|\s*[=:]\s*))[^\s\"'&,;<>}]+")


class Redactor:
    """A collection of secrets that masks them in texts.

    The collection also masks other texts that look like secrets: the token in a URL for moves, ``key=...``, ``token: ...``.
    Secrets with fewer than `SHORTEST` characters are ignored.
    """

    def __init__(self, *secrets: str) -> None:
        self._forms: list[str] = []
        for secret in secrets:
            self.add(secret)

    def add(self, secret: str) -> None:
        """Store a secret. From now on it is masked, unchanged and as URLs, forms, JSON and HTML contain it."""
        if len(secret) >= SHORTEST and secret not in self._forms:
            forms = {secret, quote_plus(secret), html.escape(secret), html.escape(secret, quote=False), json.dumps(secret)[1:-1]}
            self._forms = sorted({*self._forms, *forms}, key=len, reverse=True)

    def __call__(self, text: str) -> str:
        """Return the text with `MASK` in place of each secret."""
        for form in self._forms:
            text = text.replace(form, MASK)
        return _NAMED.sub(rf"\1{MASK}", _PLAY.sub(rf"\1{MASK}", text))

    def plain(self, value: Any) -> Any:
        """Return a copy of `value` as data of JSON, without secrets in its texts."""
        match value:
            case None | int() | float():
                return value
            case str():
                return self(value)
            case bytes():
                return self(value.decode("utf-8", "replace"))
            case dict():
                return {self(str(name)): MASK if name in ("key", "token") else self.plain(part) for name, part in value.items()}
            case list() | tuple():
                return [self.plain(part) for part in value]
        return self.plain(value.tolist() if hasattr(value, "tolist") else str(value))

    def excerpt(self, body: bytes, length: int = 120) -> str:
        """Return the start of the body of an HTTP message as one line without secrets, for a log or an error message. The line
        has at most `length` characters."""
        text = printable(self(" ".join(body.decode("utf-8", "replace").split())))
        return text if len(text) <= length else text[: length - 1] + "…"


#: The keys that this process knows.
SECRETS = Redactor()


def add_secret(secret: str | SecretStr | None) -> None:
    """Mask a key in all later log lines (see `Redactor.add`)."""
    if secret:
        SECRETS.add(secret if isinstance(secret, str) else secret.get_secret_value())
