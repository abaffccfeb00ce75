"""Reads documents for tests: their blocks of code, the files that they name, and the commands that they show."""

from __future__ import annotations

import re
import shlex
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.support.paths import TOP

#: All documents for people.
DOCUMENTS = [
    TOP / "README.md",
    TOP / "CONTRIBUTING.md",
    *sorted((TOP / "docs").glob("*.md")),
    *sorted((TOP / "examples").glob("*/README.md")),
]

_BLOCK = re.compile(r"^```(?P<language>\w*)\n(?P<text>.*?)^```", re.MULTILINE | re.DOTALL)
#: The line before a block that is a file. The last name in this line is the name of the file.
_NAME = re.compile(r"`(?P<name>[\w.]+)`[^`]*$")
#: A time at the end of a line, which differs in each run.
_TIME = re.compile(r"\d+\.\d$")


@dataclass(frozen=True)
class Block:
    """A block of code: its language, its text, and the line of prose before it."""

    language: str
    text: str
    before: str


@dataclass(frozen=True)
class Command:
    """A command in a document, and the lines of output below it."""

    words: str
    shown: tuple[str, ...]


def blocks(text: str, language: str | None = None) -> Iterator[Block]:
    """Yield the blocks of a document in their order: all blocks, or those in one language."""
    for found in _BLOCK.finditer(text):
        prose = text[: found.start()].rstrip().rpartition("\n")[2]
        if language in (None, found["language"]):
            yield Block(found["language"], found["text"], prose)


def commands(text: str, language: str = "console") -> Iterator[Command]:
    """Yield the commands in a document's blocks. A command begins with ``$`` and ends before the next ``$``."""
    for block in blocks(text, language):
        yield from _commands(block.text)


def _commands(text: str) -> Iterator[Command]:
    for part in re.split(r"^\$ ", text, flags=re.MULTILINE)[1:]:
        words, *shown = part.splitlines()
        yield Command(words, tuple(shown))


def vindibot_words(text: str) -> Iterator[list[str]]:
    """Yield the arguments of each `vindibot` command in a document."""
    for language in ("console", "shell"):
        for command in commands(text, language):
            for part in command.words.split(" && "):
                words = shlex.split(part, comments=True)
                while words and "=" in words[0]:
                    words.pop(0)
                if words and Path(words[0]).name == "vindibot":
                    yield words[1:]


def follow(text: str, folder: Path, environment: dict[str, str]) -> dict[str, str]:
    """Follow a document in `folder` from its top to its end: write the files that it names, and run its `console` blocks.

    A block in another language is a file if the line before it ends with a name in backquotes ("`bully.py`:"). If the file exists
    already, the block is added at its end. The output below a command must be equal to the real output, except for blanks, times
    at the ends of lines, and lines left out at ``...``. Return the output of each command.
    """
    printed = {}
    for block in blocks(text):
        if block.language == "console":
            for command in _commands(block.text):
                if command.words.startswith("cd "):
                    folder /= command.words.removeprefix("cd ")
                    continue
                around: dict[str, Any] = {"cwd": folder, "env": environment, "stdin": subprocess.DEVNULL}
                done = subprocess.run(command.words, shell=True, capture_output=True, text=True, check=False, **around)
                assert done.returncode == 0, f"{command.words}\n{done.stdout}{done.stderr}"
                printed[command.words] = done.stdout
                _compare(command, done.stdout)
        elif named := _NAME.search(block.before):
            with (folder / named["name"]).open("a") as file:
                file.write(block.text)
    return printed


def _plain(line: str) -> str:
    return _TIME.sub("", " ".join(line.split()))


def _compare(command: Command, printed: str) -> None:
    shown = [_plain(line) for line in command.shown]
    lines = [_plain(line) for line in printed.splitlines()]
    for line in shown:
        assert line == "..." or line in lines, f"{command.words} does not print {line!r} any more, but:\n{printed}"
    if shown and "..." not in shown:
        assert [line for line in shown if line] == [line for line in lines if line], command.words
