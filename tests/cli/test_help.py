"""The texts of the commands: commands that users copy."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest
from click.testing import CliRunner

from tests.support.commands import printed
from vindibot.cli.main import main
from vindibot.review.review_run import where


def test_printed_commands_are_quoted(here: Path) -> None:
    (here / "class list.csv").write_text("ann\nbob\n")
    folder = here / "it's; here"
    folder.mkdir()
    done = printed("league", "new", "cup", "class list.csv", "--folder", folder.name)
    command = next(line for line in done.splitlines() if line.startswith("now: ")).partition("now: ")[2]
    assert shlex.split(command)[-1] == f"{folder.name}/cup.league.json"
    review = Path("my games") / "a.review.jsonl"
    assert shlex.split(where(review).partition("browser: ")[2]) == ["vindibot", "replay", str(review), "--open"]


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
    assert re.search(r"--blocks N (?s:.*)--log-level.*[^]]*\[default:\s+warning\]", shown)
