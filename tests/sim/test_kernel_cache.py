"""The cache of compiled kernels: cold, warm, damaged, not writable, used by several at once. Each in a process of its own."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest
from filelock import FileLock

from tests.support.mounts import read_only
from tests.support.paths import TOP

PROGRAM = """
import sys
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
assert "scipy.linalg" not in sys.modules, "slow to load, and not needed"
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


@pytest.fixture(scope="module")
def filled(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path, list[str]]:
    """A program, the cache that its first run has filled, and the lines that it printed."""
    folder = tmp_path_factory.mktemp("filled")
    (folder / "program.py").write_text(PROGRAM)
    lines, complaints = run(folder / "program.py", folder / "cache")
    assert complaints == ""
    return folder / "program.py", folder / "cache", lines


def start(program: Path, cache: Path | str, *words: str, before: Sequence[str] = (), **more: str) -> subprocess.Popen[str]:
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("VINDIBOT_", "NUMBA_"))}
    # Python itself would not see a change of a file that keeps its size and its time.
    environment = {**kept, "PYTHONPATH": str(TOP), "NUMBA_CACHE_DIR": str(cache), "PYTHONDONTWRITEBYTECODE": "1", **more}
    return subprocess.Popen(
        [*before, sys.executable, str(program), *words],
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def run(program: Path, cache: Path | str, *words: str, before: Sequence[str] = (), **more: str) -> tuple[list[str], str]:
    """Its lines, and what it complained about. `before` is a command that runs the program."""
    process = start(program, cache, *words, before=before, **more)
    out, err = process.communicate(timeout=100)
    assert process.returncode == 0, err
    return out.split("\n"), err


@pytest.mark.slow
def test_cold_then_warm(filled: tuple[Path, Path, list[str]]) -> None:
    program, cache, cold = filled
    assert cold[:3] == ["not cached", "closed", "miss"]
    warm, complaints = run(program, cache)
    assert warm[:3] == ["cached", "closed", "hit"]
    assert complaints == ""
    assert cold[3] == warm[3]


@pytest.mark.slow
def test_what_is_cached_is_told_by_the_names_of_kernels(program: Path, tmp_path: Path) -> None:
    """Programs import more or fewer of them: their number says nothing."""
    kernel = "if {0!r} in sys.argv:\n    @kernels.entry(types.int64(types.int64))\n    def {0}(number):\n        return number\n"
    declared = "".join(kernel.format(name) for name in ("one", "two", "three"))
    program.write_text(
        f"import sys\nfrom numba import types\nfrom sim import kernels\n{declared}\nprint(kernels.cached())\nkernels.warm()\n"
    )
    declared_in_turn = ("one two", "two", "one two", "three", "two three")
    said = [run(program, tmp_path / "cache", *names.split())[0][0] for names in declared_in_turn]
    assert said == ["False", "True", "True", "False", "True"]


def _one_bit(data: bytes) -> bytes:
    middle = len(data) // 2
    return data[:middle] + bytes([data[middle] ^ 1]) + data[middle + 1 :]


@pytest.mark.slow
@pytest.mark.parametrize(
    "damage",
    [
        _one_bit,
        lambda data: b"",
        lambda data: b"junk",
        lambda data: data[:-7],
    ],
)
def test_a_damaged_kernel_is_compiled_again_with_one_warning(
    filled: tuple[Path, Path, list[str]], tmp_path: Path, damage: Callable[[bytes], bytes]
) -> None:
    program, cache, _ = filled
    shutil.copytree(cache, tmp_path / "cache")
    (damaged,) = (tmp_path / "cache").rglob("*.kernel")
    damaged.write_bytes(damage(damaged.read_bytes()))
    lines, complaints = run(program, tmp_path / "cache")
    assert lines[:3] == ["not cached", "closed", "miss"]
    assert complaints.count("RuntimeWarning") == 1, complaints
    assert "is damaged: 1 kernel is compiled again" in complaints
    healed, complaints = run(program, tmp_path / "cache")
    assert healed[:3] == ["cached", "closed", "hit"]
    assert complaints == ""


@pytest.mark.slow
@pytest.mark.parametrize("where", ["/proc/vindibot", "file"])
def test_a_cache_that_cannot_be_written_is_replaced_for_this_run(program: Path, tmp_path: Path, where: str) -> None:
    (tmp_path / "file").write_text("in the way")
    lines, complaints = run(program, where if where.startswith("/") else tmp_path / where)
    assert lines[:3] == ["not cached", "closed", "miss"]
    assert complaints.count("RuntimeWarning") == 1
    assert "cannot be written" in complaints
    assert not Path(lines[3]).exists(), "the folder of this run is gone with it"


@pytest.mark.slow
def test_a_process_that_cannot_load_a_kernel_leaves_its_file(program: Path, tmp_path: Path) -> None:
    """Other processes can load it. Without the file, each of them would compile."""
    little = (
        "if sys.argv[1:]:\n    import resource\n"
        "    pages = int(open('/proc/self/statm').read().split()[0])\n"
        "    resource.setrlimit(resource.RLIMIT_AS, (pages * resource.getpagesize() + int(sys.argv[1]) * 2**20,) * 2)\n"
    )
    program.write_text(PROGRAM.replace("told = []", f"{little}told = []"))
    run(program, tmp_path / "cache")
    before = {path: path.read_bytes() for path in (tmp_path / "cache").rglob("*.kernel")}
    assert before
    for spare in ("5", "10", "15"):  # megabytes: too few at different points, which depends on the versions of libraries
        start(program, tmp_path / "cache", spare).communicate(timeout=100)
    assert {path: path.read_bytes() for path in (tmp_path / "cache").rglob("*.kernel")} == before
    assert run(program, tmp_path / "cache")[0][0] == "cached"


@pytest.mark.slow
def test_a_kernel_that_is_called_before_it_is_loaded_has_the_same_file(program: Path, tmp_path: Path) -> None:
    """numba has another name for its arguments then. If they are of other types, the kernel is compiled, but not stored."""
    early = "if sys.argv[1:]:\n    double(eval(sys.argv[1]))\n    print('hit' if double.stats.cache_hits else 'miss')\n"
    program.write_text(PROGRAM.replace('print("cached"', f'{early}print("cached"'))
    run(program, tmp_path / "cache")
    before = {path: path.read_bytes() for path in (tmp_path / "cache").rglob("*.kernel")}
    assert start(program, tmp_path / "cache", "21").communicate(timeout=100)[0].split()[0] == "hit"
    assert start(program, tmp_path / "cache", "21.0").communicate(timeout=100)[0].split()[0] == "miss"
    assert {path: path.read_bytes() for path in (tmp_path / "cache").rglob("*.kernel")} == before
    assert run(program, tmp_path / "cache")[0][0] == "cached"


@pytest.mark.slow
@pytest.mark.parametrize("level", ["1", "2"])
def test_python_that_optimises_has_a_folder_of_its_own(filled: tuple[Path, Path, list[str]], tmp_path: Path, level: str) -> None:
    program, cache, lines = filled
    shutil.copytree(cache, tmp_path / "cache")
    other, _ = run(program, tmp_path / "cache", PYTHONOPTIMIZE=level)
    assert other[0] == "not cached"
    assert Path(other[3]).name != Path(lines[3]).name
    assert run(program, tmp_path / "cache")[0][0] == "cached"


@pytest.mark.slow
def test_exchanged_files_are_compiled_again(program: Path, tmp_path: Path) -> None:
    second = "@kernels.entry(types.int64(types.int64))\ndef triple(number):\n    return 3 * number\n"
    program.write_text(
        PROGRAM.replace('print("cached"', f'{second}\nprint("cached"').replace("assert told", "assert triple(2) == 6; told")
    )
    run(program, tmp_path / "cache")
    one, other = (tmp_path / "cache").rglob("*.kernel")
    contents = one.read_bytes(), other.read_bytes()
    one.write_bytes(contents[1])
    other.write_bytes(contents[0])
    lines, complaints = run(program, tmp_path / "cache")
    assert lines[:3] == ["not cached", "closed", "miss"]
    assert "2 kernels are compiled again" in complaints
    assert complaints.count("RuntimeWarning") == 1


@pytest.mark.slow
def test_a_complete_cache_that_is_read_only_is_used(filled: tuple[Path, Path, list[str]], tmp_path: Path) -> None:
    program, cache, _ = filled
    shutil.copytree(cache, tmp_path / "cache")
    lines, complaints = run(program, tmp_path / "cache", before=read_only(tmp_path / "cache"))
    assert lines[:3] == ["cached", "closed", "hit"]
    assert complaints == ""
    next((tmp_path / "cache").rglob("*.kernel")).unlink()
    lines, complaints = run(program, tmp_path / "cache", before=read_only(tmp_path / "cache"))
    assert lines[:3] == ["not cached", "closed", "miss"]
    assert "cannot be written, so kernels are compiled for this run only" in complaints


@pytest.mark.slow
@pytest.mark.parametrize("name", ["NUMBA_CPU_NAME", "NUMBA_CPU_FEATURES", "NUMBA_BOUNDSCHECK"])
def test_another_processor_has_a_folder_of_its_own(filled: tuple[Path, Path, list[str]], tmp_path: Path, name: str) -> None:
    program, cache, lines = filled
    shutil.copytree(cache, tmp_path / "cache")
    other = {"NUMBA_CPU_NAME": "generic", "NUMBA_CPU_FEATURES": "", "NUMBA_BOUNDSCHECK": "1"}[name]
    first, complaints = run(program, tmp_path / "cache", **{name: other})
    again, _ = run(program, tmp_path / "cache", **{name: other})
    assert (first[0], again[0], run(program, tmp_path / "cache")[0][0]) == ("not cached", "cached", "cached")
    assert first[3] == again[3]
    assert Path(first[3]).name != Path(lines[3]).name
    assert complaints == ""


@pytest.mark.slow
def test_without_a_home_folder_kernels_are_compiled_for_this_run(program: Path) -> None:
    unknown = "import os, pwd\nos.environ.pop('HOME', None)\npwd.getpwuid = lambda uid: {}[uid]\n"
    program.write_text(unknown + program.read_text())
    lines, complaints = run(program, "", XDG_CACHE_HOME="")
    assert lines[:3] == ["not cached", "closed", "miss"]
    assert "the home folder is unknown, so kernels are compiled for this run only" in complaints


@pytest.mark.slow
def test_several_cold_processes_at_once_compile_once(program: Path, tmp_path: Path) -> None:
    processes = [start(program, tmp_path / "cache") for _ in range(3)]
    outs = [process.communicate(timeout=100) for process in processes]
    assert [process.returncode for process in processes] == [0, 0, 0], outs
    hits = sorted(out.split("\n")[2] for out, _ in outs)
    assert hits.count("miss") == 1, "one compiles, the others wait for it"


@pytest.mark.slow
def test_the_modules_that_another_process_compiles_are_left_to_it(program: Path, bots: list[str], tmp_path: Path) -> None:
    """The process compiles the other module at once, and waits for the first one only at the end."""
    run(program, tmp_path / "cache", bots[0])
    (path,) = (tmp_path / "cache").rglob("*.kernel")
    path.unlink()
    with FileLock(path.with_name("dice.lock")):
        process = start(program, tmp_path / "cache", *bots)
        while len(list((tmp_path / "cache").rglob("*.kernel"))) < 1 and process.poll() is None:
            time.sleep(0.05)
        assert process.poll() is None, process.communicate()
        assert not path.exists()
    out, err = process.communicate(timeout=100)
    assert process.returncode == 0, err
    assert out.split("\n")[:3] == ["not cached", f"{expected(1)} miss", f"{expected(10)} miss"]


@pytest.mark.slow
def test_folders_of_older_sources_are_removed(program: Path, filled: tuple[Path, Path, list[str]], tmp_path: Path) -> None:
    cpu = filled[2][3][-8:]
    for age in range(9):
        folder = tmp_path / "cache" / f"kernels-{age:016x}-{cpu}"
        folder.mkdir(parents=True)
        os.utime(folder, (1_000_000 + age, 1_000_000 + age))
    others = [tmp_path / "cache" / name for name in ("kernels-linux", f"kernels-{0:016x}-{cpu[::-1]}")]
    for other in others:
        other.mkdir()
    lines, _ = run(program, tmp_path / "cache")
    for other in others:
        other.rmdir()  # not ours, or for another processor: it is still there
    kept = sorted(path.name for path in (tmp_path / "cache").glob("kernels-*") if path.is_dir())
    assert len(kept) == 4
    assert Path(lines[3]).name in kept
    assert {f"kernels-{age:016x}-{cpu}" for age in (6, 7, 8)} < set(kept)


@pytest.mark.slow
def test_the_kernels_of_a_module_come_before_the_others(program: Path, tmp_path: Path) -> None:
    program.write_text(PROGRAM.replace("told = []", 'kernels.warm_module("__main__")\nassert double(21) == 42\ntold = []'))
    assert run(program, tmp_path / "cache")[0][:3] == ["not cached", "closed", "miss"]
    (damaged,) = (tmp_path / "cache").rglob("*.kernel")
    damaged.write_bytes(_one_bit(damaged.read_bytes()))
    lines, complaints = run(program, tmp_path / "cache")
    assert lines[:3] == ["not cached", "closed", "miss"]
    assert complaints.count("is damaged: 1 kernel is compiled again") == 1, complaints


FILES = """
import vindibot.env.stepping, vindibot.learning.gradient
from sim import kernels
print(*(dispatcher._cache.file.path for dispatcher, _ in kernels.entries()), sep="\\n")
"""


@pytest.mark.slow
def test_each_copy_of_the_project_has_the_same_files(tmp_path: Path) -> None:
    found = []
    for copy in (tmp_path / "one", tmp_path / "two"):
        for package in ("sim", "behaviours", "vindibot"):
            shutil.copytree(TOP / package, copy / package, ignore=shutil.ignore_patterns("__pycache__"))
        (copy / "files.py").write_text(FILES)
        lines, complaints = run(copy / "files.py", tmp_path / "cache", PYTHONPATH=str(copy))
        assert complaints == ""
        found.append(lines)
    assert len(found[0]) > 20
    assert found[0] == found[1]


# Kernels of a user's own

BESIDE = """
from numba import types
from scale import SCALE
from sim.kernels import entry, kernel

@kernel
def helper(number):
    total = number
    for step in range(number & 7):
        total = (total * 31 + step) % 1000003
    return total * SCALE

@entry(types.int64(types.int64))
def worth(number):
    return helper(number)
"""
LOADS = """
import importlib, sys
from sim import kernels

loaded = []
for folder in sys.argv[1:]:
    sys.path.append(folder)
    loaded.append(importlib.import_module("dice"))
    sys.path.remove(folder)
    del sys.modules["dice"], sys.modules["scale"]
print("cached" if kernels.cached() else "not cached")
kernels.warm()
for module in loaded:
    print(module.worth(3), "hit" if module.worth.stats.cache_hits else "miss")
"""


@pytest.fixture
def bots(program: Path, tmp_path: Path) -> list[str]:
    """Two folders, each with a dice.py that has a kernel, and with a scale.py that it imports; the program loads them."""
    program.write_text(LOADS)
    for name, scale in (("a", 1), ("b", 10)):
        (tmp_path / name).mkdir()
        (tmp_path / name / "dice.py").write_text(BESIDE)
        (tmp_path / name / "scale.py").write_text(f"SCALE = {scale}")
    return [str(tmp_path / "a"), str(tmp_path / "b")]


def expected(scale: int) -> int:
    total = 3
    for step in range(3):
        total = (total * 31 + step) % 1000003
    return total * scale


@pytest.mark.slow
def test_two_modules_of_one_name_keep_their_own_kernels(program: Path, bots: list[str], tmp_path: Path) -> None:
    """Each is compiled in a process of its own, then both are loaded into one, where neither can be imported any more."""
    for bot in bots:
        assert run(program, tmp_path / "cache", bot)[0][0] == "not cached"
    for sequence in ((0, 1), (1, 0)):
        lines, complaints = run(program, tmp_path / "cache", *(bots[number] for number in sequence))
        assert lines[:3] == ["cached", *(f"{expected((1, 10)[number])} hit" for number in sequence)]
        assert complaints == ""


@pytest.mark.slow
def test_a_changed_module_beside_the_kernel_compiles_that_kernel_and_no_other(
    program: Path, bots: list[str], tmp_path: Path
) -> None:
    run(program, tmp_path / "cache", *bots)
    scale = Path(bots[0], "scale.py")
    times = scale.stat()
    scale.write_text("SCALE = 7")
    shutil.rmtree(scale.with_name("__pycache__"), ignore_errors=True)  # Python's own cache goes by time and size
    os.utime(scale, ns=(times.st_atime_ns, times.st_mtime_ns))
    lines, complaints = run(program, tmp_path / "cache", *bots)
    assert lines[:3] == ["not cached", f"{expected(7)} miss", f"{expected(10)} hit"]
    assert complaints == ""


@pytest.mark.slow
def test_a_damaged_kernel_of_a_users_own_disturbs_no_other(program: Path, bots: list[str], tmp_path: Path) -> None:
    run(program, tmp_path / "cache", bots[0])
    for damaged in (tmp_path / "cache").glob("kernels-*/own-*/*.kernel"):
        damaged.write_bytes(b"junk")
    run(program, tmp_path / "cache", bots[1])
    lines, complaints = run(program, tmp_path / "cache", *bots)
    assert lines[1:3] == [f"{expected(1)} miss", f"{expected(10)} hit"]
    assert complaints.count("RuntimeWarning") == 1


@pytest.mark.slow
def test_a_kernel_that_cannot_be_compiled_is_named_and_the_cache_stays(program: Path, bots: list[str], tmp_path: Path) -> None:
    run(program, tmp_path / "cache", *bots)
    bad = Path(bots[0], "dice.py")
    bad.write_text(bad.read_text().replace("return helper(number)", 'return helper("x")'))
    process = start(program, tmp_path / "cache", *bots)
    _, complaints = process.communicate(timeout=100)
    assert process.returncode == 1
    assert f"KernelError: the kernel worth ({bad}, line 13) cannot be compiled: TypingError: " in complaints
    assert "could not be read" not in complaints
    assert run(program, tmp_path / "cache", bots[1])[0][:2] == ["cached", f"{expected(10)} hit"]
