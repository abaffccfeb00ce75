"""The container of the server: the files that it copies are there, and its commands are ours. It needs no container engine."""

from __future__ import annotations

import json
import re
from pathlib import Path

import click

from tests.support.paths import TOP
from vindibot.cli.main import main

FILE = TOP / "docs" / "deploy" / "Containerfile"
TEXT = re.sub(r"\\\n\s*", "", FILE.read_text())
FIRST, LAST = re.split(r"^FROM .*$", TEXT, flags=re.MULTILINE)[1:]
PROGRAM = "/opt/vindibot/bin/vindibot"


def words_of(name: str, stage: str) -> str:
    """Return what follows the only instruction of this name in a stage."""
    (words,) = re.findall(rf"^{name} (.+)$", stage, re.MULTILINE)
    return words


def test_copied_files_exist() -> None:
    names = [name for words in re.findall(r"^COPY (.+) \S+$", FIRST, re.MULTILINE) for name in words.split()]
    assert {"pyproject.toml", "sim", "behaviours", "vindibot", "config"} <= set(names)
    assert all((TOP / name).exists() for name in names), names


def test_its_commands_are_ours() -> None:
    assert f"RUN {PROGRAM} warm\n" in FIRST
    program, *words = json.loads(words_of("ENTRYPOINT", LAST)) + json.loads(words_of("CMD", LAST))
    assert program == PROGRAM
    command = main.get_command(click.Context(main), words[0])
    assert command is not None
    parameters = command.make_context(words[0], words[1:], parent=click.Context(main)).params
    assert parameters["host"] == "0.0.0.0", "loopback cannot be reached from outside of the container"
    assert parameters["port"] == words_of("EXPOSE", LAST)
    volume, user = words_of("VOLUME", LAST), words_of("USER", LAST)
    assert Path(parameters["db"]).parent == Path(volume)
    assert f"install -d -o {user} -g {user} {volume}" in words_of("RUN", LAST), "the user of the server can write there"
    for text in (FILE.read_text(), (TOP / "docs" / "deploy.md").read_text()):
        assert f"-f {FILE.relative_to(TOP)} " in text
