"""The cache of compiled kernels: cold, warm, damaged, not writable, used by several at once. Each in a process of its own."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from tests.support.mounts import read_only
from tests.support.paths import TOP

pytestmark = pytest.mark.slow

#: Loads the module `dice` of each folder in its arguments. Prints whether all kernels were cached, then a line per kernel.
LOADS = """
import importlib, sys
from sim import kernels

loaded = []
for folder in sys.argv[1:]:
    sys.path.append(folder)
    loaded.append(importlib.import_module("dice"))
    sys.path.remove(folder)
    del sys.modules["dice"], sys.modules["scale"]
print(kernels.cached())
kernels.warm()
for module in loaded:
    print(module.worth(3), "hit" if module.worth.stats.cache_hits else "miss")
print(kernels.cache_folder().name)
"""
DICE = """
from numba import types
from scale import SCALE
from sim.kernels import entry, kernel

@kernel
def helper(number):
    return number * SCALE

@entry(types.int64(types.int64))
def worth(number):
    return helper(number)
"""
OPTIONS = [{"PYTHONOPTIMIZE": "2"}, {"NUMBA_CPU_NAME": "generic"}, {"NUMBA_CPU_FEATURES": ""}, {"NUMBA_BOUNDSCHECK": "1"}]


def start(cache: Path, *words: object, before: Sequence[str] = (), program: str = LOADS, **more: str) -> subprocess.Popen[str]:
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("VINDIBOT_", "NUMBA_"))}
    # Python itself would not see a change of a file that keeps its size and its time.
    environment = {**kept, "PYTHONPATH": str(TOP), "NUMBA_CACHE_DIR": str(cache), "PYTHONDONTWRITEBYTECODE": "1", **more}
    command = [*before, sys.executable, "-c", program, *map(str, words)]
    return subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def run(cache: Path, *words: object, before: Sequence[str] = (), program: str = LOADS, **more: str) -> tuple[list[str], str]:
    """Return what a program printed, and its warnings. `before` is a command that runs the program."""
    process = start(cache, *words, before=before, program=program, **more)
    out, errors = process.communicate(timeout=300)
    assert process.returncode == 0, errors
    return out.splitlines(), errors


@pytest.fixture
def bots(tmp_path: Path) -> list[Path]:
    """Two folders, each with a dice.py that has a kernel, and with a scale.py that it imports."""
    for name, scale in (("a", 1), ("b", 10)):
        (tmp_path / name).mkdir()
        (tmp_path / name / "dice.py").write_text(DICE)
        (tmp_path / name / "scale.py").write_text(f"SCALE = {scale}")
    return [tmp_path / "a", tmp_path / "b"]


@pytest.fixture
def cache(bots: list[Path], tmp_path: Path) -> Path:
    """A cache that two processes have filled, one per bot."""
    for bot, result in zip(bots, ("3 miss", "30 miss"), strict=True):
        lines, warnings = run(tmp_path / "cache", bot)
        assert (lines[:2], warnings) == (["False", result], "")
    return tmp_path / "cache"


def test_kernels_of_equal_names_are_loaded_in_any_sequence(bots: list[Path], cache: Path) -> None:
    for sequence, results in ((bots, ["3 hit", "30 hit"]), (bots[::-1], ["30 hit", "3 hit"])):
        lines, warnings = run(cache, *sequence)
        assert (lines[:3], warnings) == (["True", *results], "")


@pytest.mark.parametrize("damage", ["bit", "empty", "junk", "end", "exchanged"])
def test_damaged_kernel_is_compiled_again_with_one_warning(bots: list[Path], cache: Path, damage: str) -> None:
    paths = sorted(cache.rglob("*.kernel"))
    data = paths[0].read_bytes()
    middle = len(data) // 2
    flipped = data[:middle] + bytes([data[middle] ^ 1]) + data[middle + 1 :]
    contents = {"bit": flipped, "empty": b"", "junk": b"junk", "end": data[:-7], "exchanged": paths[1].read_bytes()}
    paths[0].write_bytes(contents[damage])
    lines, warnings = run(cache, *bots)
    assert sorted(line.split()[1] for line in lines[1:3]) == ["hit", "miss"]
    assert warnings.count("RuntimeWarning") == 1, warnings
    assert "is damaged: 1 kernel is compiled again" in warnings
    lines, warnings = run(cache, *bots)
    assert (lines[:3], warnings) == (["True", "3 hit", "30 hit"], "")


def test_cache_that_cannot_be_written_is_read_and_replaced_for_this_run(bots: list[Path], cache: Path) -> None:
    lines, warnings = run(cache, *bots, before=read_only(cache))
    assert (lines[:3], warnings) == (["True", "3 hit", "30 hit"], "")
    next(cache.rglob("*.kernel")).unlink()
    lines, warnings = run(cache, *bots, before=read_only(cache))
    assert lines[0] == "False"
    assert "cannot be written, so kernels are compiled for this run only" in warnings


@pytest.mark.parametrize("options", OPTIONS, ids=lambda options: "".join(options))
def test_other_processor_or_option_has_a_folder_of_its_own(bots: list[Path], cache: Path, options: dict[str, str]) -> None:
    usual = run(cache, *bots)[0]
    first, again = (run(cache, *bots, **options)[0] for _ in range(2))
    assert (first[0], again[0], usual[0]) == ("False", "True", "True")
    assert first[-1] == again[-1] != usual[-1]


def test_several_cold_processes_at_once_compile_once(bots: list[Path], tmp_path: Path) -> None:
    processes = [start(tmp_path / "cache", bots[0]) for _ in range(3)]
    outputs = [process.communicate(timeout=300) for process in processes]
    assert sorted(out.splitlines()[1] for out, _ in outputs) == ["3 hit", "3 hit", "3 miss"], outputs


def test_folders_of_older_sources_are_removed(bots: list[Path], cache: Path) -> None:
    folder = cache / run(cache, *bots)[0][-1]
    shutil.rmtree(folder)
    processor = folder.name[-8:]
    old = [cache / f"kernels-{age:016x}-{processor}" for age in range(9)]
    foreign = [cache / "kernels-linux", cache / f"kernels-{0:016x}-{processor[::-1]}"]
    for age, path in enumerate([*foreign, *old]):
        path.mkdir()
        os.utime(path, (1_000_000 + age, 1_000_000 + age))
    run(cache, *bots)
    assert {path for path in cache.iterdir() if path.is_dir()} == {folder, *foreign, *old[6:]}


def test_changed_module_compiles_its_kernels_and_no_other(bots: list[Path], cache: Path) -> None:
    scale = bots[0] / "scale.py"
    times = scale.stat()
    scale.write_text("SCALE = 7")
    os.utime(scale, ns=(times.st_atime_ns, times.st_mtime_ns))
    lines, warnings = run(cache, *bots)
    assert (lines[:3], warnings) == (["False", "21 miss", "30 hit"], "")


def test_kernel_that_cannot_be_compiled_is_named_and_the_cache_stays(bots: list[Path], cache: Path) -> None:
    bad = bots[0] / "dice.py"
    bad.write_text(DICE.replace("return helper(number)", 'return helper("x")'))
    process = start(cache, *bots)
    warnings = process.communicate(timeout=300)[1]
    assert process.returncode == 1
    assert f"KernelError: the kernel worth ({bad}, line 10) cannot be compiled: TypingError: " in warnings
    assert run(cache, bots[1])[0][:2] == ["True", "30 hit"]
