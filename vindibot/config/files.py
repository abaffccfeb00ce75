"""Lookup and reading of the TOML files that users write.

A file may extend another file. A path is looked up in this order: beside the file that names it; in the current folder; among the
built-in files of the package (``config/`` in a checkout). ``.toml`` may be left out: ``arena`` means ``arena.toml``.
"""

from __future__ import annotations

import tomllib
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from behaviours.registry import nearest
from vindibot.base.errors import UsageError
from vindibot.base.writing import given_path, short as short
from vindibot.config.messages import dotted, shown

#: The path of a key: the names of the tables around it, and its own.
KeyPath = tuple[str, ...]
#: The bot file in a folder. The name of the folder can stand for this file.
BOT_FILE = "bot.toml"

_PACKAGE = Path(__file__).resolve().parent.parent
#: TOML's whole numbers have 64 bits.
_LARGEST = 2**63


def shipped_folder() -> Path:
    """Return the folder of the built-in files: a folder in the installed package, or ``config/`` in a checkout."""
    installed = _PACKAGE / "config_files"
    return installed if installed.is_dir() else _PACKAGE.parent / "config"


def shipped(name: str) -> Path:
    """Return the path of a built-in file: ``shipped("bots/seed.toml")``. The file need not exist."""
    return shipped_folder() / name


def places(beside: Path | None = None) -> list[Path]:
    """Return the folders in which a path is looked up, in order. `beside` is the folder of the file that names the path."""
    folders = [beside, Path.cwd(), shipped_folder()]
    return list(dict.fromkeys(folder for folder in folders if folder is not None))


def look_up(name: str, *, beside: Path | None = None, folder: str = "", not_this: Path | None = None) -> Path | None:
    """Return the file that `name` means, or None if there is none.

    ``name.toml`` is tried before ``name``. With `folder` (``bots``), the subfolder of this name in each place is searched after
    the place itself. With `folder`, a folder called `name` stands for the file ``bot.toml`` in it, and at last `name` is the name
    that a bot file beside or in the current folder states. The file `not_this` is
    skipped, so that a file can extend a built-in file of the same name. For built-in files, a leading ``config/`` in `name` is
    ignored, because ``config/`` is their folder in a checkout.
    """
    endings = [name] if name.endswith(".toml") else [f"{name}.toml", name]
    for place in places(beside):
        texts = [*endings, *(f"{folder}/{text}" for text in endings if folder)]
        if place != shipped_folder():
            texts += [f"{parent}{name}/{BOT_FILE}" for parent in ("", f"{folder}/") if folder and name]
        else:
            texts += [text.removeprefix("config/") for text in texts if text.startswith("config/")]
        for text in texts:
            path = given_path(text)
            path = path if path.is_absolute() else place / path
            if holds(path.is_file) and not (not_this and path.samefile(not_this)):
                return path
    return _named(name, places(beside)[:-1], folder, not_this) if folder and name else None


def _named(name: str, folders: Sequence[Path], folder: str, not_this: Path | None) -> Path | None:
    """Return the bot file in one of `folders`, or in the subfolder `folder` of one, that states this name, or None."""
    for path in (path for place in folders for part in ("", folder) for path in sorted((place / part).glob("*.toml"))):
        try:
            data = tomllib.loads(path.read_text("utf-8-sig"))
        except (OSError, ValueError):
            continue
        if path != not_this and data.get("name") == name and not {"traits", "extends"}.isdisjoint(data):
            return path
    return None


def holds(check: Callable[[], bool]) -> bool:
    """Return the result of a check such as ``path.is_file``.

    Return False for a name that no file can have, and for a path in a folder that this process may not read.
    """
    try:
        return check()
    except (OSError, ValueError):
        return False


def find(name: str, *, kind: str, beside: Path | None = None, folder: str = "", not_this: Path | None = None) -> Path:
    """Return the file that `name` means (see `look_up`). `kind` names the kind of file in a message: ``bot``, ``configuration``.

    Raises `UsageError` with the folders that were searched and the most similar name.
    """
    path = look_up(name, beside=beside, folder=folder, not_this=not_this)
    if path is not None:
        return path
    there = [place / sub for place in places(beside) for sub in dict.fromkeys(("", folder))]
    project = next((place / name for place in there if folder and name and holds((place / name).is_dir)), None)
    if project is not None:
        raise UsageError(f"there is no {kind} or file named {shown(name)}: the folder {short(project)} has no {BOT_FILE}")
    wanted = Path(name)
    if wanted.is_absolute() or given_path(name) != wanted:
        raise UsageError(f"there is no {kind} file {name}")
    looked = ", ".join(short(place) for place in there if place.is_dir())
    folders = [place / wanted.parent for place in there if holds((place / wanted.parent).is_dir)]
    stems = sorted({path.stem for parent in folders for path in parent.glob("*.toml")})
    prefix = "" if wanted.parent == Path() else f"{wanted.parent.as_posix()}/"
    deeper = [path for place in there if folder for path in place.glob("*/*.toml") if path.stem == name]
    hint = f" (did you mean '{deeper[-1].parent.name}/{name}'?)" if deeper else nearest(wanted.stem, stems, prefix=prefix)
    raise UsageError(f"there is no {kind} or file named {shown(name)}{hint}; looked in {looked}")


