"""Messages about refused values: pydantic's errors, reworded for people who edit TOML files."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from behaviours.registry import nearest
from vindibot.base.text import printable

#: A name that TOML writes without quotes.
_BARE = re.compile(r"[A-Za-z0-9_-]+")
#: Largest number of characters that a message shows of a value.
SHOWN = 60

#: Largest number of faults that a message lists.
MOST_FAULTS = 20

_WANTED = {
    "bool_type": "must be true or false",
    "bool_parsing": "must be true or false",
    "dict_type": "must be a table",
    "finite_number": "must be a finite number",
    "float_parsing": "must be a number",
    "float_type": "must be a number",
    "int_from_float": "must be a whole number",
    "int_parsing": "must be a whole number",
    "int_type": "must be a whole number",
    "list_type": "must be a list",
    "model_attributes_type": "must be a table",
    "model_type": "must be a table",
    "string_unicode": "must be UTF-8 text",
    "path_type": "must be a path",
    "string_type": "must be text",
    "tuple_type": "must be a list",
}
_LIMITS = {
    "greater_than": ("must be more than {}", "gt"),
    "greater_than_equal": ("must be at least {}", "ge"),
    "less_than": ("must be less than {}", "lt"),
    "less_than_equal": ("must be at most {}", "le"),
    "multiple_of": ("must be a multiple of {}", "multiple_of"),
    "string_too_long": ("must have at most {} characters", "max_length"),
    "string_too_short": ("must have at least {} characters", "min_length"),
    "too_long": ("must have at most {} items", "max_length"),
    "too_short": ("must have at least {} items", "min_length"),
}


def dotted(path: Iterable[Any]) -> str:
    """Return a key with its path, as TOML writes it: ``time.margin_ms``, ``traits."my trait".weight``."""
    return ".".join(part if _BARE.fullmatch(part) else json.dumps(part, ensure_ascii=False) for part in map(str, path))


def shown(value: Any, width: int = SHOWN) -> str:
    """Return a value as TOML writes it, cut to about `width` characters."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, Mapping):
        return "a table"
    text = f'"{printable(value[: width + 1])}"' if isinstance(value, str) else repr(value)
    return text if len(text) <= width + 2 else f"{text[:width]}..."


def listed(lines: Sequence[str]) -> str:
    """Return the lines of a message about several faults. Of more than `MOST_FAULTS` lines, only the first ones are shown."""
    more = len(lines) - MOST_FAULTS
    return "\n".join([*lines[:MOST_FAULTS], *([f"and {more} more"] if more > 0 else [])])


def explain(problem: Mapping[str, Any], *, secret: bool = False, known: Sequence[str] = (), word: str = "") -> str:
    """Return the message about a refused value, without the key that precedes it: ``must be at least 0, not -5``.

    `problem` is an item of pydantic's ``ValidationError.errors()``. With `secret`, the message does not show the value. `known`
    has the allowed keys of the table. `word` is a text that is allowed besides numbers.
    """
    kind, context = str(problem["type"]), problem.get("ctx", {})
    if kind == "extra_forbidden":
        return unknown(str(problem["loc"][-1]), known)
    if kind == "missing":
        return "is missing"
    if kind in ("value_error", "assertion_error"):
        return str(context.get("error", problem["msg"]))
    hint = ""
    if kind in _LIMITS:
        words, limit = _LIMITS[kind]
        number = context.get(limit, "?")
        wanted = words.format(int(number) if isinstance(number, float) and number.is_integer() else number)
    elif kind in ("literal_error", "enum"):
        expected = str(context.get("expected", ""))
        wanted = f"must be {expected}"
        if isinstance(problem["input"], str):
            hint = nearest(problem["input"], (word.strip().strip("'\"") for word in expected.replace(" or ", ",").split(",")))
    else:
        message = str(problem["msg"])
        wanted = _WANTED.get(kind) or f"is wrong: {message[:1].lower()}{message[1:]}"
    if word:
        wanted += f' or "{word}"'
    return wanted if secret else f"{wanted}, not {shown(problem['input'])}{hint}"


def unknown(word: str, known: Sequence[str]) -> str:
    """Return the message about an unknown key. It names the most similar known key, or all known keys if none is similar."""
    hint = nearest(word, known)
    if hint or not known:
        return f"is an unknown key{hint}"
    return f"is an unknown key here (there are: {', '.join(known)})"
