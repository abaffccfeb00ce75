"""The texts of the commands: help without docstrings, and commands that users copy."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from tests.support.paths import TOP
from vindibot.cli.main import main
from vindibot.review.review_run import where

#: Prints the help of all commands, and the descriptions of traits.
PRINTS = """
import click
from click.testing import CliRunner
from vindibot.cli.main import main

def walk(command, words):
    print(words, CliRunner().invoke(main, [*words, "--help"]).output)
    if isinstance(command, click.Group):
        context = click.Context(command)
        for name in command.list_commands(context):
            walk(command.get_command(context, name), [*words, name])

walk(main, [])
for words in (["behaviours"], ["behaviours", "search"], ["behaviours", "--bot", "mine.toml", "mine:Mine"]):
    print(CliRunner().invoke(main, words).output)
"""


@pytest.mark.slow
def test_help_needs_no_docstrings(tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text(
        'from behaviours import Behaviour\n\nclass Mine(Behaviour):\n    """Votes for nothing.\n\n    More."""\n\n'
        "    def vote(self, view):\n        return None\n"
    )
    (tmp_path / "mine.toml").write_text('[traits.mine]\nuse = "mine:Mine"\n')

    def said(level: str) -> str:
        environment = {**os.environ, "PYTHONPATH": str(TOP), "PYTHONOPTIMIZE": level}
        command = [sys.executable, "-c", PRINTS]
        return subprocess.run(command, env=environment, cwd=tmp_path, capture_output=True, text=True, check=True).stdout

    whole = said("0")
    assert "Play games with a bot.\n" in whole
    assert "Make a league called NAME from a ROSTER." in whole
    assert "Votes for nothing." in whole
    assert said("2") == whole


def test_printed_commands_are_quoted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "class list.csv").write_text("ann\nbob\n")
    folder = tmp_path / "it's; here"
    folder.mkdir()
    done = CliRunner().invoke(main, ["league", "new", "cup", "class list.csv", "--folder", folder.name])
    assert done.exit_code == 0, done.output
    command = next(line for line in done.output.splitlines() if line.startswith("now: ")).partition("now: ")[2]
    assert shlex.split(command)[-1] == f"{folder.name}/cup.league.json"
    review = Path("my games") / "a.review.jsonl"
    assert shlex.split(where(review).partition("browser: ")[2]) == ["vindibot", "replay", str(review), "--open"]


def test_no_command_is_printed_without_quotes() -> None:
    """A command with a value in it must come from shlex.join, not from a formatted text."""
    commands = "play|arena|serve|league|replay|review|explain|watch|turn|bench|tree|tune|stdio|init|challenge|config"
    unquoted = re.compile(rf"f[\"'].*\b(vindibot ({commands})|pytest|chmod)\b[^\"'.:;,(]*(?<!\{{)\{{(?!\{{)")
    for path in (TOP / "vindibot").rglob("*.py"):
        for number, line in enumerate(path.read_text().splitlines(), 1):
            assert not unquoted.search(line), f"{path.name}, line {number}: {line.strip()}"


@pytest.mark.parametrize("words", ["arena", "challenge", "play", "serve", "tune play"])
def test_a_command_has_at_most_25_options(words: str) -> None:
    """What only experts change is a key of the configuration."""
    shown = CliRunner().invoke(main, [*words.split(), "--help"]).output
    assert 0 < len(re.findall(r"^  (?:-\w, )?--", shown, re.MULTILINE)) <= 25


@pytest.mark.parametrize(("command", "key"), [("arena", "max_forfeits"), ("play", "time.margin_ms"), ("serve", "max_games")])
def test_config_shows_what_has_no_option(command: str, key: str) -> None:
    assert f"--{key.rpartition('.')[2].replace('_', '-')}" not in CliRunner().invoke(main, [command, "--help"]).output
    assert f"{key} = " in CliRunner().invoke(main, ["config", "--for", command]).output


def test_the_help_shows_the_default_of_the_command() -> None:
    """The default of a table of settings may differ from that of its fields."""
    shown = CliRunner().invoke(main, ["arena", "--help"], env={"COLUMNS": "200"}).output
    assert re.search(r"--log-level.*[^]]*\[default:\s+warning\]", shown)
