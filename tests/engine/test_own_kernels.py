"""Kernels of bots' own folders, in whole commands."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from sim.kernels import cache_folder
from tests.support.commands import run

DICE = """
from numba import types
from pathlib import Path
from behaviours import Behaviour, View, Votes
from sim.kernels import entry, kernel

@kernel
def worth(number):
    return number + {added}

@entry(types.int64(types.int64))
def throw(number):
    return worth(number)

class Dice(Behaviour):
    file: str

    def vote(self, view: View) -> Votes:
        Path(self.file).write_text(str(throw(3)))
        return None
"""


@pytest.mark.slow
def test_two_bots_with_kernels_of_one_name_play_each_other(tmp_path: Path) -> None:
    """Each computes with its own; the second start compiles nothing, neither openly nor in silence."""
    module = f"dice_{os.getpid()}"  # nobody else writes kernels of this name
    files = [tmp_path / "red" / "bot.toml", tmp_path / "blue" / "bot.toml"]
    for number, path in enumerate(files):
        path.parent.mkdir()
        path.write_text(f'extends = "stay"\n[traits.dice]\nuse = "{module}:Dice"\nfile = "{path.with_suffix(".txt")}"\n')
        path.with_name(f"{module}.py").write_text(DICE.format(added=number))
    written: list[dict[Path, int]] = []
    for first in (True, False):
        bots = [f"{path.parent.name}={path}" for path in files]
        done = run(tmp_path, "arena", "--match", *bots, "--blocks", "1", "--rounds", "2")
        assert done.returncode == 0, done.stdout + done.stderr
        assert ("compiling kernels" in done.stdout + done.stderr) == first
        assert [path.with_suffix(".txt").read_text() for path in files] == ["3", "4"]
        written.append({path: path.stat().st_mtime_ns for path in cache_folder().rglob(f"{module}.*.kernel")})
        for path in files:
            path.with_suffix(".txt").unlink()
    assert len(written[0]) == 2, "a kernel of each"
    assert written[1] == written[0]


@pytest.mark.slow
def test_a_kernel_that_cannot_be_compiled_is_one_line(tmp_path: Path) -> None:
    (tmp_path / "dice.py").write_text(DICE.format(added="nothing"))
    (tmp_path / "bot.toml").write_text(f'[traits.dice]\nuse = "dice:Dice"\nfile = "{tmp_path / "said"}"\n')
    done = run(tmp_path, "play", "--bot", "bot.toml")
    assert done.returncode == 2
    assert f"error: the kernel throw ({tmp_path / 'dice.py'}, line 11) cannot be compiled: TypingError" in done.stderr
    assert "Traceback" not in done.stderr