def key_lines(text: str) -> dict[KeyPath, int]:
    """Return the line (from 1) at which each key of a valid TOML file begins. Python's parser does not say it.

    A key in a table has the path of the table, and a key in a list of tables has the place in the list (from 0) in its path. A
    table without a header has the line of its first key. Keys within a value of several lines have the first line of the value.
    """
    lines: dict[KeyPath, int] = {}
    counts: Counter[KeyPath] = Counter()  # of the tables in each list of tables
    table: KeyPath = ()
    first, part = 1, ""
    for number, line in enumerate(text.split("\n"), 1):
        part += f"{line}\n"
        try:
            data = tomllib.loads(part)
        except tomllib.TOMLDecodeError:  # the value goes on in the next line
            continue
        if is_header := part.lstrip().startswith("["):
            table = ()
            while data:
                ((name, data),) = data.items()
                table = (*table, name)
                if isinstance(data, list):
                    counts[table] += 1
                    data = {}
                if table in counts:
                    table = (*table, str(counts[table] - 1))
        for path in [table] if is_header else _paths(data, table):
            for length in range(1, len(path) + 1):
                lines.setdefault(path[:length], first)
        first, part = number + 1, ""
    return lines


def _paths(value: Any, path: KeyPath) -> Iterator[KeyPath]:
    """Yield the paths of all keys in the table or list at `path`."""
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for name, inner in items:
        yield (*path, str(name))
        yield from _paths(inner, (*path, str(name)))


@dataclass(frozen=True)
class TomlFile:
    """A TOML file: its path, its text, and its tables as dictionaries."""

    path: Path
    text: str
    data: dict[str, Any]

    @cached_property
    def _lines(self) -> dict[KeyPath, int]:
        return key_lines(self.text)

    def line(self, path: Sequence[str]) -> int | None:
        """Return the line (from 1) of a key. If the file does not set this key, return the line of its table, or None."""
        key = tuple(path)
        return next((self._lines[key[:end]] for end in range(len(key), 0, -1) if key[:end] in self._lines), None)

    def at(self, path: Sequence[str] = ()) -> str:
        """Return the file and the line of a key as a text for a message: ``arena.toml, line 3``."""
        line = self.line(path) if path else None
        return short(self.path) if line is None else f"{short(self.path)}, line {line}"

    def refuse(self, path: Sequence[str], words: str) -> UsageError:
        """Return an error about the value of the key at `path`.

        The message has the file, the line, the dotted key, and the explanation `words`.
        """
        return UsageError(f"{self.at(path)}: {dotted(path)} {words}")


#: The first bytes of files that are given in place of a bot or a configuration, and what such files are.
_NETS = {
    b"PK": "a zip file, in which NumPy (.npz) and PyTorch store arrays",
    b"\x93NUMPY": "an array of NumPy (.npy)",
    b"\x80": "a pickle of Python",
}


def _kind_of(path: Path, problem: UnicodeDecodeError) -> str:
    """Return what a file is that is no text."""
    kind = next((words for mark, words in _NETS.items() if problem.object.startswith(mark)), None)
    if kind is None:
        return f"this is not UTF-8 text (byte {problem.start})"
    if path.suffix == ".npz":
        return f"this is {kind}: a net plays in a bot file (docs/learn.md), and `vindibot learn match` takes it as it is"
    return f"this is {kind}: give a TOML file, or a file of nets (.npz) in a command for nets (docs/learn.md)"


def read(path: Path) -> TomlFile:
    """Read a TOML file. Raises `UsageError` with the file, and with the line and column of a syntax error."""
    try:
        text = path.read_bytes().decode("utf-8-sig")
    except UnicodeDecodeError as problem:
        raise UsageError(f"{short(path)}: {_kind_of(path, problem)}") from None
    except OSError as problem:
        raise UsageError(f"{short(path)}: cannot be read: {problem.strerror or problem}") from None
    try:
        file = TomlFile(path, text, tomllib.loads(text))
    except (ValueError, RecursionError) as problem:
        message = str(problem) if isinstance(problem, ValueError) else "its nesting is too deep"
        raise UsageError(f"{short(path)}: this is not TOML: {message[:1].lower()}{message[1:]}") from None
    _check_numbers(file, file.data)
    return file


def _check_numbers(file: TomlFile, value: Any, path: tuple[str, ...] = ()) -> None:
    """Raise `UsageError` if a whole number in `value`, which is at `path`, has more than 64 bits. TOML forbids such numbers."""
    if isinstance(value, dict | list):
        for key, inner in value.items() if isinstance(value, dict) else enumerate(value):
            _check_numbers(file, inner, (*path, str(key)))
    elif isinstance(value, int) and not -_LARGEST <= value < _LARGEST:
        raise file.refuse(path, "must be a whole number of at most 64 bits")


def read_chain(path: Path, *, kind: str, folder: str = "") -> list[TomlFile]:
    """Read a file and all files that it `extends`, directly or not. Return the files in the order in which they apply: a later
    file overrides an earlier file.

    Raises `UsageError` for a file that cannot be read and for files that extend each other in a circle.
    """
    chain = [read(path)]
    seen = {_identity(path)}
    while (base := chain[-1].data.get("extends")) is not None:
        last = chain[-1]
        if not isinstance(base, str) or not base:
            raise last.refuse(["extends"], f"must be the name of a {kind} file, not {shown(base)}")
        try:
            base_path = find(base, kind=kind, beside=last.path.parent, folder=folder, not_this=last.path)
        except UsageError as problem:
            raise UsageError(f"{last.at(['extends'])}: {problem.message}") from None
        if (identity := _identity(base_path)) in seen:
            names = " -> ".join(short(file.path) for file in chain)
            raise last.refuse(["extends"], f"makes a circle: {names} -> {short(base_path)}")
        seen.add(identity)
        chain.append(read(base_path))
    return chain[::-1]


def _identity(path: Path) -> tuple[int, int]:
    """Return two numbers that only this file has, however its path is written."""
    status = path.stat()
    return status.st_dev, status.st_ino
