"""The lines of the keys in a TOML file. Python's parser does not say in which line a key is."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator

KeyPath = tuple[str, ...]

_BLANK = re.compile(r"(?:[ \t\r\n]+|#[^\n]*)*")
_SPACE = re.compile(r"[ \t]*")
_STRING = re.compile(r'"""(?:[^\\]|\\.)*?"{3,5}|' r"'''.*?'{3,5}|" r'"(?:[^"\\\n]|\\.)*"|' r"'[^'\n]*'", re.DOTALL)
_BARE = re.compile(r"[A-Za-z0-9_-]+")
_PLAIN = re.compile(r"[^,\]}\n#]*")


def key_lines(text: str) -> dict[KeyPath, int]:
    """Return the line (from 1) of each key in a TOML file that is valid.

    A key in a table has the path of the table, and a key in a list of tables has the place in the list (from 0) in its path. A
    table without a header has the line of its first key. If a key has several lines, as a list of tables, the first one counts.
    """
    found: dict[KeyPath, int] = {}
    line, counted = 1, 0
    for path, place in _Scanner(text):
        line += text.count("\n", counted, place)
        counted = place
        for length in range(1, len(path) + 1):
            found.setdefault(path[:length], line)
    return found


class _Scanner:
    """Yields the path and the place of each key in the text of a valid TOML file, in the order of the file."""

    def __init__(self, text: str) -> None:
        self._text, self._at = text, 0
        self._lists: dict[KeyPath, int] = {}

    def __iter__(self) -> Iterator[tuple[KeyPath, int]]:
        table: KeyPath = ()
        while self._skip(_BLANK) < len(self._text):
            start = self._at
            if not self._takes("["):
                yield from self._entry(table)
                continue
            listed = self._takes("[")
            names = self._key()
            self._at += 2 if listed else 1
            table = self._inside(names[:-1]) + names[-1:]
            if listed:
                self._lists[table] = self._lists.get(table, -1) + 1
            table = self._inside(names)
            yield table, start

    def _inside(self, names: KeyPath) -> KeyPath:
        """Return the path to which a header leads: after a list of tables, the place of its last table."""
        path: KeyPath = ()
        for name in names:
            path = (*path, name)
            if path in self._lists:
                path = (*path, str(self._lists[path]))
        return path

    def _entry(self, table: KeyPath) -> Iterator[tuple[KeyPath, int]]:
        start = self._at
        path = (*table, *self._key())
        yield path, start
        self._takes("=")
        yield from self._value(path)

    def _value(self, path: KeyPath) -> Iterator[tuple[KeyPath, int]]:
        self._skip(_SPACE)
        if self._takes("["):
            number = 0
            while self._skip(_BLANK) < len(self._text) and not self._takes("]"):
                yield (*path, str(number)), self._at
                yield from self._value((*path, str(number)))
                self._skip(_BLANK)
                self._takes(",")
                number += 1
        elif self._takes("{"):
            while self._skip(_BLANK) < len(self._text) and not self._takes("}"):
                yield from self._entry(path)
                self._skip(_BLANK)
                self._takes(",")
        elif string := _STRING.match(self._text, self._at):
            self._at = string.end()
        else:
            self._skip(_PLAIN)

    def _key(self) -> KeyPath:
        names = []
        while True:
            self._skip(_SPACE)
            start = self._at
            if string := _STRING.match(self._text, start):
                self._at = string.end()
                names.append(tomllib.loads(f"key = {string[0]}")["key"])
            else:
                names.append(self._text[start : self._skip(_BARE)])
            self._skip(_SPACE)
            if not self._takes("."):
                return tuple(names)

    def _skip(self, pattern: re.Pattern[str]) -> int:
        """Go past the text that fits the pattern here, and return the new place."""
        match = pattern.match(self._text, self._at)
        self._at = match.end() if match else self._at
        return self._at

    def _takes(self, mark: str) -> bool:
        """Go past `mark` if it is here, and return whether it was here."""
        here = self._text.startswith(mark, self._at)
        self._at += len(mark) if here else 0
        return here
