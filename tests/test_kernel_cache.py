"""The cache of compiled kernels: cold, warm, damaged, not writable, used by several at once. Each in a process of its own."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

TOP = Path(__file__).parent.parent
PROGRAM = """
import warnings
warnings.simplefilter("always")
from numba import types
from sim import kernels

@kernels.entry(types.int64(types.int64))
def double(number):
    return 2 * number

print("cached" if kernels.cached() else "not cached")
told = []
kernels.warm(lambda done, total, name: told.append((done, total, name)))
assert told[-2:] == [(0, 1, "double"), (1, 1, "")], told
assert double(21) == 42
try:
    double("x")
except TypeError:
    print("closed")
print("hit" if double.stats.cache_hits else "miss")
print(kernels.cache_folder())
"""


@pytest.fixture
def program(tmp_path: Path) -> Path:
    path = tmp_path / "program.py"
    path.write_text(PROGRAM)
    return path


def start(program: Path, cache: Path | str) -> subprocess.Popen[str]:
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("VINDIBOT_", "NUMBA_"))}
    environment = {**kept, "PYTHONPATH": str(TOP), "NUMBA_CACHE_DIR": str(cache)}
    return subprocess.Popen(
        [sys.executable, str(program)], env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )


def run(program: Path, cache: Path | str) -> tuple[list[str], str]:
    """Its lines, and what it complained about."""
    process = start(program, cache)
    out, err = process.communicate(timeout=100)
    assert process.returncode == 0, err
    return out.split("\n"), err


def test_cold_then_warm(program: Path, tmp_path: Path) -> None:
    cold, complaints = run(program, tmp_path / "cache")
    assert cold[:3] == ["not cached", "closed", "miss"]
    warm, more = run(program, tmp_path / "cache")
    assert warm[:3] == ["cached", "closed", "hit"]
    assert complaints + more == ""
    assert cold[3] == warm[3]


def test_what_is_cached_is_told_by_the_names_of_kernels(program: Path, tmp_path: Path) -> None:
    """Programs import more or fewer of them: their number says nothing."""
    asks = "from numba import types\nfrom sim import kernels\n{}\nprint(kernels.cached())\nkernels.warm()\n"
    kernel = "@kernels.entry(types.int64(types.int64))\ndef {}(number):\n    return number\n"
    one, two, three = (kernel.format(name) for name in ("one", "two", "three"))
    said = []
    for kernels in (one + two, two, one + two, three, two + three):
        program.write_text(asks.format(kernels))
        said.append(run(program, tmp_path / "cache")[0][0])
    assert said == ["False", "True", "True", "False", "True"]


@pytest.mark.parametrize(("suffix", "damage"), [("nbi", b""), ("nbi", b"junk"), ("nbc", None)])
def test_a_damaged_cache_is_made_anew_with_one_warning(program: Path, tmp_path: Path, suffix: str, damage: bytes | None) -> None:
    run(program, tmp_path / "cache")
    (damaged,) = (tmp_path / "cache").rglob(f"*.{suffix}")
    damaged.write_bytes(damaged.read_bytes()[:-7] if damage is None else damage)
    lines, complaints = run(program, tmp_path / "cache")
    assert lines[1] == "closed"
    assert complaints.count("RuntimeWarning") <= 1, complaints
    healed, complaints = run(program, tmp_path / "cache")
    assert healed[:3] == ["cached", "closed", "hit"]
    assert complaints == ""


@pytest.mark.parametrize("where", ["/proc/vindibot", "file"])
def test_a_cache_that_cannot_be_written_is_replaced_for_this_run(program: Path, tmp_path: Path, where: str) -> None:
    (tmp_path / "file").write_text("in the way")
    lines, complaints = run(program, where if where.startswith("/") else tmp_path / where)
    assert lines[:3] == ["not cached", "closed", "miss"]
    assert complaints.count("RuntimeWarning") == 1
    assert "cannot be written" in complaints
    assert not Path(lines[3]).exists(), "the folder of this run is gone with it"


def test_several_cold_processes_at_once_compile_once(program: Path, tmp_path: Path) -> None:
    processes = [start(program, tmp_path / "cache") for _ in range(3)]
    outs = [process.communicate(timeout=100) for process in processes]
    assert [process.returncode for process in processes] == [0, 0, 0], outs
    hits = sorted(out.split("\n")[2] for out, _ in outs)
    assert hits.count("miss") == 1, "one compiles, the others wait for it"


def test_folders_of_older_sources_are_removed(program: Path, tmp_path: Path) -> None:
    for age in range(9):
        folder = tmp_path / "cache" / f"kernels-{age:016x}"
        folder.mkdir(parents=True)
        os.utime(folder, (1_000_000 + age, 1_000_000 + age))
    (tmp_path / "cache" / "kernels-linux").mkdir()
    lines, _ = run(program, tmp_path / "cache")
    (tmp_path / "cache" / "kernels-linux").rmdir()  # somebody else's: it is still there
    kept = sorted(path.name for path in (tmp_path / "cache").glob("kernels-*") if path.is_dir())
    assert len(kept) == 4
    assert Path(lines[3]).name in kept
    assert {f"kernels-{age:016x}" for age in (6, 7, 8)} < set(kept)
