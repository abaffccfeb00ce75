"""What the README shows is what there is: its trait and its test run, its commands are understood."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import click
import pytest

from vindibot.cli import main
from vindibot.files import shipped

TOP = Path(__file__).parent.parent
README = (TOP / "README.md").read_text()


def blocks(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", README, re.MULTILINE | re.DOTALL)


def commands() -> list[list[str]]:
    """The words of each `vindibot` command."""
    found = []
    for line in "\n".join(blocks("console")).splitlines():
        for part in line.removeprefix("$ ").split("&&"):
            words = shlex.split(part, comments=True)
            while words and "=" in words[0]:
                words.pop(0)
            if words and words[0].endswith("vindibot"):
                found.append(words[1:])
    return found


def test_the_trait_is_loaded_tested_and_plays(tmp_path: Path) -> None:
    coward, test, _ = blocks("python")
    (bot,) = blocks("toml")
    (tmp_path / "coward.py").write_text(coward)
    (tmp_path / "test_coward.py").write_text(test)
    (tmp_path / "mybot.toml").write_text(bot)
    environment = {**os.environ, "PYTHONPATH": str(TOP)}
    tested = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "test_coward.py"], cwd=tmp_path, env=environment, capture_output=True, text=True
    )
    assert tested.returncode == 0, tested.stdout
    words = ["play", "--bot", "mybot.toml", "--against", "seed", "--rounds", "5", "--display", "none"]
    played = subprocess.run(
        [sys.executable, "-m", "vindibot", *words], cwd=tmp_path, env=environment, capture_output=True, text=True
    )
    assert played.returncode == 0, played.stdout + played.stderr
    (recording,) = (tmp_path / "recordings").iterdir()
    assert '"label":"coward"' in recording.read_text()


@pytest.mark.parametrize("words", commands(), ids=" ".join)
def test_every_command_is_understood(words: list[str]) -> None:
    if not words or words[-1] == "--help":
        return
    with click.Context(main) as context:
        command = main.get_command(context, words[0])
        assert command is not None
        command.make_context(words[0], words[1:])


def test_the_files_it_names_are_there() -> None:
    for target in re.findall(r"\]\(([^)#:]+)\)", README):
        assert (TOP / target).exists(), target
    assert shipped("arena.toml").exists()
