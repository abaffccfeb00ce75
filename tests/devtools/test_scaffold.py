"""`vindibot init`: what it writes, and that it overwrites nothing. (Its README is followed by the tutorial, in test_docs.py.)"""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
import tomllib
from pathlib import Path

import click
import pytest
from click.testing import CliRunner, Result

from vindibot.cli.main import main
from vindibot.config.bots import load_bot
from vindibot.devtools.scaffold import FILES, LEARNED_FILES, bot_name


def run(*words: str | Path) -> Result:
    return CliRunner().invoke(main, ["init", *map(str, words)])


def understood_commands() -> list[list[str]]:
    """Return the commands in the README of the present folder, as words. Each must have a name and options that are known."""
    found = [shlex.split(words) for words in re.findall(r"`vindibot (\S+ [^`]+)`", Path("README.md").read_text())]
    for words in found:
        command: click.Command = main
        rest = list(words)
        while isinstance(command, click.Group):
            name = rest.pop(0)
            following = command.get_command(click.Context(command), name)
            assert following is not None, name
            command = following
        command.make_context(words[0], rest)
    return found


def test_the_other_commands_of_its_readme_are_understood(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "path", sys.path[:])
    (here / ".git").mkdir()
    done = run(".")
    assert (done.exit_code, "cd " in done.output) == (0, False), done.output
    found = understood_commands()
    assert len(found) >= 7
    turn = next(words for words in found if words[0] == "turn")
    told = CliRunner().invoke(main, turn)
    assert told.exit_code == 0, told.output
    assert "coward" in told.output


def test_it_writes_and_lists_the_files(here: Path) -> None:
    done = run("deep/own bot")
    assert done.exit_code == 0
    assert "cd 'deep/own bot'" in done.output
    written = {str(path.relative_to("deep/own bot")) for path in Path("deep/own bot").rglob("*") if path.is_file()}
    assert written == set(FILES)
    assert all(file in done.output for file in FILES)
    bot = load_bot("deep/own bot/bot.toml")
    assert bot.name == "own-bot"
    assert "coward" in {trait.label for trait in bot.traits}
    assert {trait.label for trait in load_bot("seed").traits} < {trait.label for trait in bot.traits}
    assert not any("NAME" in Path("deep/own bot", file).read_text() for file in FILES)


def test_a_bot_that_begins_with_the_net_of_the_library(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It plays the same net as the bot learned, from a file of its own, and its README's commands are understood."""
    done = run("--learned", "own net")
    assert done.exit_code == 0, done.output
    assert "vindibot learn selfplay trained --from net.npz" in done.output
    assert {path.name for path in Path("own net").iterdir()} == set(LEARNED_FILES)
    bot, learned = load_bot("own net/bot.toml"), load_bot("learned")
    assert bot.name == "own-net"
    assert bot.traits[0].parameters["net"] == str(here / "own net" / "net.npz")
    assert Path("own net/net.npz").read_bytes() == Path(str(learned.traits[0].parameters["net"])).read_bytes()
    again = run("--learned", "own net")
    assert again.exit_code == 2
    assert "already has README.md, bot.toml, net.npz, and vindibot overwrites nothing" in again.output
    monkeypatch.chdir("own net")
    assert len(understood_commands()) >= 6


def test_nothing_is_overwritten(tmp_path: Path) -> None:
    (tmp_path / "coward.py").write_text("mine")
    (tmp_path / "bot.toml").symlink_to("nowhere")
    done = run(tmp_path)
    assert done.exit_code == 2
    assert "already has bot.toml, coward.py, and vindibot overwrites nothing" in done.output
    assert (tmp_path / "coward.py").read_text() == "mine"
    assert not (tmp_path / "README.md").exists(), "no part is written"


def test_a_folder_that_cannot_be_written(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    done = run(tmp_path / "file" / "bot")
    assert done.exit_code == 2
    assert "file is a file: choose a folder" in done.output
    if os.geteuid() == 0 or sys.platform != "linux":
        done = run("/proc/vindibot-project")
        assert (done.exit_code, "cannot be written" in done.output) == (1, True), done.output


@pytest.mark.parametrize(
    ("folder", "name"),
    [("seed2", "seed2"), ("a b", "a-b"), ('"', "mybot"), ("größe", "größe"), ("x" * 99, "x" * 40), (".v1", "v1")],
)
def test_the_name_of_the_bot(tmp_path: Path, folder: str, name: str) -> None:
    assert bot_name(tmp_path / folder) == name
    assert run(tmp_path / folder).exit_code == 0
    text = (tmp_path / folder / "bot.toml").read_text()
    assert tomllib.loads(text)["name"] == name


@pytest.mark.slow
def test_its_tests_ignore_the_settings_of_a_project_around_it(tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").write_text('[tool.pytest.ini_options]\naddopts = "--no-such-option"\n')
    assert run(tmp_path / "mine").exit_code == 0
    command = [sys.executable, "-m", "pytest", "--collect-only", "-q"]
    done = subprocess.run(command, cwd=tmp_path / "mine", capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
