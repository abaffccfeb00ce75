"""Lookup and reading of the TOML files that users write.

A file may extend another file. A path is looked up in this order: beside the file that names it; in the current folder; among the
built-in files of the package (``config/`` in a checkout). ``.toml`` may be left out: ``arena`` means ``arena.toml``.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from behaviours.registry import nearest
from vindibot.base import UsageError, given_path, short as short
from vindibot.config.messages import dotted, shown

#: Largest number of files in a chain of `extends`.
LONGEST_CHAIN = 20
#: The bot file in a folder. The name of the folder can stand for this file.
BOT_FILE = "bot.toml"

_PACKAGE = Path(__file__).resolve().parent.parent
_KEY = re.compile(r"""[A-Za-z0-9_-]+|"[^"]*"|'[^']*'""")
_HEADER = re.compile(r"^\s*\[(?P<name>[^\[\]]+)\]\s*(#.*)?$")
_ENTRY = re.compile(r"""^\s*(?P<name>(?:[A-Za-z0-9_-]+|"[^"]*"|'[^']*')(?:\s*\.\s*(?:[A-Za-z0-9_-]+|"[^"]*"|'[^']*'))*)\s*=""")


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
    the place itself. With `folder`, a folder called `name` stands for the file ``bot.toml`` in it. The file `not_this` is
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
        raise UsageError(f"there is no {kind} {shown(name)}: the folder {short(project)} has no {BOT_FILE}")
    wanted = Path(name)
    if wanted.is_absolute() or given_path(name) != wanted:
        raise UsageError(f"there is no {kind} file {name}")
    looked = ", ".join(short(place) for place in there if place.is_dir())
    folders = [place / wanted.parent for place in there if holds((place / wanted.parent).is_dir)]
    stems = sorted({found.stem for parent in folders for found in parent.glob("*.toml")})
    prefix = "" if wanted.parent == Path() else f"{wanted.parent.as_posix()}/"
    hint = nearest(wanted.stem, stems, prefix=prefix)
    raise UsageError(f"there is no {kind} {shown(name)}{hint}; looked in {looked}")


@dataclass(frozen=True)
class TomlFile:
    """A TOML file: its path, its text, and its tables as dictionaries."""

    path: Path
    text: str
    data: dict[str, Any]

    def line(self, path: Sequence[str]) -> int | None:
        """Return the line (from 1) of a key, or None. The search uses patterns, which do not find every key."""
        table: tuple[str, ...] = ()
        header = None
        for number, text in enumerate(self.text.splitlines(), start=1):
            if text.lstrip().startswith("[["):
                table = ("[[",)  # none of our keys is in a list of tables
            elif found := _HEADER.match(text):
                table = _names(found["name"])
                header = number if header is None and table[: len(path)] == tuple(path) else header
            elif (found := _ENTRY.match(text)) and _leads_to((*table, *_names(found["name"])), path):
                return number
        return header

    def at(self, path: Sequence[str] = ()) -> str:
        """Return the file and the line of a key as a text for a message: ``arena.toml, line 3``."""
        line = self.line(path) if path else None
        return short(self.path) if line is None else f"{short(self.path)}, line {line}"

    def refuse(self, path: Sequence[str], words: str) -> UsageError:
        """Return an error about the value of the key at `path`.

        The message has the file, the line, the dotted key, and the explanation `words`.
        """
        return UsageError(f"{self.at(path)}: {dotted(path)} {words}")


def _names(text: str) -> tuple[str, ...]:
    return tuple(name.strip("\"'") for name in _KEY.findall(text))


def _leads_to(entry: tuple[str, ...], path: Sequence[str]) -> bool:
    """Return whether `entry` is the path of the same key as `path`, or of an inline table that contains this key."""
    return entry == tuple(path[: len(entry)])


def read(path: Path) -> TomlFile:
    """Read a TOML file. Raises `UsageError` with the file, and with the line and column of a syntax error."""
    try:
        text = path.read_bytes().decode("utf-8-sig")
    except UnicodeDecodeError as problem:
        raise UsageError(f"{short(path)}: this is not UTF-8 text (byte {problem.start})") from None
    except OSError as problem:
        raise UsageError(f"{short(path)}: cannot be read: {problem.strerror or problem}") from None
    try:
        return TomlFile(path, text, tomllib.loads(text))
    except tomllib.TOMLDecodeError as problem:
        message = str(problem)
        raise UsageError(f"{short(path)}: this is not TOML: {message[:1].lower()}{message[1:]}") from None
    except RecursionError:
        raise UsageError(f"{short(path)}: this is not TOML: its nesting is too deep") from None


def read_chain(path: Path, *, kind: str, folder: str = "") -> list[TomlFile]:
    """Read a file and all files that it `extends`, directly or not. Return the files in the order in which they apply: a later
    file overrides an earlier file.

    Raises `UsageError` for a file that cannot be read and for files that extend each other in a circle.
    """
    chain = [read(path)]
    while (base := chain[-1].data.get("extends")) is not None:
        last = chain[-1]
        if not isinstance(base, str) or not base:
            raise last.refuse(["extends"], f"must be the name of a {kind} file, not {shown(base)}")
        try:
            found = find(base, kind=kind, beside=last.path.parent, folder=folder, not_this=last.path)
        except UsageError as problem:
            raise last.refuse(["extends"], f"names no file: {problem.message}") from None
        if any(found.samefile(file.path) for file in chain) or len(chain) >= LONGEST_CHAIN:
            names = " -> ".join(short(file.path) for file in chain)
            raise last.refuse(["extends"], f"makes a circle: {names} -> {short(found)}")
        chain.append(read(found))
    return chain[::-1]
