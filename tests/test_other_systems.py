"""Systems other than Linux: commands that need child processes say so, and the others run the traits in their own process."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.commands import environment

#: Runs `vindibot` without the functions and modules that Windows and macOS lack.
PROGRAM = """
import os, runpy, sys
del os.eventfd, os.fork, os.memfd_create, os.pidfd_open
sys.modules.update(dict.fromkeys(("pwd", "resource", "termios", "tty")))
runpy.run_module("vindibot", run_name="__main__", alter_sys=True)
"""
NEEDS_LINUX = r"error: this needs Linux, .*WSL.*docs/systems\.md\)\n"
WARNING = "traits run in the process of this command"
PLAY = ("play", "--rounds", "5", "--seed", "3", "--display", "none")


def run(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", PROGRAM, *words]
    return subprocess.run(command, cwd=folder, env=environment(), capture_output=True, text=True, timeout=300, check=False)


@pytest.mark.slow
@pytest.mark.parametrize(
    "words", [("arena", "seed", "malvert", "random", "stay"), ("ladder", "."), ("check", "stdio:python3")], ids=" ".join
)
def test_command_that_needs_children_says_so(tmp_path: Path, words: tuple[str, ...]) -> None:
    done = run(tmp_path, *words)
    assert done.returncode == 2
    assert re.fullmatch(NEEDS_LINUX, done.stderr), done.stderr
    assert not [*tmp_path.iterdir()], "nothing was written"


@pytest.mark.slow
def test_game_in_the_process_of_the_command_warns_once(tmp_path: Path) -> None:
    played = run(tmp_path, *PLAY)
    assert played.returncode == 0, played.stderr
    assert (played.stdout + played.stderr).count(WARNING) == 1
    assert "game 1: finished" in played.stdout
    assert "; traits run in the process of the command" in run(tmp_path, "doctor").stdout
