"""Commands whose output cannot be written, whose terminal has no size or few characters, and whose current folder is gone."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from tests.support.commands import command, environment


def shell(folder: Path, words: str, **more: str) -> subprocess.CompletedProcess[str]:
    """Run a command in a shell. In `words`, V stands for vindibot."""
    program = " ".join(command())
    return subprocess.run(
        ["sh", "-c", words.replace("V ", f"{program} ")],
        cwd=folder,
        env=environment(**more),
        capture_output=True,
        encoding=more.get("PYTHONIOENCODING", "utf-8"),
        timeout=100,
        check=False,
    )


@pytest.mark.slow_faults
@pytest.mark.parametrize("words", ["V behaviours > /dev/full", "V --help > /dev/full"])
def test_output_that_is_lost_is_told_once(words: str, tmp_path: Path) -> None:
    done = shell(tmp_path, words)
    assert done.returncode == 1
    assert done.stderr == "error: standard output cannot be written, and is lost: No space left on device\n"


@pytest.mark.parametrize(("words", "code"), [("V nope 2>/dev/full", 2), ("V nope 2>&-", 2), ("V behaviours <&- >&- 2>&-", 0)])
def test_the_exit_code_is_right_without_standard_streams(words: str, code: int, tmp_path: Path) -> None:
    assert shell(tmp_path, words).returncode == code


@pytest.mark.slow_faults
def test_a_game_goes_on_if_its_output_is_lost(tmp_path: Path) -> None:
    done = shell(tmp_path, "V play --rounds 2 --display none <&- > /dev/full")
    assert done.returncode == 1
    assert done.stderr.count("\n") == 1
    (recording,) = (tmp_path / "recordings").iterdir()
    assert '"finished"' in recording.read_text()


@pytest.mark.slow_faults
@pytest.mark.parametrize("encoding", ["ascii", "latin-1"])
def test_characters_that_the_encoding_lacks_are_escaped(encoding: str, tmp_path: Path) -> None:
    words = "V arena seed random stay --blocks 1 --rounds 2 --map m1 --seed 1"
    done = shell(tmp_path, words, PYTHONIOENCODING=encoding)
    assert done.returncode == 0, done.stderr
    assert "ahead of" in done.stdout
    assert "results: results/" in done.stdout


@pytest.mark.parametrize("columns", ["0", "²"])
def test_a_terminal_size_that_is_none_is_ignored(columns: str, tmp_path: Path) -> None:
    done = shell(tmp_path, "V config", COLUMNS=columns)
    assert done.returncode == 0, done.stderr
    assert "margin_ms" in done.stdout


def test_a_current_folder_that_was_removed(tmp_path: Path) -> None:
    for words in ("behaviours", "play --rounds 2", "init new", "arena seed random"):
        done = shell(tmp_path, f"mkdir gone && cd gone && rmdir ../gone && V {words}")
        assert done.returncode == 2
        assert done.stderr == "error: the current folder does not exist any more: change to another folder\n"
